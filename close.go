package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// Close releases what is held, ends what waits, and closes the store; all within about 2 s. It reports what it could not release:
// that ends with its TTL. The contexts of all holds end first, with ErrClosed. A hold inside Do is released when its function
// returns, and not taken away from under it: one that is still running after 2 s is reported, and kept until it returns or the process
// ends; the store is closed then. Closing again does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.running++
	var after aftermath
	after.then(func() { c.endless.cancel(c.gone) })
	for _, w := range c.waits {
		after.then(func() { w.cancel(c.gone) })
	}
	var working []*Hold
	var free []*tenure
	for t := range c.tenures {
		after.join(t.closeContexts())
		for _, h := range t.holds {
			if h.working {
				working = append(working, h)
			}
		}
		if !t.working() {
			t.dropHolds()
			t.detach()
			free = append(free, t)
		}
	}
	c.mu.Unlock()
	after.run()

	late, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	problems := c.releaseAll(free, time.Now().Add(closeWait/2))
	var running []*Hold
	for _, h := range working {
		if !h.unlockedBefore(late) {
			running = append(running, h)
			problems = append(problems, fmt.Errorf("%s %q: its function is still running: it is held until that returns", kind(h.t.req.Mode), h.Name()))
		}
	}
	c.end()
	if len(running) > 0 {
		go c.finishAfter(running)
	} else {
		select {
		case <-c.idle:
		case <-late.Done():
		}
		if err := c.finish(); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	if n := len(problems); n > 5 {
		problems = append(problems[:5], fmt.Errorf("and %d more", n-5))
	}
	return c.storeError("close", "", errors.Join(problems...))
}

// finishAfter ends everything once the functions that Close could not wait for have returned, and their locks are released. The process
// may end before: then the store lets go by itself.
func (c *Client) finishAfter(running []*Hold) {
	for _, h := range running {
		h.unlockedBefore(context.Background())
	}
	c.mu.Lock()
	idle := make(chan struct{})
	if c.idle = idle; c.running == 0 {
		close(idle)
	}
	c.mu.Unlock()
	late, cancel := context.WithTimeout(context.Background(), unlockWait+closeWait)
	defer cancel()
	select {
	case <-idle:
	case <-late.Done():
	}
	c.finish()
}

// finish ends everything that is still under way, and the store.
func (c *Client) finish() error {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.stop()
	c.schedule.close()
	return c.store.Close()
}

// closeContexts ends the contexts of a tenure's holds. c.mu is held.
func (t *tenure) closeContexts() (after aftermath) {
	for _, h := range t.holds {
		h.cause = ErrClosed
		after.cancel(h.takeContexts(), ErrClosed)
	}
	return after
}

// working reports whether a function runs under one of a tenure's holds. c.mu is held.
func (t *tenure) working() bool {
	return slices.ContainsFunc(t.holds, func(h *Hold) bool { return h.working })
}

// dropHolds ends a tenure's holds, whose contexts have been closed, as though each had been unlocked. c.mu is held.
func (t *tenure) dropHolds() {
	for _, h := range t.holds {
		h.ended = true
		h.wake()
	}
	t.holds = nil
}

// releaseAll releases tenures, many at a time, until late, and returns what did not work.
func (c *Client) releaseAll(tenures []*tenure, late time.Time) (problems []error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	turn := make(chan struct{}, 64)
	for _, t := range tenures {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			c.mu.Lock()
			end := t.end()
			c.mu.Unlock()
			err := errors.New("not released for want of time, it is left to its TTL")
			if wait := time.Until(late); wait > 0 {
				err = c.release(t.req, wait, end)
			}
			if errors.Is(err, driver.ErrGone) {
				err = nil
			}
			if c.observe(c.base, t.released(err)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				problems = append(problems, fmt.Errorf("lock %q: %w", t.req.Name, cause(err)))
			}
		})
	}
	all.Wait()
	return problems
}

// cause is what a *StoreError tells beside what Close says for all anyway.
func cause(err error) error {
	if problem := new(StoreError); errors.As(err, &problem) {
		return problem.Err
	}
	return err
}

// released describes what became of a tenure that Close has released.
func (t *tenure) released(err error) Event {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	e := t.event(EventReleased, t.c.clock.Now())
	e.Err = err
	return e
}

// unlockedBefore waits until h is unlocked, or until late has ended.
func (h *Hold) unlockedBefore(late context.Context) bool {
	c := h.t.c
	c.mu.Lock()
	if h.ended {
		c.mu.Unlock()
		return true
	}
	done := h.whenDone()
	c.mu.Unlock()
	select {
	case <-done:
		return true
	case <-late.Done():
		return false
	}
}
