package locktest

import (
	"fmt"

	"holdfast.dev/driver"
)

var order = topic{"order", []casus{
	{"fifo", fifo, firstComeFirstServed,
		"A: waiters are served first come first served, on whatever client they wait"},
	{"newcomers", fifo, newcomersWaitBehind,
		"A: a newcomer does not overtake those who wait"},
	{"everybody", 0, everybodyIsServed,
		"A: every waiter is served in the end"},
	{"place", fifo, placesCount,
		"G: Progress.Place counts from 1, the next"},
}}

// queueUp queues n waiters one after the other, on several clients.
func queueUp(t *trial, name string, clients []*client, n int) []*waiter {
	t.Helper()
	var waiters []*waiter
	for i := range n {
		r := t.ask(name)
		r.Label = fmt.Sprint("waiter ", i)
		waiters = append(waiters, clients[i%len(clients)].queue(r))
	}
	return waiters
}

func firstComeFirstServed(t *trial) {
	name := t.name("lock")
	clients := []*client{t.open(), t.open(), t.open()}
	holder := t.ask(name)
	clients[0].grant(holder)
	waiters := queueUp(t, name, clients, 9)
	clients[0].release(holder)
	serveInOrder(t, waiters)
}

// serveInOrder expects that each is granted when the one before has released, while those behind still wait.
func serveInOrder(t *trial, waiters []*waiter) {
	t.Helper()
	for i, w := range waiters {
		w.granted()
		for _, behind := range waiters[i+1:] {
			behind.waits()
		}
		w.c.release(w.r)
	}
}

func newcomersWaitBehind(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	waiters := queueUp(t, name, []*client{a, b}, 3)
	a.release(holder)
	for i := range 6 { // whenever the first is served, newcomers come: with patience and without
		first := waiters[0]
		first.granted()
		a.taken(t.ask(name))
		waiters = append(waiters[1:], queueUp(t, name, []*client{[]*client{a, b}[i%2]}, 1)...)
		waiters[0].waits()
		first.c.release(first.r)
	}
	serveInOrder(t, waiters)
}

func everybodyIsServed(t *trial) {
	name := t.name("lock")
	clients := []*client{t.open(), t.open()}
	holder := t.ask(name)
	clients[0].grant(holder)
	waiting := make(map[*waiter]bool)
	for _, w := range queueUp(t, name, clients, 12) {
		waiting[w] = true
	}
	clients[0].release(holder)
	for len(waiting) > 0 {
		w := anyGranted(t, waiting)
		delete(waiting, w)
		w.granted()
		w.c.release(w.r)
	}
	clients[1].free(t.ask(name))
}

func placesCount(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	for i := range 3 {
		first := in(t, "Request.Waiting of a waiter", b.begin(t.ask(name)).waiting)
		if first.Place != 0 && first.Place != i+1 {
			t.Errorf("the waiter behind %d others was told place %d; 1 is the next, 0 is not known", i, first.Place)
		}
		for _, h := range first.Holders {
			if h.Kept || h.Mode != driver.Exclusive {
				t.Errorf("a waiter was told the holder %+v; it is an exclusive hold", h)
			}
		}
	}
	a.release(holder)
}
