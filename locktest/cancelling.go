package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var cancelling = topic{"cancelling", []casus{
	{"atonce", 0, cancelReturns,
		"A4: when its context ends a waiting Acquire returns at once, with ctx.Err()"},
	{"released", 0, releasedWaiterLeavesNothing,
		"R: a waiter that is released leaves no queue entry behind: the next one is served"},
	{"last", 0, lastWaiterLeavesNothing,
		"R: the last waiter that is released leaves a lock that is free"},
	{"middle", 0, leavingTheMiddle,
		"R: a waiter that leaves changes nothing for the others"},
	{"lock", 0, cancelledLock,
		"T5, O2: a Lock that is cancelled says ErrHeld, with the holder, and ctx.Err(); it leaves neither a hold nor a queue entry"},
	{"bounds", 0, contextBoundsWait,
		"T5: the context of Lock bounds only the wait: the hold outlives it"},
	{"deadcontext", 0, deadContext,
		"A4: with a context that has ended Acquire does not wait"},
	{"nothing", 0, deadContextAcquiresNothing,
		"A3, A4: with a context that has ended Acquire acquires nothing, and its error is no answer"},
	{"silence", 0, silentOnceReturned,
		"G: Request.Waiting is not called any more once Acquire has returned"},
}}

func cancelReturns(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	holder.Label = "the holder"
	a.grant(holder)
	w := b.queue(t.ask(name))
	w.waits()
	err := w.cancelled()
	var held *driver.Held
	if errors.As(err, &held) { // if known
		for _, h := range held.Holders {
			if h.Label != holder.Label {
				t.Errorf("the error names the holder %q; it is %q", h.Label, holder.Label)
			}
		}
	}
	b.undo(w.r)
	a.release(holder)
}

func releasedWaiterLeavesNothing(t *trial) {
	name := t.name("lock")
	a, b, c := t.open(), t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	left := b.queue(t.ask(name))
	next := c.queue(t.ask(name))
	left.cancelled()
	b.undo(left.r) // where the store has a queue, it still waits: Acquire cleans nothing up
	t.sees(a, name, 1, 1)
	a.release(holder)
	next.granted() // long before a TTL is over
	b.gone(left.r)
	c.release(next.r)
	t.sees(a, name, 0, 0)
	b.free(t.ask(name))
}

func lastWaiterLeavesNothing(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	left := b.queue(t.ask(name))
	left.cancelled()
	b.undo(left.r)
	t.sees(a, name, 1, 0)
	a.release(holder)
	b.free(t.ask(name))
}

func leavingTheMiddle(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	waiting := make(map[*waiter]bool)
	for i := range 6 {
		r := t.ask(name)
		r.Label = fmt.Sprint("waiter ", i)
		w := []*client{a, b}[i%2].queue(r)
		if i%2 == 1 {
			w.cancelled()
			w.c.undo(w.r)
			continue
		}
		waiting[w] = true
	}
	a.release(holder)
	for len(waiting) > 0 {
		w := anyGranted(t, waiting)
		delete(waiting, w)
		w.granted()
		w.c.release(w.r)
	}
	t.sees(b, name, 0, 0)
	b.free(t.ask(name))
}

func deadContext(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	dead, cancel := context.WithCancel(t.ctx)
	cancel()
	r := t.ask(name)
	b.tidy(r)
	err := t.within("the return of an Acquire whose context had ended before", func() error {
		_, err := b.Acquire(dead, r)
		return err
	})
	if !errors.Is(err, context.Canceled) || driver.Answered(err) {
		t.Errorf("Acquire with a context that has ended: %v; the error must carry ctx.Err()", err)
	}
	b.undo(r)
	a.release(holder)
	b.free(t.ask(name))
}

func deadContextAcquiresNothing(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	dead, cancel := context.WithCancel(t.ctx)
	cancel()
	for round := range 20 { // what is decided by chance is not decided the same way each time
		r := t.ask(name)
		r.NoWait = round%2 == 1
		a.tidy(r)
		err := t.within("the return of an Acquire whose context had ended before", func() error {
			_, err := a.Acquire(dead, r)
			return err
		})
		if !errors.Is(err, context.Canceled) || driver.Answered(err) {
			t.Fatalf("Acquire of a free lock with a context that has ended: %v; the error must carry ctx.Err()", err)
		}
		next := t.ask(name)
		b.free(next) // although nobody has released the first
		b.release(next)
		a.gone(r)
	}
}

// silentOnceReturned looks after waiters for longer than the second in which a driver would have something to tell. That they
// stayed silent is judged for every waiter of every case: see begin.
func silentOnceReturned(t *trial) {
	const aSecond = 1200 * time.Millisecond
	name := t.name("lock")
	a := t.open()
	linked, faults := t.link()
	holder := t.ask(name)
	a.grant(holder)
	left, undone, granted := a.queue(t.ask(name)), a.queue(t.ask(name)), a.queue(t.ask(name))
	cutOff := linked.queue(t.ask(name))
	faults.HoldReplies()
	driver.Sleep(t.ctx, aSecond) // meanwhile the server tells, and the link holds it back
	left.cancelled()             // it still waits in the store
	a.release(undone.r)
	undone.undone()
	cutOff.cancelled()
	faults.Resume()
	driver.Sleep(t.ctx, aSecond)
	for _, w := range []*waiter{left, undone, cutOff} {
		w.silent()
	}
	a.undo(left.r)
	linked.undo(cutOff.r)
	a.release(holder)
	granted.granted()
	driver.Sleep(t.ctx, glimpse)
	granted.silent()
	a.release(granted.r)
}

func cancelledLock(t *trial) {
	name := t.name("lock")
	mine, others, third := t.locks(), t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.Label("in the way"))
	ctx, cancel := context.WithTimeout(t.ctx, glimpse)
	defer cancel()
	gaveUp := t.locking(ctx, others, name)
	behind := t.locking(t.ctx, third, name)
	in(t, "the return of a Lock whose context has ended", gaveUp.done)
	var held *holdfast.HeldError
	if !errors.Is(gaveUp.err, context.DeadlineExceeded) {
		t.Errorf("Lock, cut off: %v; it must be ctx.Err()", gaveUp.err)
	}
	if !errors.As(gaveUp.err, &held) {
		t.Errorf("Lock, cut off: %v; it must be a *HeldError", gaveUp.err)
	} else if len(held.Holders) > 0 && !strings.Contains(held.Holders[0].Label, "in the way") {
		t.Errorf("Lock, cut off, names the holder %q; its label is %q", held.Holders[0].Label, "in the way")
	}
	t.comesToSee(t.open(), name, 1, 1) // what is left to undo may be undone in the background
	t.unlock(hold)
	t.unlock(behind.granted()) // long before a TTL is over
	t.unlock(t.try(mine, name))
}

func contextBoundsWait(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	ctx, cancel := context.WithCancel(t.ctx)
	hold, err := mine.Mutex(name, holdfast.TTL(t.long)).Lock(ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	cancel()
	if err := hold.Check(t.ctx); err != nil {
		t.Errorf("Check after the context of Lock has ended: %v", err)
	}
	t.heldByOther(others, name)
	t.unlock(hold)
}
