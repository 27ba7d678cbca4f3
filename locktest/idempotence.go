package locktest

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
