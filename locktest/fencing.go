package locktest

import (
	"errors"

	"holdfast.dev/driver"
)

var fencing = topic{"fencing", []casus{
	{"release", tokens, tokensRiseAcrossRelease,
		"G: a token is greater than that of every earlier grant of the name: across release and between clients"},
	{"idle", tokens, tokensRiseAcrossIdleness,
		"G: tokens rise across a time in which nobody holds, waits or is connected"},
	{"expiry", tokens | ownTTL, tokensRiseAcrossExpiry,
		"G: tokens rise across expiry"},
	{"undo", tokens, tokensRiseAcrossUndo,
		"G: a grant that was undone used up its token"},
	{"constant", tokens | expires, tokensAreConstant,
		"G: a token is constant over renewals and repeated requests"},
	{"queue", tokens, tokensRiseInQueue,
		"G: waiters that are granted one after the other get rising tokens"},
	{"reserve", tokens | reserve, reservedTokensAreOwn,
		"G: Token+1 … Token+Spare belong to the grant and are never granted to anybody else"},
}}

// A ladder checks that tokens rise.
type ladder struct {
	t   *trial
	top uint64
}

func (l *ladder) step(g *driver.Grant) {
	l.t.Helper()
	if g.Token <= l.top {
		l.t.Fatalf("token %d was granted after token %d; tokens rise with every grant of a name", g.Token, l.top)
	}
	l.top = g.Token + g.Spare
}

func tokensRiseAcrossRelease(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	a, b := t.open(), t.open()
	for range 5 {
		for _, c := range []*client{a, b} {
			r := t.ask(name)
			rising.step(c.grant(r))
			c.release(r)
		}
	}
}

func tokensRiseAcrossIdleness(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	for range 3 {
		c := t.open()
		r := t.ask(name)
		rising.step(c.grant(r))
		c.release(r)
		if err := c.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		c.pass(c.Clock().Now(), min(t.ttl, glimpse)) // what the store keeps only for a moment is gone
	}
}

func tokensRiseAcrossExpiry(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	a, b := t.open(), t.open()
	rising.step(a.grant(t.short(t.ask(name))))
	rising.step(b.grant(t.short(t.ask(name)))) // waits for the first to run out
	r := t.ask(name)
	rising.step(a.grant(r))
	a.release(r)
}

func tokensRiseAcrossUndo(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	a := t.open()
	for range 3 {
		r := t.ask(name)
		rising.step(a.grant(r))
		r.Keep = 0 // undone, as though it had never been granted: but its token may be in use
		a.release(r)
	}
}

func tokensAreConstant(t *trial) {
	name := t.name("lock")
	c := t.open()
	r := t.ask(name)
	first := c.grant(r)
	for range 3 {
		c.renew(first, t.long)
		if again := c.grant(r); again.Token != first.Token {
			t.Fatalf("the token of one attempt was %d and is %d; it is constant", first.Token, again.Token)
		}
	}
	c.release(r)
}

func tokensRiseInQueue(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	a, b := t.open(), t.open()
	holder := t.ask(name)
	rising.step(a.grant(holder))
	waiting := map[*waiter]bool{a.queue(t.ask(name)): true, b.queue(t.ask(name)): true, a.queue(t.ask(name)): true}
	a.release(holder)
	for len(waiting) > 0 {
		w := anyGranted(t, waiting)
		delete(waiting, w)
		rising.step(w.granted())
		w.c.release(w.r)
	}
}

// anyGranted waits until one of several waiters has returned.
func anyGranted(t *trial, waiting map[*waiter]bool) (first *waiter) {
	t.Helper()
	t.until("a grant to one of those who wait", func() bool {
		for w := range waiting {
			select {
			case <-w.done:
				first = w
				return true
			default:
			}
		}
		return false
	})
	return first
}

func reservedTokensAreOwn(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	a, b := t.open(), t.open()
	for range 3 {
		r := t.ask(name)
		r.Reserve = 8
		g := a.grant(r)
		if g.Spare == 0 {
			t.Errorf("8 further tokens were asked for, none was given, but Guarantees promises Reserve")
		}
		rising.step(g)
		if again := a.grant(r); again.Token != g.Token || again.Spare < g.Spare {
			t.Errorf("the grant had token %d and %d spare ones; repeated, it has %d and %d", g.Token, g.Spare, again.Token, again.Spare)
		}
		a.release(r)
		next := t.ask(name)
		rising.step(b.grant(next))
		b.release(next)
	}
	r := t.ask(name)
	r.Reserve = 1<<32 - 1 // a wish, however large, is no error
	if _, err := a.Acquire(t.ctx, r); err != nil && !errors.Is(err, driver.ErrRequest) {
		t.Errorf("Acquire with the largest Reserve: %v; the wish may be cut down, not fail", err)
	}
	a.releaseError(r)
}
