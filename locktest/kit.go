package locktest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// A kit is what one Run knows of the store under test.
type kit struct {
	h          Harness
	test       string // the name of the test that called Run: child processes run just that
	address    string
	probe      driver.Store // a client that is only asked what the store can do
	guarantees driver.Guarantees
	keeper     bool // it is a driver.Keeper, on this system
	attempts   *driver.Attempts
	id         string // part of every lock name: a store may remember earlier runs

	ttl  time.Duration // the short TTL: cases wait for it to run out
	long time.Duration // the long TTL: what holds for so long outlives its case, unless it is released
}

func newKit(t *testing.T, h Harness) *kit {
	t.Helper()
	k := &kit{h: h, test: t.Name(), attempts: driver.NewAttempts(), id: rand.Text()[:8]}
	if h.Start != nil {
		k.address = h.Start(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()
	var err error
	if k.probe, err = h.Open(ctx, k.address); err != nil {
		t.Fatalf("locktest: Harness.Open: %v", err)
	}
	t.Cleanup(func() { k.probe.Close() })
	if k.guarantees, err = k.probe.Guarantees(ctx); err != nil {
		t.Fatalf("locktest: Guarantees of a store at rest: %v", err)
	}
	k.keeper = hasFiles(t, k.probe)
	k.setTTLs()
	k.awaitReady(ctx, t)
	return k
}

// awaitReady waits until the store grants: one that has just been started may grant nothing at first (driver.Guarded).
func (k *kit) awaitReady(ctx context.Context, t *testing.T) {
	t.Helper()
	r := &driver.Request{Name: "locktest/" + k.id, Attempt: k.attempts.Next(), Mode: driver.Exclusive, TTL: k.long}
	if _, err := k.probe.Acquire(ctx, r); err != nil {
		t.Fatalf("locktest: the first Acquire of all, of a lock that nobody has: %v", err)
	}
	if err := k.probe.Release(ctx, r); err != nil {
		t.Fatalf("locktest: the first Release of all: %v", err)
	}
}

// setTTLs chooses TTLs that the store allows. With a session every hold has the session's.
func (k *kit) setTTLs() {
	g := k.guarantees
	k.ttl = max(k.h.TTL, g.MinTTL)
	if k.h.TTL == 0 {
		k.ttl = max(500*time.Millisecond, g.MinTTL)
	}
	k.long = max(time.Minute, 4*k.ttl)
	if g.MaxTTL > 0 {
		k.long = min(k.long, g.MaxTTL)
	}
	if g.Session > 0 {
		k.ttl, k.long = g.Session, g.Session
	}
}

// runCase runs one case as a subtest, and says which rule it checks if it fails.
func (k *kit) runCase(parent *testing.T, topic topic, c casus) {
	parent.Run(c.name, func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the rule is %s", c.rule)
			}
		})
		// A case that hangs says so itself, long before the whole test binary is ended.
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience()+10*k.ttl)
		defer cancel()
		c.run(&trial{T: t, kit: k, ctx: ctx, prefix: "locktest/" + k.id + "/" + topic.name + "/" + c.name + "/"})
	})
}
