package locktest

import (
	"errors"

	"holdfast.dev/driver"
)

var idempotence = topic{"idempotence", []casus{
	{"holding", 0, repeatedWhileHolding,
		"A1: repeated for an attempt that holds, Acquire goes on with that one: the same token, its TTL begun anew"},
	{"waiting", 0, repeatedWhileWaiting,
		"A1: repeated for an attempt that waits, Acquire goes on with that one; overlapping calls get the same grant"},
	{"place", fifo, repeatedKeepsPlace,
		"A1: an attempt that is asked for again after its call was cut off keeps its place in the queue"},
	{"client", ownTTL, repeatedOnAnotherClient,
		"A1: an attempt is the same attempt on whatever client it is repeated"},
	{"renews", ownTTL, repeatedRenews,
		"A1: repeated for an attempt that holds, Acquire begins its TTL anew"},
	{"permits", permitting, repeatedTakesNoMorePermits,
		"A1: repeated for an attempt that holds permits, Acquire takes no more of them"},
	{"reader", shared, repeatedReaderIsOne,
		"A1: repeated for a reader, Acquire adds no second hold"},
	{"mode", shared, anotherModeIsRefused,
		"A1: an attempt that comes back with another mode is ErrRequest, and what it has stays as it is"},
	{"number", permitting, anotherNumberIsRefused,
		"A1: an attempt that comes back with another N is ErrRequest, and what it has stays as it is"},
	{"broken", breaker | tokens | ownTTL, repeatedDoesNotRenewBroken,
		"A1: repeated for an attempt whose hold was broken, Acquire does not renew it: it runs out"},
}}

func repeatedWhileHolding(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	first := a.grant(r)
	for range 3 {
		again := a.grant(r)
		if again.Token != first.Token {
			t.Fatalf("a second grant: one attempt got token %d and then %d", first.Token, again.Token)
		}
		if again.Asked.Before(first.Asked) {
			t.Fatal("the repeated request was asked before the first one: Asked is that of the request that was granted")
		}
		b.taken(t.ask(name))
	}
	a.release(r) // one Release ends it, however often it was asked for
	a.gone(r)
	b.free(t.ask(name))
}

func repeatedWhileWaiting(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder, r := t.ask(name), t.ask(name)
	a.grant(holder)
	calls := []*waiter{b.queue(r), b.queue(r), b.queue(r)}
	last := a.queue(t.ask(name))
	a.release(holder)
	if !t.guarantees.FIFO { // the other one may be first: let it go
		a.releaseError(last.r)
	}
	token := calls[2].granted().Token
	for _, w := range calls {
		if got := w.granted().Token; got != token {
			t.Fatalf("overlapping calls of one attempt got tokens %d and %d", token, got)
		}
	}
	a.taken(t.ask(name))
	b.release(r)
	if t.guarantees.FIFO {
		last.granted()
		a.release(last.r)
	}
	b.gone(r)
	b.free(t.ask(name))
}

func repeatedKeepsPlace(t *trial) {
	name := t.name("lock")
	a, b, c := t.open(), t.open(), t.open()
	holder, r := t.ask(name), t.ask(name)
	a.grant(holder)
	b.queue(r).cancelled()
	behind := c.queue(t.ask(name))
	again := b.queue(r)
	a.release(holder)
	again.granted()
	behind.waits()
	b.release(r)
	behind.granted()
	c.release(behind.r)
}

func repeatedOnAnotherClient(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	first := a.grant(r)
	again := b.grant(r)
	if again.Token != first.Token {
		t.Fatalf("a second grant: one attempt got token %d, and on another client %d", first.Token, again.Token)
	}
	b.renew(again, t.long)
	a.renew(first, t.long)
	b.release(r)
	a.gone(r)
	if !a.ended(first) {
		t.Error("the lease of the first client does not know that the attempt was released on the second")
	}
	a.free(t.ask(name))
}

