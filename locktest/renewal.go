package locktest

import (
	"context"
	"errors"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var renewal = topic{"renewal", []casus{
	{"long", expires, renewedOverManyTTLs,
		"T3: a hold is renewed over many TTLs: nobody else gets it, and its token is constant"},
	{"many", expires, manyAreRenewed,
		"T3: many holds of one client are renewed beside each other"},
	{"fixed", ownTTL, fixedEnds,
		"T1: a Fixed hold is not renewed: it ends with its TTL, and not before"},
	{"extend", ownTTL, extendReaches,
		"T3: Extend makes sure that at least so much is left; it never shortens"},
	{"check", 0, checkAsks,
		"T3: Check asks the store whether it still has the hold"},
}}

// steadyTTL is a TTL within which even a busy machine renews in time.
func (t *trial) steadyTTL() time.Duration { return max(4*t.ttl, 3*time.Second) }

// actualTTL is what a hold really has that was asked for with a TTL.
func (t *trial) actualTTL(asked time.Duration) time.Duration {
	if t.guarantees.Session > 0 {
		return t.guarantees.Session
	}
	return asked
}

func renewedOverManyTTLs(t *trial) {
	name := t.name("lock")
	mine, theirs := t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.TTL(t.steadyTTL()))
	ctx := hold.Context(t.ctx)
	token := hold.Token()
	ttl := t.actualTTL(t.steadyTTL())
	over := time.Now().Add(ttl * 5 / 2)
	for time.Now().Before(over) {
		t.heldByOther(theirs, name)
		if left, err := hold.Left(), hold.Err(); left <= 0 || left > ttl-driver.Margin(ttl) || err != nil {
			t.Fatalf("a hold that is renewed for %v at a time says that %v are left, and error %v", ttl, left, err)
		}
		time.Sleep(ttl / 10)
	}
	if ctx.Err() != nil {
		t.Errorf("the context of a hold that is renewed ended: %v", context.Cause(ctx))
	}
	if hold.Token() != token {
		t.Errorf("the token was %d and is %d; it is constant", token, hold.Token())
	}
	t.unlock(hold)
	t.try(theirs, name)
}

func manyAreRenewed(t *trial) {
	const n = 50
	mine, theirs := t.locks(), t.locks()
	var holds []*holdfast.Hold
	for i := range n {
		holds = append(holds, t.lock(mine, t.name("lock %d", i), holdfast.TTL(2*t.steadyTTL())))
	}
	time.Sleep(t.actualTTL(2*t.steadyTTL()) * 5 / 4)
	for i, hold := range holds {
		if err := hold.Err(); err != nil {
			t.Fatalf("hold %d of %d was not renewed: %v", i, n, err)
		}
		t.heldByOther(theirs, hold.Name())
	}
	for _, hold := range holds {
		t.unlock(hold)
	}
}

func fixedEnds(t *trial) {
	name := t.name("lock")
	mine, theirs := t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.TTL(t.ttl), holdfast.Fixed())
	ctx := hold.Context(t.ctx)
	next := t.locking(t.ctx, theirs, name).granted()
	t.notBelieved(hold)
	t.lostFor(hold, ctx, ranOut...)
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a hold that has run out: %v; it must be ErrLost", err)
	}
	t.heldByOther(mine, name)
	t.unlock(next)
}

func extendReaches(t *trial) {
	name := t.name("lock")
	locks := t.locks()
	hold := t.lock(locks, name, holdfast.TTL(t.steadyTTL()), holdfast.Fixed())
	want := t.steadyTTL() * 4
	for range 3 {
		if err := hold.Extend(t.ctx, want); err != nil {
			t.Fatalf("Extend: %v", err)
		}
		// At least want was left when it returned; twice does not add up.
		if left := hold.Left(); left < want/2 || left > 2*want {
			t.Fatalf("after Extend for %v, %v are left", want, left)
		}
	}
	if err := hold.Extend(t.ctx, time.Millisecond); err != nil {
		t.Fatalf("Extend for less than is left: %v", err)
	}
	if left := hold.Left(); left < want/2 {
		t.Errorf("Extend for less than is left has shortened the hold to %v", left)
	}
	t.unlock(hold)
	if err := hold.Extend(t.ctx, want); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("Extend after Unlock: %v; it must be ErrReleased", err)
	}
}

func checkAsks(t *trial) {
	locks := t.locks()
	hold := t.lock(locks, t.name("lock"))
	if err := hold.Check(t.ctx); err != nil {
		t.Errorf("Check of a hold that is good: %v", err)
	}
	t.unlock(hold)
	if err := hold.Check(t.ctx); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("Check after Unlock: %v; it must be ErrReleased", err)
	}
}
