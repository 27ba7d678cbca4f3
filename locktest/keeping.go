package locktest

import (
	"errors"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var keeping = topic{"keeping", []casus{
	{"released", keep, keptAfterRelease,
		"R4: a hold with Keep stays taken, by nobody, after its release, until Keep is over since the grant"},
	{"expired", keep | ownTTL, keptAfterExpiry,
		"G: Keep is written with the grant, so that the holder's end does not skip it"},
	{"undone", keep, undoneIsNotKept,
		"R4: a grant that is undone (Keep is zero in Release) is not kept: nobody ran under it"},
	{"over", keep, keepIsOver,
		"R4: a hold that lasted longer than its Keep is free at its release"},
	{"minhold", keep, minHoldKeeps,
		"O6: MinHold keeps the lock taken after Unlock, until its time is over since the grant"},
	{"shown", keep | inspector, keptIsShown,
		"G: what is kept is shown as Kept, with the time that is left"},
}}

// keepFor is long enough to be noticed.
func (t *trial) keepFor() time.Duration { return max(t.ttl, time.Second) }

func keptAfterRelease(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	r.Keep = t.keepFor()
	g := a.grant(r)
	waiting := b.queue(t.ask(name))
	a.release(r)
	a.gone(r)
	waiting.granted()
	b.notKept(g, r)
	b.release(waiting.r)
	b.free(t.ask(name))
}

// notKept ends the case if the hold is still to be kept now. Keep counts from the grant, which was not before Asked.
func (c *client) notKept(g *driver.Grant, r *driver.Request) {
	c.t.Helper()
	if left := g.Asked.Add(r.Keep).Sub(c.Clock().Now()); left > 0 {
		c.t.Fatalf("the lock was granted to another %v before its Keep of %v was over", left, r.Keep)
	}
}

func keptAfterExpiry(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.short(t.ask(name))
	r.Keep = 3 * t.ttl
	g := a.grant(r)
	w := b.queue(t.ask(name))
	t.until("ErrGone, because the hold has run out", func() bool { return a.ended(g) })
	a.gone(r)
	w.granted()
	b.notKept(g, r)
}

func undoneIsNotKept(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	r.Keep = time.Hour
	a.grant(r)
	undone := *r
	undone.Keep = 0
	a.release(&undone)
	b.free(t.ask(name))
}

func keepIsOver(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	r.Keep = 10 * time.Millisecond
	a.grant(r)
	a.pass(a.Clock().Now(), r.Keep)
	a.release(r)
	t.until("a lock that is free, because its Keep is over", func() bool {
		next := t.ask(name)
		next.NoWait = true
		b.tidy(next)
		_, err := b.Acquire(t.ctx, next)
		if err != nil && !errors.As(err, new(*driver.Held)) {
			t.Fatalf("Acquire without waiting: %v", err)
		}
		return err == nil
	})
}

func keptIsShown(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	r.Keep = time.Minute
	token := a.grant(r).Token
	a.release(r)
	for _, h := range append(b.taken(t.ask(name)).Holders, t.inspect(b, name, driver.Exclusive).Holders...) {
		if !h.Kept || h.Token != token || h.Left <= 0 || h.Left > r.Keep {
			t.Errorf("a lock that is kept shows %+v; it has token %d, is Kept, and at most %v are left", h, token, r.Keep)
		}
	}
	if n := len(t.inspect(b, name, driver.Exclusive).Holders); n != 1 {
		t.Errorf("Inspect of a lock that is kept shows %d holders; it shows the one that is Kept", n)
	}
	undone := *r
	undone.Keep = 0
	a.releaseError(&undone)
}

func minHoldKeeps(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	clock := t.open().Clock()
	minHold := t.keepFor()
	from := clock.Now() // before the grant
	hold := t.lock(mine, name, holdfast.MinHold(minHold))
	t.unlock(hold)
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("Unlock, again: %v; it must be ErrReleased", err)
	}
	next := t.lock(others, name)
	if early := from.Add(minHold).Sub(clock.Now()); early > 0 {
		t.Errorf("another was granted the lock %v before its MinHold of %v was over", early, minHold)
	}
	t.unlock(next)
}
