package holdfast_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// A hive is many goroutines of several clients that do everything at once, on few locks.
type hive struct {
	t       *testing.T
	clients []*holdfast.Client
	names   []string
	inside  map[string]*atomic.Int32
	tokens  map[string]*atomic.Uint64
}

// Rule: whatever many goroutines do to many clients at once, one holds at a time, tokens rise, and nothing is left over. It is a test
// for the race detector above all.
func TestManyGoroutines(t *testing.T) {
	server := memlock.NewServer()
	h := &hive{t: t, names: []string{"a", "b", "c"}, inside: make(map[string]*atomic.Int32), tokens: make(map[string]*atomic.Uint64)}
	for _, name := range h.names {
		h.inside[name], h.tokens[name] = new(atomic.Int32), new(atomic.Uint64)
	}
	for range 3 {
		h.clients = append(h.clients, holdfast.New(server.Connect(), holdfast.WithObserver(new(diary))))
	}
	crowd(t, 200, h.act)
	for _, c := range h.clients {
		expectNothingLeft(t, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// crowd lets twelve goroutines act at once, each so many times, each with random numbers of its own.
func crowd(t *testing.T, times int, act func(*rand.Rand)) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for i := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, i))
		all.Go(func() {
			for range times {
				act(random)
			}
		})
	}
	all.Wait()
}

// expectNothingLeft fails the test if a client still keeps something of its holds.
func expectNothingLeft(t *testing.T, c *holdfast.Client) {
	t.Helper()
	if tenures, leases, alarms, _ := c.Residue(); tenures+leases+alarms != 0 {
		t.Errorf("left over: %d tenures, %d leases, %d alarms", tenures, leases, alarms)
	}
}

// act does one thing, at random.
func (h *hive) act(random *rand.Rand) {
	c, name := h.clients[random.IntN(len(h.clients))], h.names[random.IntN(len(h.names))]
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	switch random.IntN(6) {
	case 0, 1:
		if err := c.Do(ctx, name, func(ctx context.Context) error { h.use(ctx, c, name, random); return nil }); err != nil {
			h.t.Error(err)
		}
	case 2:
		hold, err := c.Mutex(name).TryLock(ctx)
		if err == nil {
			h.use(hold.Context(ctx), c, name, random)
			mustUnlock(h.t, hold)
		} else if !errors.Is(err, holdfast.ErrHeld) {
			h.t.Error(err)
		}
	case 3: // gives up, at any moment
		wait, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(200))*time.Microsecond)
		defer cancel()
		if hold, err := c.Mutex(name).Lock(wait); err == nil {
			h.use(hold.Context(ctx), c, name, random)
			mustUnlock(h.t, hold)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			h.t.Error(err)
		}
	case 4:
		if _, err := c.Inspect(ctx, name); err != nil {
			h.t.Error(err)
		}
	case 5:
		for _, err := range c.List(ctx, "") {
			if err != nil {
				h.t.Error(err)
			}
		}
	}
}

// use is what is done under the lock. Two goroutines of its own nest in it, and exclude each other.
func (h *hive) use(ctx context.Context, c *holdfast.Client, name string, random *rand.Rand) {
	inside, tokens := h.inside[name], h.tokens[name]
	if n := inside.Add(1); n != 1 {
		h.t.Errorf("%d hold %q", n, name)
	}
	defer inside.Add(-1)
	if last := tokens.Swap(holdfast.Token(ctx)); last >= holdfast.Token(ctx) {
		h.t.Errorf("token %d after %d", holdfast.Token(ctx), last)
	}
	hold, ok := c.Held(ctx, name)
	if !ok {
		h.t.Errorf("%q is not held: %v", name, context.Cause(ctx))
		return
	}
	if err := hold.Check(ctx); err != nil {
		h.t.Error(err)
	}
	if random.IntN(4) == 0 {
		if err := hold.Extend(ctx, 20*time.Second); err != nil {
			h.t.Error(err)
		}
	}
	var siblings atomic.Int32
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			err := c.Do(ctx, name, func(context.Context) error {
				if n := siblings.Add(1); n != 1 {
					h.t.Errorf("%d siblings inside", n)
				}
				siblings.Add(-1)
				return nil
			})
			if err != nil {
				h.t.Error(err)
			}
		})
	}
	both.Wait()
}

// Rule: Close and Break in the middle of everything leave nothing behind in the store, and every error is one of those that are
// documented.
func TestManyGoroutinesAndTheirEnd(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	server := memlock.NewServer()
	watcher := holdfast.New(server.Connect())
	defer watcher.Close()
	for round := range uint64(20) {
		locks := holdfast.New(server.Connect())
		var all sync.WaitGroup
		for i := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, round<<8|i))
			all.Go(func() {
				for range 50 {
					if err := disturb(t.Context(), locks, watcher, random); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Go(func() {
			for deadline := time.Now().Add(time.Duration(round) * 200 * time.Microsecond); time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if err := locks.Close(); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		for info, err := range watcher.List(t.Context(), "") {
			t.Errorf("left behind: %+v, %v", info, err)
		}
	}
}

// disturb locks, nests, unlocks and breaks. It returns errors that nobody would expect.
func disturb(ctx context.Context, locks, watcher *holdfast.Client, random *rand.Rand) error {
	expected := func(err error) error {
		for _, is := range []error{nil, holdfast.ErrClosed, holdfast.ErrLost, holdfast.ErrNotHeld} {
			if errors.Is(err, is) {
				return nil
			}
		}
		return err
	}
	name := []string{"a", "b"}[random.IntN(2)]
	hold, err := locks.Mutex(name).Lock(ctx)
	if err != nil {
		return expected(err)
	}
	inner := hold.Context(ctx)
	if random.IntN(4) == 0 {
		err = expected(watcher.Break(ctx, name, hold.Token(), holdfast.Now()))
	}
	within := expected(locks.Do(context.WithoutCancel(inner), name, func(ctx context.Context) error {
		if random.IntN(2) == 0 {
			hold.Unlock() // the inner one outlives it
		}
		return nil
	}))
	unlocked := hold.Unlock()
	if errors.Is(unlocked, holdfast.ErrReleased) {
		unlocked = nil
	}
	return errors.Join(err, within, expected(unlocked))
}
