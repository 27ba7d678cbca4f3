package locktest

import (
	"context"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var unknown = topic{"unknown", []casus{
	{"renewal", expires, unknownMovesNothing,
		"T3, L3: an unknown renewal moves nothing: the hold is not believed beyond asked + TTL − margin of the last confirmed one"},
	{"heals", expires, healedInTime,
		"T3: an unknown renewal is no loss: a link that heals in time keeps the hold"},
	{"cut", ownTTL, cutIsNoLoss,
		"T3: a broken connection is no loss: the hold is renewed over a new one"},
}}

func unknownMovesNothing(t *trial) {
	for i, hold := range []func(Faults){Faults.HoldReplies, Faults.HoldRequests} {
		clock := t.open().Clock()
		locks, faults := t.linkedLocks()
		mine := t.lock(locks, t.name("lock %d", i), holdfast.TTL(t.steadyTTL()))
		ctx := mine.Context(t.ctx)
		hold(faults)
		t.neverBeyond(mine, ctx, clock)
		t.lostFor(mine, ctx, ranOut...)
		faults.Cut()
	}
}

// neverBeyond watches a hold whose renewals are answered no more from now on, until its context ends.
func (t *trial) neverBeyond(hold *holdfast.Hold, ctx context.Context, clock driver.Clock) {
	t.Helper()
	ttl := t.actualTTL(t.steadyTTL())
	latest := clock.Now().Add(ttl - driver.Margin(ttl)) // every confirmed renewal was asked for before now
	for ctx.Err() == nil {
		now := clock.Now() // before Left, so that a pause between the two does no harm
		left := hold.Left()
		if beyond := left - latest.Sub(now); left > 0 && beyond > 0 {
			t.Fatalf("the hold is believed for %v longer than its last confirmed renewal allows", beyond)
		}
		if t.ctx.Err() != nil {
			t.Fatal("the context of a hold whose renewals are not answered did not end")
		}
		driver.Sleep(ctx, ttl/50)
	}
}

func healedInTime(t *trial) {
	name := t.name("lock")
	clock := t.open().Clock()
	locks, faults := t.linkedLocks()
	others := t.locks()
	mine := t.lock(locks, name, holdfast.TTL(2*t.steadyTTL()))
	ctx := mine.Context(t.ctx)
	ttl := t.actualTTL(2 * t.steadyTTL())
	for _, fault := range []struct{ begin, heal func() }{
		{faults.HoldReplies, faults.Resume}, // the answer comes late
		{faults.HoldReplies, faults.Cut},    // the answer is lost, and the connection with it
		{faults.HoldRequests, faults.Cut},
	} {
		fault.begin()
		latest := clock.Now().Add(ttl - driver.Margin(ttl))
		driver.Sleep(ctx, ttl*2/5) // a renewal has been sent, and is not answered
		fault.heal()
		t.until("a confirmed renewal after the link has healed", func() bool {
			if err := mine.Err(); err != nil {
				t.Fatalf("the hold was lost, although the link healed after two fifths of its TTL: %v", err)
			}
			left := mine.Left()
			return left > latest.Sub(clock.Now())
		})
		t.heldByOther(others, name)
	}
	t.unlock(mine)
}

func cutIsNoLoss(t *trial) {
	name := t.name("lock")
	locks, faults := t.linkedLocks()
	others := t.locks()
	mine := t.lock(locks, name)
	for range 3 {
		faults.Cut()
		t.until("a Check over a new connection", func() bool { return mine.Check(t.ctx) == nil })
		t.heldByOther(others, name)
	}
	t.unlock(mine)
	t.try(others, name)
}
