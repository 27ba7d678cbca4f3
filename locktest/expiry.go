package locktest

import (
	"errors"
	"time"

	"holdfast.dev/driver"
)

var expiry = topic{"expiry", []casus{
	{"takeover", ownTTL, unrenewedIsTakenOver,
		"G: a hold that nobody renews runs out after its TTL, not before, and the next is granted"},
	{"waiter", ownTTL, waiterTakesOver,
		"G: a waiter is granted when the hold before it runs out, without further ado"},
	{"dead", ownTTL, endedStaysEnded,
		"L2: a hold that has ended is not brought back: Renew and Release answer ErrGone"},
	{"renewed", ownTTL, renewedStays,
		"L1: a hold that is renewed does not run out"},
	{"longer", ownTTL, renewNeverShortens,
		"L1: Renew never shortens, and Renew(ctx, 0) only asks"},
	{"abandoned", ownTTL, abandonedWaiterGoes,
		"the life of an attempt: a waiter whose caller has been away for longer than its TTL waits no more"},
}}

func unrenewedIsTakenOver(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	old := a.grant(t.short(t.ask(name)))
	r := t.ask(name)
	r.NoWait = true
	t.until("a grant after the hold before it has run out", func() bool {
		_, err := b.Acquire(t.ctx, r)
		if err == nil {
			return true
		}
		if !errors.As(err, new(*driver.Held)) {
			t.Fatalf("Acquire without waiting: %v; the answer must be *driver.Held or a grant", err)
		}
		return false
	})
	b.notBefore(old)
	b.release(r)
}

func waiterTakesOver(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	old := a.grant(t.short(t.ask(name)))
	w := b.queue(t.ask(name))
	w.granted()
	b.notBefore(old)
	b.taken(t.ask(name))
	b.release(w.r)
}

func endedStaysEnded(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.short(t.ask(name))
	g := a.grant(r)
	a.pass(g.Asked, g.TTL)
	t.until("ErrGone, because the hold has run out", func() bool { return a.ended(g) })
	if left, err := g.Lease.Renew(t.ctx, t.long); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Renew of a hold that has run out: %v, %v; the answer must be ErrGone", left, err)
	}
	a.gone(r)
	next := t.ask(name)
	b.free(next)
	if !a.ended(g) {
		t.Error("Renew(ctx, 0) of a hold that has run out answers nil once another holds the lock")
	}
	a.gone(r)
	b.taken(t.ask(name))
	b.release(next)
}

func renewedStays(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	r.TTL = t.steadyTTL()
	first := a.grant(r)
	held := *first
	for a.Clock().Now().Before(first.Asked.Add(first.TTL * 3 / 2)) {
		held.Asked = a.Clock().Now()
		if held.TTL = a.renew(first, r.TTL); held.TTL < r.TTL {
			t.Fatalf("Renew for %v returned %v; a renewal is for at least what was asked for", r.TTL, held.TTL)
		}
		if !b.takenBy(&held, t.ask(name)) {
			return // the machine was too busy to renew in time
		}
		a.pass(held.Asked, t.ttl)
	}
	a.release(r)
}

func renewNeverShortens(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	g := a.grant(r)
	for _, ttl := range []time.Duration{t.ttl, 0} {
		left := a.renew(g, ttl)
		if before := end(g).Sub(a.Clock().Now()); left < before {
			t.Errorf("Renew for %v returned %v, but %v were left before", ttl, left, before)
		}
	}
	a.pass(a.Clock().Now(), t.ttl+t.ttl/2)
	b.taken(t.ask(name))
	if a.ended(g) {
		t.Error("a renewal for less than what was left has shortened the hold")
	}
	a.release(r)
}

func abandonedWaiterGoes(t *trial) {
	name := t.name("lock")
	a, b, c := t.open(), t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	left := b.queue(t.short(t.ask(name)))
	next := c.queue(t.ask(name))
	left.cancelled() // and nobody releases it
	a.pass(a.Clock().Now(), t.ttl)
	t.comesToSee(a, name, 1, 1)
	a.release(holder)
	next.granted()
	a.taken(t.ask(name))
	c.release(next.r)
	b.free(t.ask(name))
	b.gone(left.r)
}
