package locktest

import (
	"context"
	"errors"
	"strings"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// What Observe sees, and how Run ends and goes on.

func observeSeesChanges(t *trial) {
	type sight struct {
		leader holdfast.Holder
		err    error
	}
	name := t.name("election")
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	sights, over := make(chan sight, 16), make(chan struct{})
	e := t.locks().Election(name)
	go func() {
		defer close(over)
		for leader, err := range e.Observe(ctx) {
			sights <- sight{leader, err}
		}
	}()
	sees := func(who string, token uint64) {
		t.Helper()
		now := in(t, "what Observe shows of a change", sights)
		if who != "" && errors.Is(now.err, holdfast.ErrNotHeld) { // between two leaders, where the store does not hand over
			now = in(t, "what Observe shows of a new leader", sights)
		}
		switch {
		case who == "" && !errors.Is(now.err, holdfast.ErrNotHeld):
			t.Fatalf("Observe shows %+v, %v; nobody leads, so it is ErrNotHeld", now.leader, now.err)
		case who != "" && (now.err != nil || now.leader.Token != token || !strings.HasSuffix(now.leader.Label, who)):
			t.Fatalf("Observe shows %+v, %v; it is %s, with token %d", now.leader, now.err, who, token)
		}
	}
	sees("", 0)
	first := t.lock(t.locks(), name, holdfast.Label("the first"))
	sees("the first", first.Token())
	next := t.queue(func(locks *holdfast.Client) holdfast.Locker {
		return t.mutexOf(locks, name, holdfast.Label("the second"))
	})
	t.unlock(first)
	second := next.granted()
	sees("the second", second.Token())
	t.unlock(second)
	sees("", 0)
	stop()
	in(t, "the end of Observe, whose context has ended", over)
	if n := len(sights); n > 0 {
		t.Errorf("Observe shows the same again: %+v", <-sights)
	}
}

func runReturnsWhatWasDone(t *trial) {
	name := t.name("election")
	own := errors.New("what the function returned")
	for _, want := range []error{nil, own} {
		c := t.runs(t.locks(), name)
		now := c.leads()
		if now.ctx.Err() != nil {
			t.Errorf("the context of a term has ended as it begins: %v", context.Cause(now.ctx))
		}
		t.heldByOther(t.locks(), name)
		now.over <- want
		if err := c.returned(); !errors.Is(err, want) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Run returned %v; its function returned %v", err, want)
		}
		t.unlock(t.try(t.locks(), name))
		if len(c.terms) > 0 {
			t.Error("Run ran its function again, which had returned by itself")
		}
	}
}

func runFinishesItsWork(t *trial) {
	name := t.name("election")
	leader := t.runs(t.locks(), name)
	now := leader.leads()
	other := t.queue(func(locks *holdfast.Client) holdfast.Locker { return t.mutexOf(locks, name) })
	leader.stop()
	in(t, "the end of the context of a term, with that of Run", now.ctx.Done())
	driver.Sleep(t.ctx, glimpse) // long enough to resign, if somebody wanted to
	other.waits()
	t.heldByOther(t.locks(), name)
	select {
	case <-leader.done:
		t.Fatalf("Run has returned while its function still works: %v", leader.err)
	default:
	}
	own := errors.New("what the function returned")
	now.over <- own
	if err := leader.returned(); !errors.Is(err, own) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Run returned %v; its function returned %v", err, own)
	}
	t.unlock(other.granted())
}

func cancelledCandidate(t *trial) {
	name := t.name("election")
	held := t.lock(t.locks(), name)
	waits, signal := newSignal()
	locks := t.locks(holdfast.WithObserver(holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
		if e.Kind == holdfast.EventWaiting {
			signal()
		}
	})))
	c := t.runs(locks, name)
	in(t, "a candidate that waits", waits)
	c.stop()
	if err := c.returned(); !errors.Is(err, holdfast.ErrHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("Run of a candidate that was cancelled returned %v; it must be ErrHeld and ctx.Err()", err)
	}
	t.unlock(held)
	t.unlock(t.lock(t.locks(), name)) // nobody else is in the queue
	if len(c.terms) > 0 {
		t.Error("a candidate led although it was cancelled before its turn")
	}
}

