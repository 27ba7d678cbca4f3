package control

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n3 is the recipe that articles have handed on since before SET knew NX and PX:
//
//  1. SETNX lock, now + timeout. 1: it is ours.
//  2. Otherwise GET lock. If that time is over by our clock, the lock has timed out, and anybody may take it.
//  3. GETSET lock, now + timeout.
//  4. If what was there is what GET has seen, it is ours. If not, somebody else was faster: give up, or try again.
//  5. When the work is done, and took less than the timeout, DEL lock. If it took longer, leave the lock alone: it may be another's.
//
// All of it rests on the clocks of all clients being the same. They are not: here each machine is a second ahead of the one before
// it, which is less than a machine without NTP is off after a month. It sees the locks of those behind it as timed out.
//
// There is more: GETSET of those who come too late moves the winner's end; nothing says whose the lock is, so that neither a lost
// answer can be asked for again nor a release be sure of what it deletes; and there is no renewal.
func n3() Control {
	return Control{
		Name: "N3", Title: "SETNX and GETSET, by the client's clock",
		Wrong:  "The lock is the time at which it ends, written and judged by clients: who is ahead takes it from its holder.",
		Right:  "The server lets the lock end, and no client's clock is asked for the time of day.",
		Caught: []string{"windows", "tokens", "registers", "told", "leaks", "linear"},
		TTL:    400 * time.Millisecond, Duration: 1400 * time.Millisecond,
		Mix: worker.Mix{Use: 100, Hot: 100, Think: 40 * time.Millisecond},
		change: func(s *store, o Options) {
			if !o.Broken {
				return
			}
			recipe := &recipe{store: s, held: make(map[driver.Attempt]time.Time), ahead: time.Duration(o.Process%4) * time.Second}
			s.ways = steps{take: recipe.take, free: recipe.free, renew: recipe.renew}
		},
	}
}

// A recipe is what a client of it knows.
type recipe struct {
	*store
	ahead time.Duration // by which this machine's clock is ahead of the others

	mu   sync.Mutex
	held map[driver.Attempt]time.Time // when its work began, and its timeout
}

func (c *recipe) now() time.Time { return time.Now().Add(c.ahead) }

func (c *recipe) take(ctx context.Context, r *driver.Request) (uint64, error) {
	key := lockPrefix + r.Name
	ends := func() string { return itoa(c.now().Add(r.TTL).UnixMilli()) }

	set, err := c.wire.do(ctx, "SETNX", key, ends())
	if err != nil {
		return 0, err
	}
	if isNew, err := set.AsInt64(); err != nil || isNew == 1 {
		return c.taken(ctx, r, err)
	}
	old, err := c.text(ctx, "GET", key)
	if err != nil {
		return 0, err
	}
	if at, _ := strconv.ParseInt(old, 10, 64); old == "" || at >= c.now().UnixMilli() {
		return 0, new(driver.Held) // it was released just now, or it has not timed out
	}
	was, err := c.text(ctx, "GETSET", key, ends())
	if err != nil {
		return 0, err
	}
	if was != old {
		return 0, new(driver.Held)
	}
	return c.taken(ctx, r, nil)
}

// taken gets a token, which the recipe does not have: without one nobody could ask the registers who was there first.
func (c *recipe) taken(ctx context.Context, r *driver.Request, err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.held[r.Attempt] = c.now()
	c.mu.Unlock()
	c.reached(Acquired)
	m, err := c.wire.do(ctx, "INCR", tokenPrefix+r.Name)
	if err != nil {
		return 0, err
	}
	token, err := m.AsInt64()
	return uint64(token), err
}

// text is the answer to a command that may answer nothing.
func (c *recipe) text(ctx context.Context, args ...string) (string, error) {
	m, err := c.wire.do(ctx, args...)
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return m.ToString()
}

func (c *recipe) free(ctx context.Context, r *driver.Request) error {
	c.mu.Lock()
	began, held := c.held[r.Attempt]
	c.mu.Unlock()
	if !held || c.now().Sub(began) >= r.TTL {
		return driver.ErrGone // it may be another's by now
	}
	_, err := c.wire.do(ctx, "DEL", lockPrefix+r.Name)
	if err == nil {
		c.mu.Lock()
		delete(c.held, r.Attempt)
		c.mu.Unlock()
	}
	return err
}

var errNoRenewal = errors.New("the recipe has no renewal; finish within the TTL")

func (c *recipe) renew(context.Context, *driver.Request, time.Duration) (time.Duration, error) {
	return 0, errNoRenewal
}
