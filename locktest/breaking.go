package locktest

import (
	"errors"
	"time"

	"holdfast.dev/driver"
)

var breaking = topic{"breaking", []casus{
	{"other", breaker | tokens, breakOtherToken,
		"B: Break ends exactly the hold with that token; ErrGone if there is none"},
	{"gently", breaker | tokens, breakGently,
		"B2: without Now the hold is not renewed again, and moves on at its release: exclusion is kept"},
	{"expiry", breaker | tokens | ownTTL, brokenRunsOut,
		"B2: without Now the hold moves on when its TTL is over, although somebody renews it"},
	{"now", breaker | tokens, breakNow,
		"B3: with Now the hold is freed at once, and later tokens are greater"},
	{"keep", breaker | tokens | keep, breakNowKeep,
		"B3: with Now the hold is freed at once, Keep included"},
	{"kept", breaker | tokens | keep, breakGentlyKeep,
		"B2: without Now the hold's Keep is kept"},
	{"ended", breaker | tokens | ownTTL, brokenHasEnded,
		"B2: once a hold that was broken without Now has ended, Renew says *Broken and ErrGone both"},
	{"generation", breaker | tokens | shared, breakEndsGeneration,
		"G: a generation that was broken gets no further readers: one that comes later has a greater token"},
	{"told", breaker | tokens, brokenIsTold,
		"B1: the holder is told *Broken by its next Renew, with the label of whoever broke it; Lost is called at most once"},
	{"readers", breaker | tokens | shared, breakReaders,
		"B: Break of a reader's token ends all readers of its generation, and nobody else"},
	{"permits", breaker | tokens | permitting, breakPermits,
		"B: Break of a permit hold ends that hold only"},
	{"waiters", breaker | tokens, breakServesNext,
		"B: Break leaves those who wait where they are"},
}}

// breaks breaks the hold with that token, which must be possible.
func (t *trial) breaks(c *client, r *driver.Request, token uint64, now bool) {
	t.Helper()
	if err := t.breakError(c, r, token, now); err != nil {
		t.Fatalf("Break of token %d: %v", token, err)
	}
}

func (t *trial) breakError(c *client, r *driver.Request, token uint64, now bool) error {
	ctx, cancel := t.patience()
	defer cancel()
	b := &driver.BreakRequest{Name: r.Name, Mode: r.Mode, Token: token, Now: now, By: "the breaker"}
	return c.Store.(driver.Breaker).Break(ctx, b)
}

func breakOtherToken(t *trial) {
	a, b := t.open(), t.open()
	r := t.ask(t.name("lock"))
	g := a.grant(r)
	for _, token := range []uint64{g.Token - 1, g.Token + 1, 0, 1<<64 - 1} {
		for _, now := range []bool{false, true} {
			if err := t.breakError(b, r, token, now); !errors.Is(err, driver.ErrGone) {
				t.Errorf("Break of token %d where %d holds: %v; the answer must be ErrGone", token, g.Token, err)
			}
		}
	}
	b.taken(t.ask(r.Name))
	if g.Lease != nil {
		a.renew(g, t.long)
	}
	a.release(r)
	if err := t.breakError(b, r, g.Token, true); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Break of a hold that was released: %v; the answer must be ErrGone", err)
	}
	next := t.ask(r.Name)
	b.free(next)
	if err := t.breakError(b, r, g.Token, true); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Break of a hold that was released, while another holds: %v; the answer must be ErrGone", err)
	}
	a.taken(t.ask(r.Name))
	b.release(next)
}

