package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var undo = topic{"undo", []casus{
	{"waiting", 0, releaseBesideAcquire,
		"R1: Release may run beside an Acquire of the same attempt, which then answers ErrGone"},
	{"repeated", 0, lostAnswerIsFoundAgain,
		"A1, A3: a grant whose answer was lost is found again by asking again"},
	{"undone", 0, lostAnswerIsUndone,
		"A3, R: a grant whose answer was lost is undone by Release: at once, although its TTL is long"},
	{"late", lateness, lateAcquireDoesNotStay,
		"R2: an Acquire that arrives after its Release holds for no longer than its TTL"},
	{"crossing", 0, crossing,
		"the race of crossing: when Release of a waiter meets its grant, it afterwards neither waits nor holds"},
	{"lock", 0, unansweredLockIsUndone,
		"O2: a Lock that gave up without an answer is undone: the lock is free long before its TTL is over"},
	{"reader", shared, undoneReader,
		"A3, R: a reader that was undone does not keep the writer out"},
	{"permits", permitting, undonePermits,
		"A3, R: permits that were undone are free"},
}}

// lostAnswer asks for r over a link that holds back replies, and gives up when the store has granted it.
func lostAnswer(t *trial, linked *client, faults Faults, direct *client, r *driver.Request) {
	t.Helper()
	linked.warm()
	faults.HoldReplies()
	asking := linked.begin(r)
	t.arrives(direct, r)
	asking.cancelled()
}

// arrives waits until the store has granted r, whose answer is held back.
func (t *trial) arrives(direct *client, r *driver.Request) {
	t.Helper()
	if !t.guarantees.FIFO { // a request that finds the probe there is not queued, and its sender waits for the answer before it asks again
		driver.Sleep(t.ctx, glimpse)
	}
	t.until("the arrival of a request whose answer is held back", func() bool {
		probe := *r
		probe.Attempt, probe.NoWait, probe.Keep = t.attempts.Next(), true, 0
		probe.N = r.Limit // of permits, all
		if r.Mode == driver.Shared {
			probe.Mode = driver.Exclusive
		}
		_, err := direct.Acquire(t.ctx, &probe)
		direct.releaseError(&probe)
		return errors.As(err, new(*driver.Held))
	})
}

// warm makes sure that a client behind a link is connected before faults begin.
func (c *client) warm() {
	c.t.Helper()
	r := c.t.ask(c.t.name("warm"))
	c.grant(r)
	c.release(r)
}

func releaseBesideAcquire(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	w := b.queue(t.ask(name))
	next := a.queue(t.ask(name))
	b.release(w.r)
	w.undone()
	b.gone(w.r)
	a.release(holder)
	next.granted()
	a.release(next.r)
}

func lostAnswerIsFoundAgain(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	direct := t.open()
	r := t.ask(name)
	lostAnswer(t, linked, faults, direct, r)
	faults.Cut()
	g := linked.grant(r)
	direct.taken(t.ask(name))
	if again := linked.grant(r); again.Token != g.Token {
		t.Errorf("a second grant: one attempt got token %d and then %d", g.Token, again.Token)
	}
	linked.release(r)
	direct.free(t.ask(name))
}

func lostAnswerIsUndone(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	direct := t.open()
	for _, heal := range []func(){faults.Cut, faults.Resume} {
		r := t.ask(name)
		lostAnswer(t, linked, faults, direct, r)
		next := direct.queue(t.ask(name))
		heal()
		linked.undo(r)
		next.granted() // long before the TTL is over
		direct.release(next.r)
	}
}

// glimpse is how long a request gets to leave its client.
const glimpse = 300 * time.Millisecond

func lateAcquireDoesNotStay(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	direct := t.open()
	linked.warm()
	faults.HoldRequests()
	r := t.short(t.ask(name))
	asking := linked.begin(r)
	driver.Sleep(t.ctx, glimpse)
	asking.cancelled()
	faults.Strand() // the client connects again; its request is still on its way
	linked.undo(r)
	faults.Resume()
	// The request arrives now, and may hold for its TTL. Then it is neither a holder nor a waiter who comes back later.
	direct.pass(direct.Clock().Now(), t.ttl)
	next := t.ask(name)
	direct.grant(next)
	direct.pass(direct.Clock().Now(), t.ttl)
	direct.release(next)
	direct.free(t.ask(name))
}

func crossing(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	for round := range 30 {
		holder := t.ask(name)
		a.grant(holder)
		w := b.queue(t.ask(name))
		releases := []func() error{
			func() error { return a.Release(t.ctx, holder) },
			func() error { return b.Release(t.ctx, w.r) }, // it waits, or holds already
		}
		var both sync.WaitGroup
		for i := range releases {
			both.Go(func() {
				if err := releases[(i+round)%2](); err != nil {
					t.Errorf("Release of an attempt that holds or waits: %v", err)
				}
			})
		}
		both.Wait()
		in(t, "the return of an Acquire that was released", w.done)
		if w.err != nil && !errors.Is(w.err, driver.ErrGone) {
			t.Errorf("Acquire, released while it waited: %v; it must be granted or answer ErrGone", w.err)
		}
		b.gone(w.r)
		next := t.ask(name)
		a.free(next)
		a.release(next)
	}
}

func undoneReader(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	direct := t.open()
	r := t.askShared(name)
	lostAnswer(t, linked, faults, direct, r)
	writer := direct.queue(t.ask(name))
	faults.Cut()
	linked.undo(r)
	writer.granted()
	direct.release(writer.r)
}

func undonePermits(t *trial) {
	name := t.name("permits")
	linked, faults := t.link()
	direct := t.open()
	r := t.askPermits(name, 2, 3)
	lostAnswer(t, linked, faults, direct, r)
	faults.Cut()
	linked.undo(r)
	direct.free(t.askPermits(name, 3, 3))
}

func unansweredLockIsUndone(t *trial) {
	locks, faults := t.linkedLocks()
	others := t.locks()
	warm := t.lock(locks, t.name("warm"))
	t.unlock(warm)
	for i, fault := range []struct{ begin, heal func() }{
		{faults.HoldReplies, faults.Cut},
		{faults.HoldReplies, faults.Resume},
		{faults.HoldRequests, faults.Strand},
		{faults.HoldRequests, faults.Resume},
	} {
		name := t.name("lock %d", i)
		fault.begin()
		ctx, cancel := context.WithTimeout(t.ctx, glimpse)
		gaveUp := t.locking(ctx, locks, name)
		in(t, "the return of a Lock whose context has ended, without an answer", gaveUp.done)
		cancel()
		if !errors.Is(gaveUp.err, context.DeadlineExceeded) || errors.Is(gaveUp.err, holdfast.ErrHeld) {
			t.Errorf("Lock without an answer: %v; it must be ctx.Err(), and not ErrHeld", gaveUp.err)
		}
		fault.heal()
		faults.Resume()
		t.unlock(t.lock(others, name))
	}
}