func repeatedRenews(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.ask(name)
	r.TTL = 2 * t.ttl
	first := a.grant(r)
	a.pass(first.Asked, t.ttl)
	again := a.grant(r)
	a.pass(first.Asked, first.TTL) // the first TTL is over
	b.takenBy(again, t.ask(name))
	w := b.begin(t.ask(name))
	w.granted()
	b.notBefore(again)
	b.release(w.r)
}

func repeatedTakesNoMorePermits(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	r := t.askPermits(name, 2, 4)
	first := a.grant(r)
	if again := a.grant(r); again.Token != first.Token {
		t.Fatalf("a second grant: one attempt got token %d and then %d", first.Token, again.Token)
	}
	other := t.askPermits(name, 2, 4)
	b.free(other)
	a.release(r)
	b.free(t.askPermits(name, 2, 4))
	b.taken(t.askPermits(name, 1, 4))
}

func repeatedReaderIsOne(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	r := t.askShared(name)
	first := a.grant(r)
	if again := a.grant(r); again.Token != first.Token {
		t.Fatalf("a second grant: one attempt got token %d and then %d", first.Token, again.Token)
	}
	a.release(r)
	a.gone(r)
	b.free(t.ask(name))
}

// refused asks for something else than what an attempt has asked for before, with a change that must be refused.
func (c *client) refused(r *driver.Request, change func(*driver.Request)) {
	c.t.Helper()
	other := *r
	other.NoWait = true
	change(&other)
	c.tidy(&other)
	if _, err := c.Acquire(c.t.ctx, &other); !errors.Is(err, driver.ErrRequest) || !driver.Answered(err) {
		c.t.Errorf("Acquire of %s for an attempt that holds %s: %v; the answer must be ErrRequest", what(&other), what(r), err)
	}
}

func anotherModeIsRefused(t *trial) {
	a, b := t.open(), t.open()
	for _, modes := range [][2]driver.Mode{{driver.Exclusive, driver.Shared}, {driver.Shared, driver.Exclusive}} {
		r := t.ask(t.name("lock, %v", modes[0]))
		r.Mode = modes[0]
		g := a.grant(r)
		a.refused(r, func(r *driver.Request) { r.Mode = modes[1] })
		b.taken(t.ask(r.Name))
		if again := a.grant(r); again.Token != g.Token {
			t.Errorf("the attempt had token %d, and has %d after something else was refused to it", g.Token, again.Token)
		}
		a.release(r)
		b.free(t.ask(r.Name))
	}
}

func anotherNumberIsRefused(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	r := t.askPermits(name, 2, 4)
	a.grant(r)
	for _, n := range []int{1, 3, 4} {
		a.refused(r, func(r *driver.Request) { r.N = n })
	}
	b.taken(t.askPermits(name, 3, 4)) // it still has two
	rest := t.askPermits(name, 2, 4)
	b.free(rest) // and no more than two
	b.release(rest)
	a.release(r)
}

func repeatedDoesNotRenewBroken(t *trial) {
	a, b := t.open(), t.open()
	r := t.short(t.ask(t.name("lock")))
	g := a.grant(r)
	t.breaks(b, r, g.Token, false)
	again := *r
	again.NoWait = true
	until := promised(g.Asked, g.TTL)
	// It is asked for far more often than once in a TTL, so a hold that is renewed would never end.
	t.until("the end of a broken hold that is asked for again and again", func() bool {
		got, err := a.Acquire(t.ctx, &again)
		if err != nil && !driver.Answered(err) {
			t.Fatalf("Acquire, repeated for a hold that was broken: %v", err)
		}
		if err != nil || got.Token != g.Token { // it has ended; with a new token it was granted anew, which is right
			return true
		}
		until = max(until, promised(got.Asked, got.TTL))
		return false
	})
	if early := until.Sub(a.Clock().Now()); early > 0 {
		t.Errorf("a broken hold, asked for again, has ended %v before it was to run out", early)
	}
}
