package filelock

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// stopped takes the guard of a lock, as a process does that is stopped just then.
func stopped(t *testing.T, st *Store, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(st.dir.lockPath(keyOf(name, driver.Exclusive)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if got, err := flock(f, true, false); !got || err != nil {
		t.Fatalf("flock: %v, %v", got, err)
	}
	return f
}

// blocked counts the goroutines that wait in flock.
func blocked() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "filelock.waitForFlock.func1")
}

// Somebody is stopped with the guard: calls end with their contexts, and however many come, one thread waits.
func TestStoppedInTheGuard(t *testing.T) {
	dir := newDir(t)
	st, other := opened(t, dir), opened(t, dir)
	held := ask("x", driver.Exclusive)
	take(t, st, held)
	guard := stopped(t, st, "x")
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		for _, call := range []func() error{
			func() error { _, err := st.Acquire(ctx, ask("x", driver.Exclusive)); return err },
			func() error { return st.Release(ctx, held) },
			func() error { return st.Break(ctx, &driver.BreakRequest{Name: "x", Token: 1}) },
		} {
			if err := call(); !errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) {
				t.Fatalf("while somebody has the guard: %v; want the end of the context", err)
			}
		}
		cancel()
	}
	if n := blocked(); n > 1 {
		t.Errorf("%d goroutines wait for one guard", n)
	}
	take(t, st, ask("y", driver.Exclusive)) // others are not concerned
	w := make(chan error, 1)
	go func() { _, err := other.Acquire(t.Context(), ask("x", driver.Exclusive)); w <- err }()
	guard.Close()
	free(t, st, held)
	if err := <-w; err != nil {
		t.Errorf("Acquire, when the guard was free again: %v", err)
	}
	until(t, "the end of all waits for the guard", func() bool { return blocked() == 0 })
}

// Close does not wait for the guard, and the next Open sees to what it left.
func TestCloseWhileStoppedInTheGuard(t *testing.T) {
	dir := newDir(t)
	st := opened(t, dir)
	take(t, st, ask("x", driver.Exclusive))
	guard := stopped(t, st, "x")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	guard.Close()
	next := opened(t, dir)
	take(t, next, ask("x", driver.Exclusive, noWait))
	next.Close()
	isEmpty(t, dir)
}

// The file is removed while somebody waits for its guard: it gets the guard of a file that is no more, and begins anew.
func TestRemovedBehindTheGuard(t *testing.T) {
	st := opened(t, newDir(t))
	r := ask("x", driver.Exclusive)
	before := take(t, st, r)
	free(t, st, r)
	guard := stopped(t, st, "x")
	done := make(chan *driver.Grant, 1)
	go func() {
		g, err := st.Acquire(t.Context(), ask("x", driver.Exclusive))
		if err != nil {
			t.Error(err)
		}
		done <- g
	}()
	until(t, "somebody who waits for the guard", func() bool { return blocked() == 1 })
	if err := os.Remove(guard.Name()); err != nil {
		t.Fatal(err)
	}
	guard.Close()
	if g := <-done; g == nil || g.Token <= before.Token {
		t.Errorf("%+v after token %d", g, before.Token)
	}
	if info := look(t, st, "x"); len(info.Holders) != 1 {
		t.Errorf("%+v; want one holder, in a new file", info)
	}
}

// Names that were not used for long leave no file behind, and nothing in memory.
func TestIdleNamesAreTidied(t *testing.T) {
	dir := newDir(t)
	st := opened(t, dir)
	for i := range 3 * maxIdle {
		r := ask(strings.Repeat("n", 1+i), driver.Exclusive)
		take(t, st, r)
		free(t, st, r)
	}
	until(t, "few files", func() bool {
		keys, err := st.keys()
		if err != nil {
			t.Fatal(err)
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		return len(keys) <= maxIdle && len(st.locks) <= maxIdle+1 && len(st.byRing) == len(st.locks)
	})
	take(t, st, ask("n", driver.Exclusive, noWait)) // as before
}

// A caller that went away and was never released does not keep the lock for ever.
func TestAwayForItsTTL(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		held := ask("x", driver.Exclusive)
		take(t, a, held)
		left := queue(t, b, ask("x", driver.Exclusive, func(r *driver.Request) { r.TTL = 50 * time.Millisecond }))
		left.stop()
		if err := left.failed(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		next := queue(t, a, ask("x", driver.Exclusive))
		free(t, a, held)
		next.granted()
		if err := b.Release(t.Context(), left.r); !errors.Is(err, driver.ErrGone) {
			t.Errorf("Release of one that was away for too long: %v", err)
		}
	})
}