func runCampaignsAgain(t *trial) {
	name := t.name("election")
	mine, others := t.locks(), t.locks()
	c := t.runs(mine, name, holdfast.TTL(t.promptTTL()))
	first := c.leads()
	token := holdfast.Token(first.ctx)
	if err := others.Break(t.ctx, name, token, holdfast.Now()); err != nil {
		t.Fatalf("Break of the leader: %v", err)
	}
	usurper := t.try(others, name)
	in(t, "the end of the context of a term that was broken", first.ctx.Done())
	if cause := context.Cause(first.ctx); !errors.Is(cause, holdfast.ErrLost) {
		t.Errorf("the context of a term that was broken ended with %v; its cause must be ErrLost", cause)
	}
	c.doesNotLead() // its function still works
	t.unlock(usurper)
	waiting := t.lock(others, name) // it does not even campaign yet
	first.over <- first.ctx.Err()
	c.doesNotLead() // another does
	t.unlock(waiting)
	second := c.leads()
	if again := holdfast.Token(second.ctx); again <= token {
		t.Errorf("the second term has token %d, after token %d", again, token)
	}
	if second.ctx.Err() != nil {
		t.Errorf("the context of the second term has ended as it begins: %v", context.Cause(second.ctx))
	}
	t.heldByOther(others, name)
	second.over <- nil
	if err := c.returned(); err != nil {
		t.Errorf("Run returned %v; the function of its second term returned nil", err)
	}
}

func runSurvivesLoss(t *trial) {
	name := t.name("election")
	cutOff, faults := t.linkedLocks()
	c := t.runs(cutOff, name, holdfast.TTL(t.ttl))
	first := c.leads()
	faults.HoldRequests()
	other := t.lock(t.locks(), name)
	if _, ok := cutOff.Held(first.ctx, name); ok {
		t.Error("another leads while the leader that was cut off still believes in its term")
	}
	in(t, "the end of the context of a term that could not be renewed", first.ctx.Done())
	if cause := context.Cause(first.ctx); !errors.Is(cause, holdfast.ErrLost) {
		t.Errorf("the context of a term that was lost ended with %v; its cause must be ErrLost", cause)
	}
	c.doesNotLead()
	faults.Resume()
	first.over <- nil // it has noticed: that is no end of its work
	t.unlock(other)
	second := c.leads()
	if token := holdfast.Token(second.ctx); token != 0 && token <= other.Token() {
		t.Errorf("the second term has token %d, after token %d", token, other.Token())
	}
	second.over <- nil
	for { // more terms, should a busy machine lose this one, too: its TTL is short
		select {
		case now := <-c.terms:
			now.over <- nil
			continue
		case <-c.done:
		case <-t.ctx.Done():
			t.Fatal("Run does not return although its function returns")
		}
		break
	}
	if c.err != nil {
		t.Errorf("Run returned %v; the function of its last term returned nil", c.err)
	}
}

func ownErrorAfterLoss(t *trial) {
	name := t.name("election")
	others := t.locks()
	c := t.runs(t.locks(), name, holdfast.TTL(t.promptTTL()))
	now := c.leads()
	if err := others.Break(t.ctx, name, holdfast.Token(now.ctx), holdfast.Now()); err != nil {
		t.Fatalf("Break of the leader: %v", err)
	}
	in(t, "the end of the context of a term that was broken", now.ctx.Done())
	own := errors.New("what the function returned")
	now.over <- own
	if err := c.returned(); !errors.Is(err, own) || !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Run returned %v; it must be what its function returned, and ErrLost", err)
	}
	t.unlock(t.lock(others, name))
	if len(c.terms) > 0 {
		t.Error("Run campaigned again after an error of its function's own")
	}
}
