package remote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/memlock"
)

// Rule 3 of the client: granted at once, or after a short wait, validity counts from the question.
func TestAskedBeforeTheQuestion(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	s := dial(t, addr)
	r := exclusive(long)
	before := s.Clock().Now()
	g := mustAcquire(t, s, r)
	store.next(t)
	if g.Asked < before || g.Asked > s.Clock().Now() {
		t.Errorf("Asked %d; want it between the call's begin %d and now", g.Asked, before)
	}
	short := exclusive(long)
	waiter := askAndWait(t, t.Context(), s, short)
	waiting := s.Clock().Now()
	mustRelease(t, s, r)
	if g := granted(t, waiter); g.Asked > waiting {
		t.Errorf("Asked %d is after %d, when the question had gone out", g.Asked, waiting)
	}
	store.next(t)
	if len(store.acquired) > 0 {
		t.Error("a grant after a short wait was asked for twice")
	}
}

// Rule 3 of the client: after a long wait the grant is confirmed, so that it is not born old.
func TestGrantAfterLongWaitIsConfirmed(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	s := dial(t, addr)
	const ttl = 2 * time.Second
	holder := exclusive(long)
	mustAcquire(t, s, holder)
	store.next(t)
	waiter := askAndWait(t, t.Context(), s, exclusive(ttl))
	time.Sleep(ttl/10 + 10*time.Millisecond)
	release := s.Clock().Now()
	mustRelease(t, s, holder)
	if g := granted(t, waiter); g.Asked < release {
		t.Errorf("Asked is %v before the release; want it after", release.Sub(g.Asked))
	}
	for range 2 {
		if err := store.next(t); err != nil {
			t.Errorf("the server's acquire: %v", err)
		}
	}
}

// A slow answer without a wait is returned as it is, however old: asking again would bring just another slow one.
func TestSlowAnswerIsNotAskedForAgain(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	p := proxy(t, addr)
	s := dial(t, p.Addr())
	const ttl = time.Second
	before := s.Clock().Now()
	p.HoldReplies()
	asked := ask(t.Context(), s, exclusive(ttl))
	awaitHeld(t, p, netfault.Replies)
	answered := s.Clock().Now()
	time.Sleep(ttl/10 + 10*time.Millisecond)
	p.Resume()
	if g := granted(t, asked); g.Asked < before || g.Asked > answered {
		t.Errorf("Asked %d; want it between the call %d and the server's answer %d", g.Asked, before, answered)
	}
	store.next(t)
	if len(store.acquired) > 0 {
		t.Error("it was asked for again")
	}
}

// The old push: the grant arrives when it has run out and somebody else holds. It must not be believed.
func TestOldGrantIsNotBelieved(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	p := proxy(t, addr)
	s, direct := dial(t, p.Addr()), dial(t, addr)
	holder, next := exclusive(long), exclusive(long)
	mustAcquire(t, direct, holder)
	late := askAndWait(t, t.Context(), s, exclusive(200*time.Millisecond))
	then := askAndWait(t, t.Context(), direct, next)
	p.HoldReplies()
	mustRelease(t, direct, holder) // granted to late, whose answer is held, and after its TTL to then
	g := granted(t, then)
	p.Resume()
	select {
	case a := <-late:
		t.Fatalf("an old grant was believed: token %d, %v; %d holds", a.Token, a.err, g.Token)
	case <-time.After(50 * time.Millisecond):
	}
	mustRelease(t, direct, next)
	if got := granted(t, late); got.Token <= g.Token {
		t.Errorf("token %d after %d", got.Token, g.Token)
	}
}

// The grant has come, but is old, and the confirmation does not come: nothing is known. Release then undoes what there is.
func TestContextEndsWhileConfirming(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	p := proxy(t, addr)
	s, direct := dial(t, p.Addr()), dial(t, addr)
	const ttl = 2 * time.Second
	holder, r := exclusive(long), exclusive(ttl)
	mustAcquire(t, direct, holder)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := askAndWait(t, ctx, s, r)
	time.Sleep(ttl/10 + 10*time.Millisecond)
	p.HoldRequests()
	mustRelease(t, direct, holder)
	awaitHeld(t, p, netfault.Requests)
	cancel()
	err := receive(t, asked, "Acquire to return").err
	wantUnknown(t, "Acquire", err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire = %v; want context.Canceled", err)
	}
	p.Heal()
	if err := s.Release(t.Context(), r); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Errorf("Release: %v", err)
	}
	if got := holders(t, direct); len(got) > 0 {
		t.Errorf("%v holds after Release", got)
	}
}
