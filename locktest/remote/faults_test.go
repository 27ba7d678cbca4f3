package remote_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

// Rule 1 of the client, A1: the answer is lost; asked again the same hold is found.
func TestLostAnswer(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	p := proxy(t, addr)
	s, direct := dial(t, p.Addr()), dial(t, addr)
	r := exclusive(long)

	p.HoldReplies()
	asked := ask(t.Context(), s, r)
	awaitHeld(t, p, netfault.Replies)
	p.Cut()
	wantUnknown(t, "Acquire without an answer", receive(t, asked, "Acquire to notice the cut").err)
	p.Resume()
	tokens := holders(t, direct)
	if g := mustAcquire(t, s, r); !slices.Equal(tokens, []uint64{g.Token}) {
		t.Errorf("asked again: token %d; the hold has %v", g.Token, tokens)
	}

	p.HoldReplies()
	released := make(chan error, 1)
	go func() { released <- s.Release(t.Context(), r) }()
	awaitHeld(t, p, netfault.Replies)
	p.Cut()
	wantUnknown(t, "Release without an answer", receive(t, released, "Release to notice the cut"))
	p.Resume()
	if err := s.Release(t.Context(), r); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Release again = %v; want ErrGone", err)
	}
}

// Rule 4 of the client: a renewal without an answer is not a renewal.
func TestUnknownRenewal(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	p := proxy(t, addr)
	s := dial(t, p.Addr())
	g := mustAcquire(t, s, exclusive(long))

	p.HoldReplies()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	left, err := g.Lease.Renew(ctx, long)
	wantUnknown(t, "Renew without an answer", err)
	if left != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Renew = %v, %v; want nothing, and the end of the context", left, err)
	}
	p.Cut()
	p.Resume()
	for err != nil && !driver.Answered(err) { // until the client has noticed the cut
		left, err = g.Lease.Renew(t.Context(), long)
	}
	if err != nil || left != long {
		t.Errorf("Renew over a new connection = %v, %v; want %v", left, err, long)
	}
}

// Rule 1 of the server: a late request is carried out, and refused because it was undone before it came.
func TestLateRequest(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	p := proxy(t, addr)
	s := dial(t, p.Addr())
	r := exclusive(long)

	p.HoldRequests()
	asked := ask(t.Context(), s, r)
	awaitHeld(t, p, netfault.Requests)
	p.Strand()
	wantUnknown(t, "Acquire on a stranded connection", receive(t, asked, "Acquire to notice").err)
	if err := s.Release(t.Context(), r); !errors.Is(err, driver.ErrGone) {
		t.Fatalf("Release before the request = %v; want ErrGone", err)
	}
	p.Resume()
	if err := store.next(t); !errors.Is(err, driver.ErrGone) {
		t.Errorf("the late request was answered %v; want ErrGone", err)
	}
	if got := holders(t, s); len(got) > 0 {
		t.Errorf("the late request holds: %v", got)
	}
}

// The same request, not undone: it holds, and can be undone later; it was carried out though its connection ended behind it.
func TestLateRequestThatNobodyUndid(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	p := proxy(t, addr)
	s := dial(t, p.Addr())
	r := exclusive(long)

	p.HoldRequests()
	asked := ask(t.Context(), s, r)
	awaitHeld(t, p, netfault.Requests)
	p.Strand()
	wantUnknown(t, "Acquire on a stranded connection", receive(t, asked, "Acquire to notice").err)
	p.Resume()
	if err := store.next(t); err != nil {
		t.Errorf("the late request was answered %v; want a grant", err)
	}
	if got := holders(t, s); len(got) != 1 {
		t.Errorf("holders are %v; want the late request's", got)
	}
	mustRelease(t, s, r)
}

