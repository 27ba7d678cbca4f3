//go:build linux

package filelock_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// descriptors counts what this process has open.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// TestManyHolds: ten thousand holds of one client are a few descriptors and no goroutines of their own.
func TestManyHolds(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	dir := newDir(t)
	locks, other := open(t, dir), open(t, dir)
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	holds := make([]*holdfast.Hold, n)
	for i := range holds {
		holds[i] = take(t, locks, fmt.Sprint("lock", i))
	}
	more, running := descriptors(t)-files, runtime.NumGoroutine()-goroutines
	t.Logf("%d holds: %d more descriptors, %d more goroutines", n, more, running)
	if more > 200 || running > 200 {
		t.Errorf("%d holds need %d more descriptors and %d more goroutines", n, more, running)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		denied(t, other, fmt.Sprint("lock", i))
	}
	for _, hold := range holds {
		unlock(t, hold)
	}
	shut(t, locks)
	shut(t, other)
	nothingLeft(t, dir)
}

// TestManyWaiters: thousands of waiters of one client for one lock are served in the order in which they came, and are a few
// descriptors.
func TestManyWaiters(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 500
	}
	store, err := openStore(t.Context(), newDir(t))
	must(t, err)
	defer store.Close()
	files := descriptors(t)
	ids := driver.NewAttempts()
	ask := func() *driver.Request {
		return &driver.Request{Name: "lock", Attempt: ids.Next(), Label: "test", Mode: driver.Exclusive, TTL: holdfast.MinTTL}
	}
	held := ask()
	_, err = store.Acquire(t.Context(), held)
	must(t, err)
	type result struct {
		who   int
		token uint64
		err   error
	}
	results := make(chan result, n)
	for i := range n {
		r, queued := ask(), make(chan struct{}, 1)
		r.Waiting = func(driver.Progress) {
			select {
			case queued <- struct{}{}:
			default:
			}
		}
		go func() {
			grant, err := store.Acquire(t.Context(), r)
			if err != nil {
				results <- result{i, 0, err}
				return
			}
			results <- result{i, grant.Token, store.Release(t.Context(), r)}
		}()
		select {
		case <-queued:
		case r := <-results:
			t.Fatalf("waiter %d got token %d, %v, before anybody let go", r.who, r.token, r.err)
		}
	}
	if more := descriptors(t) - files; more > 200 {
		t.Errorf("%d waiters need %d more descriptors", n, more)
	}
	must(t, store.Release(t.Context(), held))
	tokens := make([]uint64, n)
	for range n {
		r := <-results
		if r.err != nil {
			t.Fatalf("waiter %d: %v", r.who, r.err)
		}
		tokens[r.who] = r.token
	}
	for i := 1; i < n; i++ {
		if tokens[i] <= tokens[i-1] {
			t.Fatalf("waiter %d got token %d, the one before it %d", i, tokens[i], tokens[i-1])
		}
	}
}

// TestNoDescriptors: a process that has no file descriptor left is told so, and does not hang; when it has some again everything
// goes on.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	p := spawn(t, task{Do: "starve", Dir: dir})
	for _, step := range []string{"try", "lock", "open", "files"} {
		text := p.hears("told", step).Error
		t.Logf("%s: what a user sees: %s", step, text)
		if !strings.Contains(text, "too many open files") {
			t.Errorf("%s: %q does not say that there are too many open files", step, text)
		}
	}
	t.Logf("unlock: what a user sees: %s", p.hears("told", "unlock").Error)
	p.hears("done", "")
	locks := open(t, dir)
	unlock(t, gets(t, locks, "held"))
	unlock(t, gets(t, locks, "new"))
}

// TestNothingPilesUp: waits that are cut off, clients that come and go, neighbours that are killed: a process that goes on for long
// has no more descriptors and goroutines open afterwards than before.
func TestNothingPilesUp(t *testing.T) {
	const rounds = 40
	dir := newDir(t)
	locks := open(t, dir)
	hold := take(t, locks, "lock")
	round := func() {
		t.Helper()
		guest, died := here(t, dir), there(t, dir)
		guest.queues("behind us", "lock")
		died.queues("behind the guest", "lock")
		guest.queues("behind a process", "lock")
		guest.holds("own", "own")
		guest.tell(order{Do: "cancel", ID: "behind us"})
		guest.hears("failed", "behind us")
		died.kill()
		guest.tell(order{Do: "close"})
		guest.hears("closed", "")
	}
	round() // what is made once, and stays, is made now
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	for range rounds {
		round()
	}
	until(t, "descriptors and goroutines are as many as before", func() bool {
		return descriptors(t) <= files+rounds/4 && runtime.NumGoroutine() <= goroutines+rounds/4
	})
	unlock(t, hold)
	shut(t, locks)
	sweeps(t, dir)
}
