//go:build linux

package filelock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev"
)

// TestStoppedHolder: nothing runs out. A process that stands still for many TTLs goes on holding, and knows it when it wakes.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, waiter, locks := there(t, dir), there(t, dir), open(t, dir)
	first := holder.holds("h", "lock")
	waiter.queues("w", "lock")
	holder.stop()
	for late := time.Now().Add(5 * holdfast.MinTTL); time.Now().Before(late); {
		hold, err := locks.Mutex("lock").TryLock(t.Context())
		if !errors.Is(err, holdfast.ErrHeld) {
			t.Fatalf("while its holder is stopped, another process got %v, %v", hold, err)
		}
		time.Sleep(time.Millisecond)
	}
	holder.goOn()
	holder.tell(order{Do: "state", ID: "h"})
	if w := holder.hears("state", "h"); w.Error != "" || w.Left != holdfast.Forever || w.Token != first.Token {
		t.Errorf("the process that was stopped says %+v; it still holds token %d, for ever", w, first.Token)
	}
	freed := holder.unlocks("h")
	if w := waiter.grantedSince("w", freed); w.Token <= first.Token {
		t.Errorf("token %d was granted after token %d", w.Token, first.Token)
	}
	waiter.unlocks("w")
}

// TestStoppedWaiter: a process that stands still while it waits keeps its place. The lock becomes its own all the same, and those
// behind it wait until it has woken and unlocked.
func TestStoppedWaiter(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, stopped, behind, locks := here(t, dir), there(t, dir), there(t, dir), open(t, dir)
	first := holder.holds("h", "lock")
	stopped.queues("stopped", "lock")
	behind.queues("behind", "lock")
	stopped.stop()
	holder.unlocks("h")
	info, err := locks.Inspect(t.Context(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Holders) != 1 || len(info.Waiters) != 1 || info.Holders[0].Token <= first.Token {
		t.Errorf("the next in the queue is stopped, and the lock shows %+v; want it as holder, and one waiter", info)
	}
	woken := now()
	stopped.goOn()
	second := stopped.grantedSince("stopped", woken)
	freed := stopped.unlocks("stopped")
	third := behind.grantedSince("behind", freed)
	if second.Token <= first.Token || third.Token <= second.Token {
		t.Errorf("tokens %d, %d, %d: they must rise", first.Token, second.Token, third.Token)
	}
	behind.unlocks("behind")
}

// TestStoppedThenKilled: kill −9 ends a stopped process too, and what it held, also what it never noticed that it held.
func TestStoppedThenKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, stopped, behind := here(t, dir), there(t, dir), there(t, dir)
	holder.holds("h", "lock")
	stopped.queues("stopped", "lock")
	behind.queues("behind", "lock")
	stopped.stop()
	holder.unlocks("h")
	killed := stopped.dies()
	behind.grantedSince("behind", killed)
	behind.unlocks("behind")
}
