package locktest

import (
	"fmt"
	"time"

	"holdfast.dev/driver"
)

var waking = topic{"waking", []casus{
	{"own", 0, eachWakesForItself,
		"A: each waiter returns with its own grant, when the store has granted it, and not before"},
	{"one", 0, oneReleaseServesOne,
		"A: one release serves one waiter"},
	{"names", 0, othersSleepOn,
		"A: a release of one lock wakes nobody who waits for another"},
	{"old", ownTTL, oldPushIsNotBelieved,
		"T6: a grant whose message was on its way for longer than its TTL is not believed"},
	{"cancelled", 0, leaverDoesNotKeepTheTurn,
		"A: a hand-over that meets a waiter who leaves goes on to the next"},
}}

func eachWakesForItself(t *trial) {
	name := t.name("lock")
	clients := []*client{t.open(), t.open()}
	holder := t.ask(name)
	top := clients[0].grant(holder).Token
	waiting := make(map[*waiter]bool)
	for _, w := range queueUp(t, name, clients, 8) {
		waiting[w] = true
	}
	clients[0].release(holder)
	for len(waiting) > 0 {
		w := anyGranted(t, waiting)
		delete(waiting, w)
		g := w.granted()
		if t.guarantees.Fencing != driver.FencingNone && g.Token <= top {
			t.Errorf("%s returned with token %d, which is not greater than %d: it is not its own grant", w.r.Label, g.Token, top)
		}
		top = g.Token
		t.isHeldBy(clients[1], name, w.r.Label, g.Token)
		// The store knows this attempt as the holder: asked again it is granted, with the same token.
		if again := w.c.free(w.r); again.Token != g.Token {
			t.Errorf("%s returned with token %d, but the store has given it token %d", w.r.Label, g.Token, again.Token)
		}
		for other := range waiting {
			other.waits()
		}
		w.c.release(w.r)
	}
}

// isHeldBy checks who holds the lock, on a store that can show it.
func (t *trial) isHeldBy(c *client, name, label string, token uint64) {
	t.Helper()
	inspector, ok := c.Store.(driver.Inspector)
	if !ok {
		return
	}
	info, err := inspector.Inspect(t.ctx, name, driver.Exclusive)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	if len(info.Holders) != 1 || info.Holders[0].Label != label || info.Holders[0].Token != token {
		t.Errorf("%s returned with token %d, but Inspect shows the holders %+v", label, token, info.Holders)
	}
}

func oneReleaseServesOne(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	current, c := t.ask(name), a
	c.grant(current)
	waiting := make(map[*waiter]bool)
	for _, w := range queueUp(t, name, []*client{a, b}, 4) {
		waiting[w] = true
	}
	for len(waiting) > 0 {
		c.release(current)
		w := anyGranted(t, waiting)
		delete(waiting, w)
		w.granted()
		b.taken(t.ask(name)) // a question of its own: time for a second grant to show
		for other := range waiting {
			other.waits()
		}
		current, c = w.r, w.c
	}
	c.release(current)
}

func othersSleepOn(t *trial) {
	c := t.open()
	var holders []*driver.Request
	var waiters []*waiter
	for i := range 4 {
		name := t.name("lock %d", i)
		holder := t.ask(name)
		c.grant(holder)
		r := t.ask(name)
		r.Label = fmt.Sprint("waiter ", i)
		holders, waiters = append(holders, holder), append(waiters, c.queue(r))
	}
	for _, i := range []int{2, 0, 3, 1} {
		c.release(holders[i])
		waiters[i].granted()
		c.release(waiters[i].r)
		holders[i] = nil
		for j, h := range holders {
			if h != nil {
				waiters[j].waits()
			}
		}
	}
}

func leaverDoesNotKeepTheTurn(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	for range 20 {
		holder := t.ask(name)
		a.grant(holder)
		leaver, next := b.queue(t.ask(name)), a.queue(t.ask(name))
		go leaver.cancel()
		a.release(holder)
		in(t, "the return of an Acquire whose context has ended, or whose turn it was", leaver.done)
		b.undo(leaver.r) // it waits or holds, or has been passed over
		next.granted()
		a.release(next.r)
	}
}

func oldPushIsNotBelieved(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	direct := t.open()
	holder := t.ask(name)
	direct.grant(holder)
	w := linked.queue(t.short(t.ask(name)))
	faults.HoldReplies()
	direct.release(holder)
	driver.Sleep(t.ctx, t.ttl) // the waiter is granted the lock meanwhile, does not hear of it, and so loses it again
	next := t.ask(name)
	direct.grant(next)
	faults.Resume()
	// It may return the old grant, find out that it is old and go on waiting, or fail. It must not return a grant to be believed.
	select {
	case <-w.done:
	case <-time.After(t.ttl):
	}
	w.cancel()
	in(t, "the return of an Acquire whose context has ended", w.done)
	if w.err == nil {
		if left := end(w.grant).Sub(linked.Clock().Now()); left > 0 {
			t.Errorf("a message of a grant arrived when another held the lock, and is believed for another %v", left)
		}
	}
	direct.taken(t.ask(name))
	direct.release(next)
}
