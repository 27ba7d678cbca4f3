package locktest

import (
	"holdfast.dev/driver"
)

var readers = topic{"readers", []casus{
	{"together", shared, readersTogether,
		"G: shared holds are granted together, and keep writers out until the last has ended"},
	{"writer", shared, writerKeepsReadersOut,
		"G: an exclusive hold keeps readers out"},
	{"fairness", shared | fifo, readersDoNotOvertake,
		"A: readers do not overtake a writer that waits"},
	{"batch", shared | fifo, readersAfterWriter,
		"A: after a writer all readers up to the next writer are granted together"},
	{"generation", shared | tokens, generations,
		"G: readers that overlap share one token, greater than that of every earlier writer, less than that of every later one"},
	{"ownttl", shared | ownTTL, readersOwnTTL,
		"G: each reader has a TTL of its own"},
	{"expiry", shared | ownTTL, readersRunOut,
		"G: a writer is granted when the last reader has run out"},
	{"owner", shared, readerReleasesItself,
		"R3: Release of a reader frees nothing but its own hold"},
}}

func readersTogether(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	first, second, third := t.askShared(name), t.askShared(name), t.askShared(name)
	a.free(first)
	a.free(second)
	b.free(third)
	b.taken(t.ask(name))
	a.release(first)
	b.release(third)
	b.taken(t.ask(name))
	a.release(second)
	b.free(t.ask(name))
}

func writerKeepsReadersOut(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	writer := t.ask(name)
	a.grant(writer)
	a.taken(t.askShared(name))
	b.taken(t.askShared(name))
	reader := b.queue(t.askShared(name))
	a.release(writer)
	reader.granted()
	a.taken(t.ask(name))
	b.release(reader.r)
}

func readersDoNotOvertake(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	reading := t.askShared(name)
	a.grant(reading)
	writer := b.queue(t.ask(name))
	a.taken(t.askShared(name)) // without patience
	late := a.queue(t.askShared(name))
	writer.waits()
	a.release(reading)
	writer.granted()
	late.waits()
	b.release(writer.r)
	late.granted()
	a.release(late.r)
}

func readersAfterWriter(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	writing := t.ask(name)
	a.grant(writing)
	first := []*waiter{a.queue(t.askShared(name)), b.queue(t.askShared(name)), b.queue(t.askShared(name))}
	writer := a.queue(t.ask(name))
	second := b.queue(t.askShared(name))
	a.release(writing)
	for _, w := range first {
		w.granted() // without any of them having released
	}
	writer.waits()
	second.waits()
	for _, w := range first {
		w.c.release(w.r)
	}
	writer.granted()
	second.waits()
	a.release(writer.r)
	second.granted()
	b.release(second.r)
}

func generations(t *trial) {
	name, rising := t.name("lock"), ladder{t: t}
	a, b := t.open(), t.open()
	for range 3 {
		writer := t.ask(name)
		rising.step(a.grant(writer))
		a.release(writer)

		reader, c := t.askShared(name), a
		first := c.grant(reader)
		rising.step(first)
		for _, other := range []*client{b, b, a} { // each overlaps with the one before
			next := t.askShared(name)
			if g := other.grant(next); g.Token != first.Token {
				t.Fatalf("readers that overlap have tokens %d and %d; they share the token of their generation", first.Token, g.Token)
			}
			c.release(reader)
			reader, c = next, other
		}
		c.release(reader)
	}
}

func readersOwnTTL(t *trial) {
	a, b := t.open(), t.open()
	for _, longFirst := range []bool{true, false} {
		name := t.name("lock, long first %v", longFirst)
		brief, lasting := t.short(t.askShared(name)), t.askShared(name)
		var stays, goes *driver.Grant
		if longFirst {
			stays = a.grant(lasting)
		}
		goes = b.grant(brief)
		if !longFirst {
			stays = a.grant(lasting)
		}
		t.until("the end of the reader whose TTL is short", func() bool { return b.ended(goes) })
		b.notBefore(goes)
		b.gone(brief)
		if a.ended(stays) {
			t.Fatal("the reader whose TTL is long ended with the one whose TTL is short")
		}
		a.renew(stays, t.long)
		b.taken(t.ask(name))
		a.release(lasting)
		b.free(t.ask(name))
	}
}

func readersRunOut(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	first := a.grant(t.short(t.askShared(name)))
	last := t.askShared(name)
	last.TTL = 2 * t.ttl
	second := a.grant(last)
	writer := b.queue(t.ask(name))
	writer.granted()
	b.notBefore(first)
	b.notBefore(second)
	b.taken(t.askShared(name))
	b.release(writer.r)
}

func readerReleasesItself(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	first, second := t.askShared(name), t.askShared(name)
	a.grant(first)
	b.grant(second)
	b.gone(t.askShared(name)) // an attempt that never was
	a.release(first)
	a.gone(first)
	b.taken(t.ask(name))
	b.release(second)
}
