package locktest

import (
	"errors"
	"time"

	"holdfast.dev/driver"
)

// What a driver says of a hold's time must be true to the last moment: the client gives its margin away because clocks do not run
// alike, not because drivers round. So here nobody renews, somebody waits for the lock, and when that one has it the time must be
// over, without any margin.
var validity = topic{"validity", []casus{
	{"direct", ownTTL, directGrantIsKept,
		"G, T1: Grant.TTL is never more than what the store keeps the hold for, counted from Asked"},
	{"waited", ownTTL, waitedGrantIsKept,
		"G, T6: a grant after a wait promises no more than what the store keeps from then on"},
	{"repeated", ownTTL, repeatedGrantIsKept,
		"G, A1: a repeated grant promises no more than what the store keeps from the repetition on"},
	{"renewed", ownTTL, renewalIsKept,
		"L3: Renew reports no more than what the store keeps the hold for, counted from the call"},
	{"late", ownTTL, lateReplyIsNotNew,
		"G, T1: Asked is the clock before the request went out, not when its answer came, which can be old"},
}}

// promised is when a hold may run out, according to what was said at from. A clock that is being set right by slewing runs wrong by
// a two-thousandth: that much neither side can know.
func promised(from driver.Instant, ttl time.Duration) driver.Instant { return from.Add(ttl - ttl/2000) }

// nextNotBefore waits until another has the lock that r holds, which nobody renews, and ends the case if that is before the hold
// was to run out. The other one may come too late to wait, on a busy machine: then it is granted at once, and that is as good.
func (c *client) nextNotBefore(r *driver.Request, until driver.Instant) {
	c.t.Helper()
	next := *r
	next.Attempt, next.TTL = c.t.attempts.Next(), c.t.long
	w := c.begin(&next)
	w.granted()
	if early := until.Sub(c.Clock().Now()); early > 0 {
		c.t.Fatalf("the lock was granted to another %v before its holder, which was not released, was to run out", early)
	}
	c.release(w.r)
}

func directGrantIsKept(t *trial) {
	a, b := t.open(), t.open()
	r := t.short(t.ask(t.name("lock")))
	g := a.grant(r)
	b.nextNotBefore(r, promised(g.Asked, g.TTL))
}

func waitedGrantIsKept(t *trial) {
	a, b := t.open(), t.open()
	for _, wait := range []time.Duration{0, t.ttl / 4} { // what has waited for long may be confirmed before it is believed
		name := t.name("lock, wait %v", wait)
		holder := t.ask(name)
		b.grant(holder)
		w := a.queue(t.short(t.ask(name)))
		a.pass(a.Clock().Now(), wait)
		b.release(holder)
		g := w.granted()
		b.nextNotBefore(w.r, promised(g.Asked, g.TTL))
	}
}

func repeatedGrantIsKept(t *trial) {
	a, b := t.open(), t.open()
	r := t.short(t.ask(t.name("lock")))
	first := a.grant(r)
	a.pass(first.Asked, t.ttl/4)
	again := a.grant(r)
	b.nextNotBefore(r, promised(again.Asked, again.TTL))
}

func renewalIsKept(t *trial) {
	a, b := t.open(), t.open()
	r := t.short(t.ask(t.name("lock")))
	g := a.grant(r)
	until := promised(g.Asked, g.TTL)
	for _, ttl := range []time.Duration{t.ttl, 0} { // it is asked for, and asked about
		called := a.Clock().Now()
		left, err := g.Lease.Renew(t.ctx, ttl)
		if errors.Is(err, driver.ErrGone) && !a.Clock().Now().Before(until) {
			return // the machine was too busy to renew in time
		}
		if err != nil {
			t.Fatalf("Renew of a hold that has not ended: %v", err)
		}
		until = max(until, promised(called, left))
	}
	b.nextNotBefore(r, until)
}

// A driver may ask again when an answer has been on its way for long, and count from then on: so what is judged is not Asked itself
// but whether the store keeps the hold for as long as Asked says.
func lateReplyIsNotNew(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	direct := t.open()
	linked.warm()
	r := t.ask(name)
	r.TTL = 6 * t.ttl // a busy machine may stand still for a while before the answer is let through
	faults.HoldReplies()
	w := linked.begin(r)
	direct.pass(direct.Clock().Now(), t.ttl) // before arrives looks: else that could be first, and make it wait
	t.arrives(direct, r)
	faults.Resume()
	g := w.granted()
	direct.nextNotBefore(r, promised(g.Asked, g.TTL))
}
