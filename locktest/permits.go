package locktest

import (
	"errors"

	"holdfast.dev/driver"
)

var permits = topic{"permits", []casus{
	{"limit", permitting, permitsAreLimited,
		"G: of a semaphore's permits no more are held than its limit"},
	{"many", permitting, permitsComeTogether,
		"G: N permits are held and freed together"},
	{"tokens", permitting | tokens, permitTokensAreUnique,
		"G: permit holds have unique, rising tokens"},
	{"limits", permitting, differingLimits,
		"G: a limit that differs from the one in use is a *LimitError that names both"},
	{"toomany", permitting, tooManyPermits,
		"A7: more permits than the limit, or none, are a *LimitError before the store is touched"},
	{"fifo", permitting | fifo, manyPermitsAreServed,
		"A: a request for many permits is not starved by smaller ones behind it"},
	{"ownttl", permitting | ownTTL, permitsRunOut,
		"G: each permit hold has a TTL of its own"},
	{"strangers", permitting, semaphoreAndLockAreStrangers,
		"G: the semaphore and the lock of one name are strangers"},
}}

func permitsAreLimited(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	held := []*driver.Request{t.askPermits(name, 1, 3), t.askPermits(name, 1, 3), t.askPermits(name, 1, 3)}
	a.free(held[0])
	b.free(held[1])
	a.free(held[2])
	b.taken(t.askPermits(name, 1, 3))
	w := b.queue(t.askPermits(name, 1, 3))
	a.release(held[2])
	w.granted()
	a.taken(t.askPermits(name, 1, 3))
	a.release(held[0])
	a.free(t.askPermits(name, 1, 3))
	b.taken(t.askPermits(name, 1, 3))
}

func permitsComeTogether(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	two, three := t.askPermits(name, 2, 5), t.askPermits(name, 3, 5)
	a.free(two)
	b.taken(t.askPermits(name, 4, 5))
	b.free(three)
	a.taken(t.askPermits(name, 1, 5))
	a.release(two)
	a.taken(t.askPermits(name, 3, 5))
	a.free(t.askPermits(name, 2, 5))
	b.release(three)
	a.taken(t.askPermits(name, 4, 5))
	a.free(t.askPermits(name, 3, 5))
}

func permitTokensAreUnique(t *trial) {
	name, rising := t.name("permits"), ladder{t: t}
	a, b := t.open(), t.open()
	for range 3 {
		one, two := t.askPermits(name, 1, 2), t.askPermits(name, 1, 2)
		rising.step(a.grant(one))
		rising.step(b.grant(two))
		a.release(one)
		b.release(two)
	}
}

func differingLimits(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	holder := t.askPermits(name, 1, 3)
	a.grant(holder)
	for _, limit := range []int{2, 4} {
		r := t.askPermits(name, 1, limit)
		_, err := b.Acquire(t.ctx, r)
		var differs *driver.LimitError
		if !errors.As(err, &differs) || !driver.Answered(err) {
			t.Fatalf("Acquire with limit %d where 3 is in use: %v; the answer must be *driver.LimitError", limit, err)
		}
		if differs.Want != limit || differs.Have != 3 {
			t.Errorf("LimitError says want %d, have %d; they are %d and 3", differs.Want, differs.Have, limit)
		}
		b.gone(r)
	}
	b.free(t.askPermits(name, 2, 3))
}

func tooManyPermits(t *trial) {
	name := t.name("permits")
	c := t.open()
	for _, ask := range [][2]int{{4, 3}, {0, 3}, {-1, 3}, {1, 0}, {1, -1}} {
		_, err := c.Acquire(t.ctx, t.askPermits(name, ask[0], ask[1]))
		if !errors.As(err, new(*driver.LimitError)) || !errors.Is(err, driver.ErrRequest) {
			t.Errorf("Acquire of %d permits of %d: %v; the answer must be *driver.LimitError", ask[0], ask[1], err)
		}
	}
	c.free(t.askPermits(name, 3, 3))
}

func manyPermitsAreServed(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	held := []*driver.Request{t.askPermits(name, 1, 3), t.askPermits(name, 1, 3)}
	a.grant(held[0])
	a.grant(held[1])
	all := b.queue(t.askPermits(name, 3, 3))
	a.taken(t.askPermits(name, 1, 3)) // one is free, but somebody waits
	small := []*waiter{a.queue(t.askPermits(name, 1, 3)), b.queue(t.askPermits(name, 2, 3))}
	a.release(held[0])
	all.waits()
	a.release(held[1])
	all.granted()
	small[0].waits()
	small[1].waits()
	b.release(all.r)
	small[0].granted()
	small[1].granted()
}

func permitsRunOut(t *trial) {
	name := t.name("permits")
	a, b := t.open(), t.open()
	brief, lasting := t.short(t.askPermits(name, 1, 3)), t.askPermits(name, 1, 3)
	goes := a.grant(brief)
	stays := a.grant(lasting)
	w := b.queue(t.askPermits(name, 2, 3))
	w.granted()
	b.notBefore(goes)
	if a.ended(stays) {
		t.Fatal("the hold whose TTL is long ended with the one whose TTL is short")
	}
	b.taken(t.askPermits(name, 1, 3))
	a.gone(brief)
	a.release(lasting)
	b.free(t.askPermits(name, 1, 3))
}

func semaphoreAndLockAreStrangers(t *trial) {
	name := t.name("both")
	a, b := t.open(), t.open()
	lock, permit := t.ask(name), t.askPermits(name, 1, 1)
	a.free(lock)
	b.free(permit)
	b.taken(t.ask(name))
	a.taken(t.askPermits(name, 1, 1))
	a.release(lock)
	a.taken(t.askPermits(name, 1, 1))
	b.free(t.ask(name))
}
