package redislock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock"
)

// A relayCrowd is many who want one lock, of several clients, and what they see of each other.
type relayCrowd struct {
	t       *testing.T
	stores  []*redislock.Store
	rideFor time.Duration // not 0: how long those wait who share a place, before they ask
	now     bool          // holds are broken at once: two may then believe in it, and only the token tells who may
	enough  atomic.Bool   // they go home

	troubles []string // what is done to the server meanwhile

	served  atomic.Int64 // how often
	highest atomic.Uint64
	inside  atomic.Pointer[stay]
	tokens  sync.Map // that were given out
}

// A stay is one hold.
type stay struct {
	token uint64
	label string
	ended atomic.Bool // it was told to end, or has begun to release
	valid driver.Instant
}

// enter takes the place of whoever was there before, who must have left.
func (c *relayCrowd) enter(s *redislock.Store, me *stay) {
	if other, twice := c.tokens.LoadOrStore(me.token, me.label); twice {
		c.fail("token %d of %s was %s's", me.token, me.label, other)
	}
	before := c.inside.Swap(me)
	if c.now {
		return
	}
	if before != nil && !before.ended.Load() && s.Clock().Now().Before(before.valid) {
		c.fail("%s with token %d is there beside %s with token %d", me.label, me.token, before.label, before.token)
	}
	if highest := c.highest.Swap(me.token); highest >= me.token {
		c.fail("token %d after %d", me.token, highest)
	}
}

func (c *relayCrowd) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf(format, args...)
	c.enough.Store(true)
}

// one is one of them, until it is enough.
func (c *relayCrowd) one(s *redislock.Store, label string, random *rand.Rand) {
	for !c.enough.Load() {
		c.turn(s, label, random)
	}
}

// turn is one attempt: it may give up, or be broken; what it gets it has for a moment, or for longer than the server may not know of it.
func (c *relayCrowd) turn(s *redislock.Store, label string, random *rand.Rand) {
	me := &stay{label: label}
	r := ask("lock", label, 2*time.Second)
	r.Lost = func(error) { me.ended.Store(true) }
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	patient := random.IntN(4) > 0
	if !patient {
		ctx, cancel = context.WithTimeout(context.Background(), time.Duration(random.IntN(20_000))*time.Microsecond)
	}
	defer cancel()
	grant, err := s.Acquire(ctx, r)
	for len(c.troubles) > 0 && err != nil && !driver.Answered(err) && ctx.Err() == nil {
		grant, err = s.Acquire(ctx, r) // as the core does
	}
	if err != nil {
		if patient || ctx.Err() == nil || driver.Answered(err) {
			c.fail("%s: %v", label, err)
		}
		letGo(c.t, s, r)
		return
	}
	me.token, me.valid = grant.Token, grant.Asked.Add(grant.TTL)
	if ctx.Err() == nil { // else nobody waits for it any more, and the core only releases
		c.enter(s, me)
		c.stay(s, me, grant, random)
	}
	me.ended.Store(true)
	letGo(c.t, s, r)
	c.served.Add(1)
}

// stay has the lock for a while, and does what holders and others do meanwhile.
func (c *relayCrowd) stay(s *redislock.Store, me *stay, grant *driver.Grant, random *rand.Rand) {
	switch random.IntN(40) {
	case 0: // longer than the server is not told
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+random.IntN(10))*time.Millisecond)
		defer cancel()
		<-ctx.Done()
	case 1:
		if _, err := grant.Lease.Renew(context.Background(), 2*time.Second); driver.Answered(err) && !c.now && !me.ended.Load() {
			c.fail("%s: not renewed: %v", me.label, err)
		}
	case 2, 3: // from its own client, or from another
		from := c.stores[random.IntN(len(c.stores))]
		info, err := from.Inspect(context.Background(), "lock", driver.Exclusive)
		if err != nil || len(info.Holders) == 0 {
			return
		}
		if token := info.Holders[0].Token; !c.now && token > me.token && !me.ended.Load() {
			c.fail("%s has token %d, and %d is shown", me.label, me.token, token)
		}
		from.Break(context.Background(), &driver.BreakRequest{Name: "lock", Mode: driver.Exclusive, Token: info.Holders[0].Token, Now: c.now, By: me.label})
	}
}

// run lets 90 of three clients at it, until they were served so often.
func (c *relayCrowd) run(goal int64) {
	c.t.Helper()
	server := startRedis(c.t)
	for range 3 {
		s := dial(c.t, server.Addr(), "guard=0")
		if c.rideFor > 0 {
			s.RideFor(c.rideFor)
		}
		c.stores = append(c.stores, s)
	}
	seed := rand.Uint64()
	c.t.Logf("seed %d", seed)
	var group sync.WaitGroup
	for i := range 90 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		group.Go(func() { c.one(c.stores[i%3], fmt.Sprintf("%c%d", 'a'+i%3, i/3), random) })
	}
	reached := func(goal int64) func() bool {
		return func() bool { return c.served.Load() >= goal || c.enough.Load() }
	}
	for _, trouble := range c.troubles {
		until(c.t, "some are served before "+trouble, reached(c.served.Load()+300))
		command(c.t, server, strings.Fields(trouble)...)
	}
	until(c.t, "all are served", reached(c.served.Load()+goal))
	c.enough.Store(true)
	group.Wait()
	allOver(c.t, server, c.stores...)
}

// Many of three clients want one lock: they give up, break each other, and have it for a moment or for longer. Nobody is there beside another,
// no token comes twice, everybody is served, and nothing is left.
func TestRelayStress(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		t.Run(map[bool]string{false: "gently", true: "at once"}[now], func(t *testing.T) {
			t.Parallel()
			c := &relayCrowd{t: t, now: now}
			c.run(3000)
		})
	}
}

// The same while connections are killed, and the library is flushed.
func TestRelayStressWithTroubles(t *testing.T) {
	t.Parallel()
	kinds := []string{"CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub", "FUNCTION FLUSH"}
	c := &relayCrowd{t: t, troubles: slices.Repeat(kinds, 4)}
	c.run(500)
}

// Where holds are broken at once nobody is forgotten: the wait of 90 for holds of a moment is far from what a rider has patience for.
func TestRelayForgetsNobody(t *testing.T) {
	t.Parallel()
	c := &relayCrowd{t: t, now: true, rideFor: time.Hour}
	c.run(3000)
}