// Rule 3 of the server, A1: a waiter whose connection broke finds its place again.
func TestCutWhileWaiting(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	p := proxy(t, addr)
	direct, s := dial(t, addr), dial(t, p.Addr())
	holder, first, second := exclusive(long), exclusive(long), exclusive(long)
	mustAcquire(t, direct, holder)
	store.next(t)

	cut := askAndWait(t, t.Context(), s, first)
	later := askAndWait(t, t.Context(), direct, second)
	p.Cut()
	wantUnknown(t, "Acquire on a cut connection", receive(t, cut, "Acquire to notice the cut").err)
	wantUnknown(t, "the server's acquire", store.next(t)) // it noticed too: the waiter is absent now
	again := askAndWait(t, t.Context(), s, first)
	mustRelease(t, direct, holder)
	granted(t, again)
	if len(later) > 0 {
		t.Fatal("who came later was served first")
	}
	mustRelease(t, s, first)
	granted(t, later)
}

// Rule 2 of the client, A4: the caller is free at once, and knows who holds; the server stops waiting, and cleans nothing up.
func TestContextEndsWhileWaiting(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	s := dial(t, addr)
	holder, first, second := exclusive(long), exclusive(long), exclusive(long)
	mustAcquire(t, s, holder)
	store.next(t)

	ctx, cancel := context.WithCancel(t.Context())
	cancelled := askAndWait(t, ctx, s, first)
	later := askAndWait(t, t.Context(), s, second)
	cancel()
	err := receive(t, cancelled, "Acquire to return").err
	wantUnknown(t, "Acquire with an ended context", err)
	var held *driver.Held
	if !errors.Is(err, context.Canceled) || !errors.As(err, &held) || len(held.Holders) != 1 {
		t.Errorf("Acquire = %v; want one that is context.Canceled and *Held with the holder", err)
	}
	wantUnknown(t, "the server's acquire", store.next(t))
	again := askAndWait(t, t.Context(), s, first)
	mustRelease(t, s, holder)
	granted(t, again)
	mustRelease(t, s, first)
	granted(t, later)
}

// Nothing that the server says reaches the client, not even progress: the end of ctx frees the caller all the same.
func TestContextEndsInSilence(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	p := proxy(t, addr)
	s := dial(t, p.Addr())
	p.Blackhole(netfault.Both)
	ctx, cancel := context.WithCancel(t.Context())
	asked := ask(ctx, s, exclusive(long))
	cancel()
	err := receive(t, asked, "Acquire to return").err
	wantUnknown(t, "Acquire", err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire = %v; want context.Canceled", err)
	}
}

func TestServerGoneAndBack(t *testing.T) {
	addr, stop := serve(t, memlock.New())
	s := dial(t, addr)
	g := mustAcquire(t, s, exclusive(long))
	waiter := askAndWait(t, t.Context(), s, exclusive(long))
	stop()
	wantUnknown(t, "Acquire from a server that ended", receive(t, waiter, "Acquire to notice").err)
	_, err := s.Acquire(t.Context(), exclusive(long))
	wantUnknown(t, "Acquire from a server that is gone", err)
	_, err = g.Lease.Renew(t.Context(), long)
	wantUnknown(t, "Renew at a server that is gone", err)
	_, err = s.Guarantees(t.Context())
	wantUnknown(t, "Guarantees of a server that is gone", err)
	if _, err := remote.Dial(t.Context(), addr); err == nil {
		t.Error("Dial of a server that is gone succeeded")
	}

	serveAt(t, addr, memlock.New()) // restarted, without memory
	if _, err := g.Lease.Renew(t.Context(), long); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Renew at a server without memory = %v; want ErrGone", err)
	}
	mustAcquire(t, s, exclusive(long))
}

func TestClose(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	other := dial(t, addr)
	r := exclusive(long)
	mustAcquire(t, other, r)
	s := dial(t, addr)
	waiter := askAndWait(t, t.Context(), s, exclusive(long))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	err := receive(t, waiter, "Acquire to return").err
	wantUnknown(t, "Acquire of a closed store", err)
	if !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Acquire = %v; want ErrClosed", err)
	}
	if err := s.Release(t.Context(), r); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Release = %v; want ErrClosed", err)
	}
	mustRelease(t, other, r) // its own connection is untouched
}
