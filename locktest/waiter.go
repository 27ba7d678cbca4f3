package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/driver"
)

// A waiter is an Acquire on a goroutine of its own.
type waiter struct {
	c       *client
	r       *driver.Request
	waiting chan driver.Progress // the first word of Request.Waiting
	done    chan struct{}        // closed when Acquire has returned
	cancel  context.CancelFunc   // ends the context of that Acquire

	grant *driver.Grant
	err   error

	returned atomic.Bool  // Acquire has
	late     atomic.Int32 // how often Request.Waiting was called afterwards
}

// begin starts an Acquire. Its context ends with cancel or with the case.
func (c *client) begin(r *driver.Request) *waiter {
	ctx, cancel := context.WithCancel(c.t.ctx)
	w := &waiter{c: c, r: r, waiting: make(chan driver.Progress, 1), done: make(chan struct{}), cancel: cancel}
	watched := *r
	var once sync.Once
	watched.Waiting = func(p driver.Progress) {
		if w.returned.Load() {
			w.late.Add(1)
		}
		once.Do(func() { w.waiting <- p })
	}
	go func() {
		defer close(w.done)
		w.grant, w.err = c.Acquire(ctx, &watched)
		w.returned.Store(true)
	}()
	c.tidy(r)
	c.t.Cleanup(func() {
		cancel()
		select {
		case <-w.done:
			w.silent()
		case <-time.After(patience()):
			c.t.Errorf("A4: Acquire of %s has not returned %v after its context ended", what(r), patience())
		}
	})
	return w
}

// silent fails the case if Request.Waiting was called after Acquire had returned.
func (w *waiter) silent() {
	w.c.t.Helper()
	if n := w.late.Swap(0); n > 0 {
		w.c.t.Errorf("G: Request.Waiting was called %d times after Acquire of %s had returned", n, what(w.r))
	}
}

// queue starts an Acquire that must wait, and returns when it does.
func (c *client) queue(r *driver.Request) *waiter {
	c.t.Helper()
	w := c.begin(r)
	ctx, cancel := c.t.patience()
	defer cancel()
	select {
	case <-w.waiting:
	case <-w.done:
		if w.err != nil {
			c.t.Fatalf("Acquire of %s: %v; it must wait", what(r), w.err)
		}
		c.t.Fatalf("Acquire of %s was granted with token %d; it must wait", what(r), w.grant.Token)
	case <-ctx.Done():
		c.t.Fatalf("Acquire of %s did not call Request.Waiting when it began to wait", what(r))
	}
	return w
}

// granted waits for the grant, which must come.
func (w *waiter) granted() *driver.Grant {
	w.c.t.Helper()
	in(w.c.t, "a grant of "+what(w.r)+", whose turn it is", w.done)
	if w.err != nil {
		w.c.t.Fatalf("Acquire of %s, whose turn it is: %v", what(w.r), w.err)
	}
	w.c.judge(w.r, w.grant)
	return w.grant
}

// undone waits for the answer ErrGone: it was released while it waited.
func (w *waiter) undone() {
	w.c.t.Helper()
	in(w.c.t, "the return of an Acquire that was released while it waited", w.done)
	if !errors.Is(w.err, driver.ErrGone) {
		w.c.t.Fatalf("Acquire of %s, released while it waited: %v; the answer must be ErrGone", what(w.r), w.err)
	}
}

// cancelled ends the context and returns the error with which Acquire then returns.
func (w *waiter) cancelled() error {
	w.c.t.Helper()
	w.cancel()
	in(w.c.t, "the return of an Acquire whose context has ended", w.done)
	if w.err == nil {
		w.c.t.Fatalf("Acquire of %s was granted; somebody else has it", what(w.r))
	}
	if !errors.Is(w.err, context.Canceled) || driver.Answered(w.err) {
		w.c.t.Fatalf("Acquire of %s when its context ended: %v; the error must carry ctx.Err()", what(w.r), w.err)
	}
	return w.err
}

// waits ends the case if Acquire has returned.
func (w *waiter) waits() {
	w.c.t.Helper()
	select {
	case <-w.done:
		if w.err != nil {
			w.c.t.Fatalf("Acquire of %s: %v; it must go on waiting", what(w.r), w.err)
		}
		w.c.t.Fatalf("Acquire of %s was granted with token %d; it must go on waiting", what(w.r), w.grant.Token)
	default:
	}
}
