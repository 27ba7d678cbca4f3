package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var loss = topic{"loss", []casus{
	{"expired", expires, cutOffHolderLoses,
		"T1, T4: a hold that cannot be renewed is lost at its deadline, with reason expired, before another is granted"},
	{"grace", ownTTL, graceEndsEarly,
		"T4: with Grace the contexts of a hold that cannot be renewed end that much before the deadline"},
	{"gone", ownTTL, goneIsLost,
		"T3, T4: a hold that the store no longer has is lost within one renewal interval, with reason taken"},
	{"broken", breaker | tokens, brokenIsLost,
		"B1, T4: a hold that was broken is lost within one renewal interval, with reason broken"},
	{"gently", breaker | tokens | ownTTL, brokenGentlyIsKept,
		"B2, O4: a hold that was broken without Now is lost, but nobody else gets it before its release or deadline"},
	{"maxhold", 0, maxHoldEnds,
		"T4: MaxHold ends a hold although it could be renewed, with reason maxhold, and the lock goes to the next"},
	{"do", ownTTL, doReportsLoss,
		"T4: Do says ErrLost, joined with what its function returned"},
	{"unlock", ownTTL, unlockAfterLoss,
		"T4: Unlock of a hold that was lost says so, and touches nobody else's"},
}}

func cutOffHolderLoses(t *trial) {
	for i, hold := range []func(Faults){Faults.HoldRequests, Faults.HoldReplies} {
		name := t.name("lock %d", i)
		cutOff, faults := t.linkedLocks()
		others := t.locks()
		mine := t.lock(cutOff, name, holdfast.TTL(t.ttl))
		ctx := mine.Context(t.ctx)
		hold(faults)
		theirs := t.lock(others, name)
		t.notBelieved(mine)
		t.lostFor(mine, ctx, ranOut...)
		faults.Resume()
		t.heldByOther(t.locks(), name) // whatever the cut off one had sent does no harm
		if mine.Token() != 0 && theirs.Token() <= mine.Token() {
			t.Errorf("token %d was granted after token %d", theirs.Token(), mine.Token())
		}
		t.unlock(theirs)
	}
}

func graceEndsEarly(t *trial) {
	name := t.name("lock")
	cutOff, faults := t.linkedLocks()
	others := t.locks()
	ttl := max(4*t.ttl, 6*time.Second)
	grace := ttl / 2
	mine := t.lock(cutOff, name, holdfast.TTL(ttl), holdfast.Grace(grace))
	ctx := mine.Context(t.ctx)
	faults.HoldRequests()
	next := t.locking(t.ctx, others, name)
	in(t, "the end of the context of a hold that cannot be renewed", ctx.Done())
	if left := mine.Left(); left <= 0 || left > grace {
		t.Errorf("the context ended when %v were left; Grace is %v", left, grace)
	}
	t.lostFor(mine, ctx, holdfast.ReasonExpired)
	next.granted()
	t.notBelieved(mine)
}

// A tap shows the kit what the core asks of the store, so that it can do the same behind the core's back.
type tap struct {
	driver.Store
	mu   sync.Mutex
	last *driver.Request
}

func (s *tap) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	s.mu.Lock()
	s.last = r
	s.mu.Unlock()
	return s.Store.Acquire(ctx, r)
}

// steal releases the attempt that was asked for last.
func (s *tap) steal(t *trial) {
	t.Helper()
	s.mu.Lock()
	r := *s.last
	s.mu.Unlock()
	r.Keep = 0
	if err := s.Store.Release(t.ctx, &r); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// promptTTL is a TTL whose third is far from its end, so that one renewal interval can be told from the deadline.
func (t *trial) promptTTL() time.Duration { return max(3*t.ttl, 9*time.Second) }

// promptly ends the case unless the hold is lost for that reason long before its deadline would have come.
func (t *trial) promptly(hold *holdfast.Hold, ctx context.Context, clock driver.Clock, from driver.Instant,
	reason holdfast.Reason) {
	t.Helper()
	t.lostFor(hold, ctx, reason)
	interval := t.promptTTL() / 3
	if took := clock.Now().Sub(from); took > 2*interval && t.guarantees.Session == 0 { // a session's interval is its own
		t.Errorf("the loss was reported after %v; the renewal interval is %v", took, interval)
	}
}

func goneIsLost(t *trial) {
	name := t.name("lock")
	store, err := t.h.Open(t.ctx, t.address)
	if err != nil {
		t.Fatalf("Harness.Open: %v", err)
	}
	tapped := &tap{Store: store}
	mine, others := t.over(tapped), t.locks()
	hold := t.lock(mine, name, holdfast.TTL(t.promptTTL()))
	ctx := hold.Context(t.ctx)
	from := store.Clock().Now()
	tapped.steal(t)
	theirs := t.try(others, name)
	t.promptly(hold, ctx, store.Clock(), from, holdfast.ReasonTaken)
	t.notBelieved(hold)
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a hold that was lost: %v; it must be ErrLost", err)
	}
	t.heldByOther(mine, name)
	t.unlock(theirs)
}

