package locktest

import (
	"context"
	"errors"
	"sync"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var closing = topic{"closing", []casus{
	{"waiters", 0, closeEndsWaiters,
		"C: Close ends the calls that are under way"},
	{"after", 0, closedAnswers,
		"C: after Close every call answers ErrClosed; Close again does no harm"},
	{"others", 0, closeLeavesOthers,
		"C: Close of one client leaves the others alone"},
	{"holds", 0, closeReleases,
		"C: Close of a client releases what it holds, and ends its holds' contexts"},
	{"running", 0, closeUnderFunction,
		"C: Close does not give away the lock of a function that is still running: it is held until that returns, and free then"},
	{"used", 0, closedClientAnswers,
		"C: after Close every method of a client answers ErrClosed"},
	{"beside", 0, closeBesideCalls,
		"C: Close beside calls on many goroutines returns, and so do they"},
}}

func closeEndsWaiters(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	w := b.queue(t.ask(name))
	if err := t.within("the return of Close while somebody waits", b.Close); err != nil {
		t.Errorf("Close: %v", err)
	}
	in(t, "the return of an Acquire whose store was closed", w.done)
	if w.err == nil {
		t.Errorf("Acquire was granted after Close")
	}
	a.release(holder)
}

func closedAnswers(t *trial) {
	c := t.open()
	r := t.ask(t.name("lock"))
	c.grant(r)
	c.release(r)
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := c.Close(); err != nil && !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Close, again: %v; the answer must be nil or ErrClosed", err)
	}
	_, err := c.Acquire(t.ctx, t.ask(r.Name))
	if !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Acquire after Close: %v; the answer must be ErrClosed", err)
	}
	if err := c.Release(t.ctx, r); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Release after Close: %v; the answer must be ErrClosed", err)
	}
	if inspector, ok := c.Store.(driver.Inspector); ok {
		if _, err := inspector.Inspect(t.ctx, r.Name, r.Mode); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Inspect after Close: %v; the answer must be ErrClosed", err)
		}
	}
	_, _ = c.String(), c.Clock().Now() // still there
}

func closeLeavesOthers(t *trial) {
	a, b := t.open(), t.open()
	held, waiting := t.ask(t.name("held")), t.ask(t.name("waiting"))
	first := t.ask(waiting.Name)
	a.grant(held)
	a.grant(first)
	b.grant(t.ask(t.name("other")))
	w := a.queue(waiting)
	b.Close()
	w.waits()
	c := t.open()
	c.taken(t.ask(held.Name))
	a.release(first)
	w.granted()
	a.release(waiting)
	a.release(held)
}

func closeBesideCalls(t *trial) {
	c := t.open()
	var all sync.WaitGroup
	started := make(chan struct{}, 8)
	for i := range 8 {
		all.Go(func() {
			for n := 0; ; n++ {
				r := t.ask(t.name("lock %d", i%4))
				_, err := c.Acquire(t.ctx, r)
				if n == 0 {
					started <- struct{}{}
				}
				if err != nil || c.Release(t.ctx, r) != nil {
					return
				}
			}
		})
	}
	for range 8 {
		in(t, "the first answer of a store", started)
	}
	err := t.within("the return of Close, and of all calls beside it", func() error {
		defer all.Wait()
		return c.Close()
	})
	if err != nil {
		t.Errorf("Close: %v", err)
	}
}

func closeReleases(t *trial) {
	mine, others := t.locks(), t.locks()
	hold := t.lock(mine, t.name("held"))
	ctx := hold.Context(t.ctx)
	theirs := t.lock(others, t.name("waiting"))
	waiting := t.locking(t.ctx, mine, t.name("waiting"))
	next := t.locking(t.ctx, others, t.name("held"))
	if err := mine.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if !errors.Is(context.Cause(ctx), holdfast.ErrClosed) || !errors.Is(hold.Err(), holdfast.ErrClosed) {
		t.Errorf("after Close the hold says %v, and its context %v; both must be ErrClosed", hold.Err(), context.Cause(ctx))
	}
	in(t, "the return of a Lock whose client was closed", waiting.done)
	if !errors.Is(waiting.err, holdfast.ErrClosed) {
		t.Errorf("Lock, while its client was closed: %v; it must be ErrClosed", waiting.err)
	}
	t.unlock(next.granted()) // long before a TTL is over
	t.unlock(theirs)
	t.unlock(t.try(others, t.name("waiting")))
}

// closeUnderFunction closes a client whose function in Do does not care. The TTL is short: it is renewed, not left to run out.
func closeUnderFunction(t *trial) {
	name := t.name("lock")
	locks, other := t.locks(), t.locks()
	running, goOn, returned := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		returned <- locks.Do(t.ctx, name, func(context.Context) error {
			close(running)
			<-goOn
			return nil
		}, holdfast.TTL(t.ttl))
	}()
	in(t, "the beginning of a function in Do", running)
	if err := t.within("the return of Close while a function runs", locks.Close); err == nil {
		t.Error("Close said nothing of the function that is still running")
	}
	waiting := t.locking(t.ctx, other, name)
	driver.Sleep(t.ctx, t.ttl)
	waiting.waits()
	close(goOn)
	if err := <-returned; err != nil {
		t.Errorf("Do, whose client was closed meanwhile, returned %v", err)
	}
	t.unlock(waiting.granted())
}

func closedClientAnswers(t *trial) {
	locks := t.locks()
	name := t.name("lock")
	hold := t.lock(locks, name)
	for range 2 {
		if err := locks.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	_, lock := locks.Mutex(name).Lock(t.ctx)
	_, try := locks.Mutex(name).TryLock(t.ctx)
	do := locks.Do(t.ctx, name, func(context.Context) error {
		t.Error("Do ran its function after Close")
		return nil
	})
	_, inspect := locks.Inspect(t.ctx, name)
	_, guarantees := locks.Guarantees(t.ctx)
	var list error
	for _, list = range locks.List(t.ctx, name) {
	}
	for what, err := range map[string]error{
		"Lock": lock, "TryLock": try, "Do": do, "Inspect": inspect, "Guarantees": guarantees, "List": list,
		"Break": locks.Break(t.ctx, name, hold.Token()), "Unlock": hold.Unlock(), "Check": hold.Check(t.ctx),
	} {
		if !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("%s after Close: %v; it must be ErrClosed", what, err)
		}
	}
}
