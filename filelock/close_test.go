package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// While polling, each of many holds has its turn to be looked at within ten rounds, and few at a time.
func TestRoundsAreBounded(t *testing.T) {
	for _, n := range []int{1, roundSize, 1000, 10_007} {
		st := &Store{locks: make(map[string]*lock)}
		for i := range n {
			key := keyOf(filepath.Join("l", time.Duration(i).String()), driver.Exclusive)
			st.locks[key] = &lock{key: key, attempts: map[string]*attempt{"": nil}}
		}
		seen := make(map[*lock]bool)
		for range lapRounds {
			due := st.nextDue()
			if len(due) > max(roundSize, n/lapRounds+1) {
				t.Errorf("%d of %d at once", len(due), n)
			}
			for _, lk := range due {
				seen[lk] = true
			}
		}
		if len(seen) != n {
			t.Errorf("%d of %d were looked at in %d rounds", len(seen), n, lapRounds)
		}
	}
}

// Files that cannot be removed are not tried again and again without a pause.
func TestTidyPauses(t *testing.T) {
	dir := newDir(t)
	st := opened(t, dir)
	for i := range maxIdle + 50 {
		r := ask(time.Duration(i).String(), driver.Exclusive)
		take(t, st, r)
		if i < maxIdle {
			free(t, st, r)
		}
	}
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // these come to rest, and are one too many
		st.Acquire(t.Context(), ask("more"+time.Duration(i).String(), driver.Exclusive))
	}
	until(t, "a pause", func() bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.untidy >= tidyPause
	})
	if err := os.Rename(dir+".moved", dir); err != nil {
		t.Fatal(err)
	}
	until(t, "few files that nobody uses", func() bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		return len(st.idle) <= maxIdle && st.untidy == 0
	})
}

// Whoever goes through a list may close the store.
func TestCloseInList(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive))
	take(t, a, ask("y", driver.Exclusive))
	var last error
	n := 0
	for _, err := range b.List(context.Background(), "") {
		if last = err; err == nil {
			n++
			b.Close()
		}
	}
	if n != 1 || !errors.Is(last, driver.ErrClosed) {
		t.Errorf("%d were shown, then %v; want one, then ErrClosed", n, last)
	}
}

// Close ends calls that wait for somebody who is stopped in the guard, and does not wait for them.
func TestCloseEndsInspect(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive))
	stopped(t, a, "x")
	ended := make(chan error, 2)
	for range cap(ended) { // one waits for the guard, the other for its turn
		go func() { _, err := b.Inspect(context.Background(), "x", driver.Exclusive); ended <- err }()
	}
	until(t, "somebody who waits for the guard", func() bool { return blocked() == 1 })
	b.Close()
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Inspect when the store is closed: %v", err)
		}
	}
}

// However many give up behind a guard, or the record, one thread waits for it, and goes when it can.
func TestAbandonedFlocks(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive))
	for what, call := range map[string]func(context.Context) error{
		a.dir.lockPath(keyOf("x", driver.Exclusive)): func(ctx context.Context) error {
			_, err := b.Inspect(ctx, "x", driver.Exclusive)
			return err
		},
		filepath.Join(dir, recordName): func(ctx context.Context) error {
			_, err := open(ctx, dir, calm())
			return err
		},
	} {
		f, err := os.OpenFile(what, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := flock(f, true, false); !got || err != nil {
			t.Fatalf("flock: %v, %v", got, err)
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v; want the end of the context", what, err)
			}
			cancel()
		}
		if n := blocked(); n > 1 {
			t.Errorf("%d threads wait for %s", n, what)
		}
		f.Close()
		until(t, "the end of the last wait", func() bool { return blocked() == 0 })
		if err := call(t.Context()); err != nil {
			t.Errorf("%s, when it is free: %v", what, err)
		}
	}
}