func breakGently(t *trial) {
	a, b := t.open(), t.open()
	r := t.ask(t.name("lock"))
	g := a.grant(r)
	t.breaks(b, r, g.Token, false)
	t.breaks(b, r, g.Token, false) // again is no error: it is still there
	b.taken(t.ask(r.Name))
	if inspector, ok := b.Store.(driver.Inspector); ok {
		info, err := inspector.Inspect(t.ctx, r.Name, r.Mode)
		if err != nil || len(info.Holders) != 1 || !info.Holders[0].Broken {
			t.Errorf("Inspect of a lock whose hold is broken shows %+v, %v; its holder is Broken", info, err)
		}
	}
	a.release(r)
	next := t.ask(r.Name)
	if after := b.free(next); after.Token <= g.Token {
		t.Errorf("token %d was granted after token %d was broken; later tokens are greater", after.Token, g.Token)
	}
	b.release(next)
}

func brokenRunsOut(t *trial) {
	a, b := t.open(), t.open()
	r := t.short(t.ask(t.name("lock")))
	g := a.grant(r)
	t.breaks(b, r, g.Token, false)
	w := b.queue(t.ask(r.Name))
	refused := make(chan error, 1)
	go func() {
		for {
			_, err := g.Lease.Renew(t.ctx, t.long)
			if err == nil || errors.Is(err, driver.ErrGone) || driver.Sleep(t.ctx, 20*time.Millisecond) != nil {
				refused <- err
				return
			}
		}
	}()
	after := w.granted()
	b.notBefore(g)
	if after.Token <= g.Token {
		t.Errorf("token %d was granted after token %d was broken; later tokens are greater", after.Token, g.Token)
	}
	if in(t, "ErrGone from the renewal of a hold that has moved on", refused) == nil {
		t.Error("L4: a broken hold was renewed")
	}
	b.release(w.r)
}

func breakNow(t *trial) {
	a, b := t.open(), t.open()
	r := t.ask(t.name("lock"))
	g := a.grant(r)
	t.breaks(b, r, g.Token, true)
	next := t.ask(r.Name)
	if after := b.free(next); after.Token <= g.Token {
		t.Errorf("token %d was granted after token %d was broken; later tokens are greater", after.Token, g.Token)
	}
	a.gone(r)
	b.taken(t.ask(r.Name))
	b.release(next)
}

func breakNowKeep(t *trial) {
	a, b := t.open(), t.open()
	r := t.ask(t.name("lock"))
	r.Keep = time.Hour
	g := a.grant(r)
	t.breaks(b, r, g.Token, true)
	b.free(t.ask(r.Name))
}

func breakGentlyKeep(t *trial) {
	a, b := t.open(), t.open()
	r := t.ask(t.name("lock"))
	r.Keep = t.keepFor()
	g := a.grant(r)
	t.breaks(b, r, g.Token, false)
	w := b.begin(t.ask(r.Name))
	a.release(r)
	w.granted()
	b.notKept(g, r)
	b.release(w.r)
}

func brokenHasEnded(t *trial) {
	a, b := t.open(), t.open()
	r := t.short(t.ask(t.name("lock")))
	g := a.grant(r)
	t.breaks(b, r, g.Token, false)
	told := false // a driver may know it from an earlier renewal only, and a busy machine may be too late for that
	both := func() bool {
		_, err := g.Lease.Renew(t.ctx, t.long)
		gone, broken := errors.Is(err, driver.ErrGone), errors.Is(err, driver.ErrBroken)
		if !broken && (told || !gone) {
			t.Fatalf("Renew of a hold that was broken: %v; the answer must be *driver.Broken, also when it has ended", err)
		}
		told = true
		return gone
	}
	t.until("ErrGone from the renewal of a broken hold, because it has run out", both)
	a.notBefore(g)
	b.free(t.ask(r.Name))
	if !both() {
		t.Error("Renew of a broken hold does not say ErrGone once another holds the lock")
	}
}

