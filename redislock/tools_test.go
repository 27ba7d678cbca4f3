package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// patience is how long a test waits for what must come. Nothing is proved by it: only a test that fails needs that long.
const patience = 30 * time.Second

var attempts = driver.NewAttempts()

// dial opens a client that is closed with the test: dial(t, server.Addr(), "guard=0&claim=300ms").
func dial(t testing.TB, address, params string) *redislock.Store {
	t.Helper()
	s, err := openURL(t.Context(), "redis://"+address+"?"+params)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*redislock.Store)
}

// ask is a request for the lock of that name, exclusively, by an attempt of its own.
func ask(name, label string, ttl time.Duration) *driver.Request {
	return &driver.Request{Name: name, Label: label, Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: ttl}
}

// take gets what nobody else has.
func take(t testing.TB, s driver.Store, r *driver.Request) *driver.Grant {
	t.Helper()
	now := *r
	now.NoWait = true
	grant, err := s.Acquire(t.Context(), &now)
	if err != nil {
		t.Fatalf("%q did not get the lock, which should be free: %v", r.Label, err)
	}
	return grant
}

func release(t testing.TB, s driver.Store, r *driver.Request) {
	t.Helper()
	if err := s.Release(t.Context(), r); err != nil {
		t.Fatalf("%q could not release: %v", r.Label, err)
	}
}

// A waiter is a call of Acquire that is under way.
type waiter struct {
	t       testing.TB
	s       driver.Store
	r       *driver.Request
	ends    context.CancelFunc
	done    chan struct{}
	grant   *driver.Grant // from here on: once done
	err     error
	granted driver.Instant // when Acquire returned
}

// begin calls Acquire and does not wait for anything.
func begin(t testing.TB, s driver.Store, r *driver.Request) *waiter {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiter{t: t, s: s, r: r, ends: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = s.Acquire(ctx, r)
		w.granted = s.Clock().Now()
	}()
	t.Cleanup(func() { cancel(); <-w.done })
	return w
}

// queue calls Acquire for a lock that somebody has, and returns when the server has given it a place.
func queue(t testing.TB, s driver.Store, r *driver.Request) *waiter {
	t.Helper()
	waits := make(chan struct{}, 1)
	r.Waiting = func(driver.Progress) {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
	w := begin(t, s, r)
	select {
	case <-waits:
	case <-w.done:
		t.Fatalf("%q does not wait: %v, %v", r.Label, w.grant, w.err)
	case <-time.After(patience):
		t.Fatalf("%q has no place in the queue", r.Label)
	}
	return w
}

// served waits for the grant.
func (w *waiter) served() *driver.Grant {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		w.t.Fatalf("%q is not served", w.r.Label)
	}
	if w.err != nil {
		w.t.Fatalf("%q is not served: %v", w.r.Label, w.err)
	}
	return w.grant
}

// waits fails the test if it does not wait any more.
func (w *waiter) waits() {
	w.t.Helper()
	select {
	case <-w.done:
		w.t.Fatalf("%q does not wait any more: %v, %v", w.r.Label, w.grant, w.err)
	default:
	}
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// command runs a command on the server.
func command(t testing.TB, server *servers.Redis, args ...string) any {
	t.Helper()
	answer, err := server.Do(t.Context(), args...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return answer
}

// shown is who holds and who waits, by the last words of their labels: "a, b <- c, d".
func shown(t testing.TB, s driver.Inspector, name string) string {
	t.Helper()
	info, err := s.Inspect(t.Context(), name, driver.Exclusive)
	if err != nil {
		t.Fatalf("inspecting: %v", err)
	}
	var holders, waiters []string
	last := func(label string) string { return label[strings.LastIndex(label, " ")+1:] }
	for _, h := range info.Holders {
		holders = append(holders, last(h.Label))
	}
	for _, w := range info.Waiters {
		waiters = append(waiters, last(w.Label))
	}
	return fmt.Sprintf("%s <- %s", strings.Join(holders, ", "), strings.Join(waiters, ", "))
}