func brokenIsLost(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.TTL(t.promptTTL()))
	ctx := hold.Context(t.ctx)
	clock := t.open().Clock()
	from := clock.Now()
	if err := others.Break(t.ctx, name, hold.Token(), holdfast.Now()); err != nil {
		t.Fatalf("Break: %v", err)
	}
	theirs := t.try(others, name)
	if theirs.Token() <= hold.Token() {
		t.Errorf("token %d was granted after token %d was broken", theirs.Token(), hold.Token())
	}
	t.promptly(hold, ctx, clock, from, holdfast.ReasonBroken)
	t.notBelieved(hold)
	t.unlock(theirs)
}

func brokenGentlyIsKept(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.TTL(t.promptTTL()))
	ctx := hold.Context(t.ctx)
	clock := t.open().Clock()
	from := clock.Now()
	if err := others.Break(t.ctx, name, hold.Token()); err != nil {
		t.Fatalf("Break: %v", err)
	}
	t.promptly(hold, ctx, clock, from, holdfast.ReasonBroken)
	if early, err := others.Mutex(name, holdfast.TTL(t.long)).TryLock(t.ctx); err == nil {
		t.notBelieved(hold) // a grant is right only if the machine was so busy that the TTL is over
		t.unlock(early)
	}
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a hold that was broken: %v; it must be ErrLost", err)
	}
	theirs := t.lock(others, name) // long before the TTL is over
	if theirs.Token() <= hold.Token() {
		t.Errorf("token %d was granted after token %d was broken", theirs.Token(), hold.Token())
	}
	t.unlock(theirs)
}

func doReportsLoss(t *trial) {
	name := t.name("lock")
	store, err := t.h.Open(t.ctx, t.address)
	if err != nil {
		t.Fatalf("Harness.Open: %v", err)
	}
	tapped := &tap{Store: store}
	locks := t.over(tapped)
	own := errors.New("what the function returned")
	err = locks.Do(t.ctx, name, func(ctx context.Context) error {
		tapped.steal(t)
		in(t, "the end of the context of a hold that is lost", ctx.Done())
		return own
	}, holdfast.TTL(t.steadyTTL()))
	if !errors.Is(err, holdfast.ErrLost) || !errors.Is(err, own) {
		t.Errorf("Do returned %v; it must be ErrLost and what its function returned", err)
	}
}

func unlockAfterLoss(t *trial) {
	name := t.name("lock")
	cutOff, faults := t.linkedLocks()
	others := t.locks()
	mine := t.lock(cutOff, name, holdfast.TTL(t.ttl))
	faults.HoldRequests()
	theirs := t.lock(others, name)
	faults.Resume()
	if err := mine.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a hold that was lost: %v; it must be ErrLost", err)
	}
	if err := theirs.Check(t.ctx); err != nil {
		t.Errorf("Check of the hold that came after: %v", err)
	}
	t.heldByOther(t.locks(), name)
	t.unlock(theirs)
}

func maxHoldEnds(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.MaxHold(max(t.ttl, time.Second)))
	ctx := hold.Context(t.ctx)
	next := t.lock(others, name) // long before the TTL is over
	t.notBelieved(hold)
	t.lostFor(hold, ctx, holdfast.ReasonMaxHold)
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a hold that reached its MaxHold: %v; it must be ErrLost", err)
	}
	t.heldByOther(mine, name)
	t.unlock(next)
}
