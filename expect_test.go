package holdfast_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev"
)

// noContext is what a program passes by mistake.
var noContext context.Context

// mustLock locks, with the test's own context.
func mustLock(t testing.TB, l holdfast.Locker) *holdfast.Hold {
	t.Helper()
	return mustLockIn(t.Context(), t, l)
}

// mustLockIn locks with a context of the test's choice, and not for ever: what hangs must fail. An hour is nothing in a bubble.
func mustLockIn(ctx context.Context, t testing.TB, l holdfast.Locker) *holdfast.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	hold, err := l.Lock(ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return hold
}

func mustUnlock(t testing.TB, h *holdfast.Hold) {
	t.Helper()
	if err := h.Unlock(); err != nil {
		t.Fatalf("Unlock: %v", err)
	}
}

// expect fails the test unless err is each of the targets and its text contains each of the words: an error names the bound, and
// tells the next step.
func expect(t testing.TB, err, is error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that is %q", is)
	}
	if !errors.Is(err, is) {
		t.Errorf("got the error %q, want one that is %q", err, is)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not say %q", err, w)
		}
	}
}

// expectLost fails the test unless err is a *LostError with that reason.
func expectLost(t testing.TB, err error, why holdfast.Reason) *holdfast.LostError {
	t.Helper()
	var lost *holdfast.LostError
	if !errors.Is(err, holdfast.ErrLost) || !errors.As(err, &lost) {
		t.Fatalf("got the error %v, want a *LostError with reason %q", err, why)
	}
	if lost.Reason != why {
		t.Errorf("lost for the reason %q (%v), want %q", lost.Reason, err, why)
	}
	return lost
}

// took fails the test unless exactly d has passed since begun: in a bubble time is exact.
func took(t testing.TB, what string, begun time.Time, d time.Duration) {
	t.Helper()
	if got := time.Since(begun); got != d {
		t.Errorf("%s took %v, want %v", what, got, d)
	}
}

// A diary is an Observer that writes everything down.
type diary struct {
	mu     sync.Mutex
	events []holdfast.Event
}

func (d *diary) Observe(_ context.Context, e holdfast.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// of returns the events of one kind, or all without one.
func (d *diary) of(kinds ...holdfast.Kind) (events []holdfast.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		for _, k := range kinds {
			if e.Kind == k {
				events = append(events, e)
			}
		}
	}
	return events
}

// kinds returns what happened, in order, in one line.
func (d *diary) kinds() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var words []string
	for _, e := range d.events {
		words = append(words, string(e.Kind))
	}
	return strings.Join(words, " ")
}