func breakEndsGeneration(t *trial) {
	a, b := t.open(), t.open()
	name := t.name("lock")
	first := t.askShared(name)
	g := a.grant(first)
	t.breaks(b, first, g.Token, false)
	second := b.begin(t.askShared(name))
	select { // it is granted beside the broken one, or waits for that to end
	case <-second.done:
	case <-second.waiting:
	case <-t.ctx.Done():
		t.Fatal("a reader that comes after a Break is neither granted the lock nor waits")
	}
	a.release(first)
	after := second.granted()
	if after.Token <= g.Token {
		t.Errorf("a reader that came after token %d was broken got token %d; it must be greater", g.Token, after.Token)
	}
	third := t.askShared(name)
	if beside := a.grant(third); beside.Token != after.Token {
		t.Errorf("readers that overlap have tokens %d and %d; they share the token of their generation", after.Token, beside.Token)
	}
	a.release(third)
	b.release(second.r)
}

func brokenIsTold(t *trial) {
	a, b := t.open(), t.open()
	for _, now := range []bool{false, true} {
		r := t.ask(t.name("lock, now %v", now))
		told := make(chan error, 8)
		r.Lost = func(err error) { told <- err }
		g := a.grant(r)
		t.breaks(b, r, g.Token, now)
		if t.guarantees.Session > 0 || g.Lease == nil { // the renewal of a session cannot tell of one hold; without one only Lost can
			if err := in(t, "Lost, of a hold that was broken", told); !isBroken(err, now) {
				t.Errorf("Lost was called with %v; it must be *driver.Broken by the breaker", err)
			}
		} else {
			for range 2 {
				if _, err := g.Lease.Renew(t.ctx, t.long); !isBroken(err, now) {
					t.Errorf("Renew of a broken hold, now %v: %v; the answer must be *driver.Broken by the breaker", now, err)
				}
			}
		}
		a.undo(r)
		b.free(t.ask(r.Name))
		if n := len(told); n > 1 {
			t.Errorf("Lost was called %d times; it is called at most once", n)
		} else if n == 1 && !errors.Is(<-told, driver.ErrBroken) {
			t.Error("Lost was called with another error than *driver.Broken")
		}
	}
}

// isBroken reports whether err tells that the hold was broken, and by whom. Freed at once it is gone, too, and the store may have
// forgotten why.
func isBroken(err error, now bool) bool {
	var broken *driver.Broken
	if !errors.As(err, &broken) {
		return now && errors.Is(err, driver.ErrGone)
	}
	return broken.By == "the breaker" && errors.Is(err, driver.ErrGone) == now
}

func breakReaders(t *trial) {
	a, b := t.open(), t.open()
	name := t.name("lock")
	first, second, writer := t.askShared(name), t.askShared(name), t.ask(name)
	g := a.grant(first)
	b.grant(second)
	w := a.queue(writer)
	t.breaks(b, first, g.Token, true)
	after := w.granted()
	if after.Token <= g.Token {
		t.Errorf("token %d was granted after token %d was broken; later tokens are greater", after.Token, g.Token)
	}
	a.gone(first)
	b.gone(second)
	a.release(writer)
	next := t.askShared(name)
	if later := b.free(next); later.Token <= after.Token {
		t.Errorf("token %d was granted to a reader after token %d; tokens rise", later.Token, after.Token)
	}
	b.release(next)
}

func breakPermits(t *trial) {
	a, b := t.open(), t.open()
	name := t.name("permits")
	first, second := t.askPermits(name, 1, 2), t.askPermits(name, 1, 2)
	g := a.grant(first)
	a.grant(second)
	t.breaks(b, first, g.Token, true)
	b.free(t.askPermits(name, 1, 2))
	b.taken(t.askPermits(name, 1, 2))
	a.gone(first)
	a.release(second)
}

func breakServesNext(t *trial) {
	a, b := t.open(), t.open()
	name := t.name("lock")
	r := t.ask(name)
	g := a.grant(r)
	waiters := queueUp(t, name, []*client{b}, 2)
	t.breaks(a, r, g.Token, true)
	waiting := map[*waiter]bool{waiters[0]: true, waiters[1]: true}
	for len(waiting) > 0 {
		w := anyGranted(t, waiting)
		delete(waiting, w)
		w.granted()
		w.c.release(w.r)
	}
	a.free(t.ask(name))
}
