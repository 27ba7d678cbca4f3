package locktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// A trial is one run of one case.
type trial struct {
	*testing.T
	*kit
	ctx    context.Context // ends when the case has had enough time
	prefix string          // of this case's lock names
}

// name returns a lock name that no other case uses.
func (t *trial) name(format string, args ...any) string {
	return t.prefix + fmt.Sprintf(format, args...)
}

// open returns a new client of the store, closed at the end of the case.
func (t *trial) open() *client {
	t.Helper()
	store, err := t.h.Open(t.ctx, t.address)
	if err != nil {
		t.Fatalf("Harness.Open: %v", err)
	}
	return t.use(store)
}

// link returns a new client behind a link with faults.
func (t *trial) link() (*client, Faults) {
	t.Helper()
	store, faults := t.linkStore()
	c := t.use(store)
	c.faults = faults
	return c, faults
}

func (t *trial) linkStore() (driver.Store, Faults) {
	t.Helper()
	if t.h.Link != nil {
		return t.h.Link(t.T, t.address)
	}
	store, err := t.h.Open(t.ctx, t.address)
	if err != nil {
		t.Fatalf("Harness.Open: %v", err)
	}
	link := newCallLink(store)
	return link, link
}

// use makes a store this case's, to be closed at its end.
func (t *trial) use(store driver.Store) *client {
	c := &client{Store: store, t: t}
	t.Cleanup(func() {
		c.stopRenewing()
		if err := store.Close(); err != nil && !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// enough is how long something may take that must happen in the end.
func (t *trial) enough() time.Duration { return patience() + 2*t.ttl }

// patience is a context for something that must happen in the end.
func (t *trial) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, t.enough())
}

// in waits for a channel to be closed or to deliver, which must happen in the end.
func in[T any](t *trial, what string, c <-chan T) T {
	t.Helper()
	ctx, cancel := t.patience()
	defer cancel()
	select {
	case v := <-c:
		return v
	case <-ctx.Done():
		t.Fatalf("%s: it did not happen within %v", what, t.enough())
		panic("not reached")
	}
}

// until waits for a condition that must come true in the end.
func (t *trial) until(what string, condition func() bool) {
	t.Helper()
	if !t.comes(condition) {
		t.Fatalf("%s: it did not come true within %v", what, t.enough())
	}
}

// comes waits for a condition, and reports whether it came true. It asks often at first, and more rarely later.
func (t *trial) comes(condition func() bool) bool {
	ctx, cancel := t.patience()
	defer cancel()
	pause := driver.Backoff{Min: time.Millisecond, Max: 50 * time.Millisecond}
	for !condition() {
		if driver.Sleep(ctx, pause.Next()) != nil {
			return false
		}
	}
	return true
}

// within waits for a function that must return in the end, and returns what that returns.
func (t *trial) within(what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	return in(t, what, done)
}

// pass waits until d has passed since from, by the store's clock.
func (c *client) pass(from driver.Instant, d time.Duration) {
	for {
		left := from.Add(d).Sub(c.Clock().Now())
		if left <= 0 {
			return
		}
		if err := driver.Sleep(c.t.ctx, left); err != nil {
			c.t.Fatalf("waiting for %v to pass: %v", d, err)
		}
	}
}
