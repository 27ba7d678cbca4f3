//go:build linux

package filelock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// minHold is long enough for everybody to come while it lasts, also on a busy machine; if not, what is checked then does not apply.
const minHold = 1500 * time.Millisecond

// TestKilledWithMinHold: the lock stays taken for the rest of the time that the dead process had asked for, also when nobody is left
// who knows of it, and then goes to those who wait, in order, whenever they came.
func TestKilledWithMinHold(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, before, after := there(t, dir), there(t, dir), there(t, dir)
	asked := now()
	first := holder.holds("h", "lock", keeping(minHold))
	before.queues("before", "lock")
	holder.kill()
	after.queues("after", "lock")
	second := before.grantedSince("before", asked.Add(minHold))
	freed := before.unlocks("before")
	third := after.grantedSince("after", freed)
	after.unlocks("after")
	if second.Token <= first.Token || third.Token <= second.Token {
		t.Errorf("tokens %d, %d, %d: they must rise", first.Token, second.Token, third.Token)
	}
}

// TestAllKilledWithMinHold: it is written down, so it holds though no process is left; a new client sees it and waits for it.
func TestAllKilledWithMinHold(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder := there(t, dir)
	asked := now()
	first := holder.holds("h", "lock", keeping(minHold))
	holder.kill()
	locks := open(t, dir)
	hold, err := locks.Mutex("lock").TryLock(t.Context())
	if early := now().Before(asked.Add(minHold)); early && err == nil {
		t.Errorf("the lock was granted %v before the minimum hold of a killed process was over", asked.Add(minHold).Sub(now()))
	} else if err != nil {
		t.Logf("what a user sees: %v", err)
		kept := new(holdfast.HeldError)
		if !errors.As(err, &kept) || len(kept.Holders) != 1 || !kept.Holders[0].Kept {
			t.Errorf("%v does not say that nobody holds the lock, but that it is kept", err)
		}
		hold = gets(t, locks, "lock")
	}
	if at := now(); at.Before(asked.Add(minHold)) {
		t.Errorf("granted %v too early", asked.Add(minHold).Sub(at))
	}
	if hold.Token() <= first.Token {
		t.Errorf("token %d was granted after token %d", hold.Token(), first.Token)
	}
	unlock(t, hold)
	shut(t, locks)
	nothingLeft(t, dir)
}

// TestKilledReaderWithMinHold: the same for readers and permits: others of the kind come in, a writer waits for the end of it.
func TestKilledReaderWithMinHold(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	reader, other, writer := there(t, dir), there(t, dir), there(t, dir)
	asked := now()
	reader.holds("s", "lock", shared, keeping(minHold))
	reader.holds("p", "lock", permits(2, 3), keeping(minHold))
	reader.kill()
	other.holds("s", "lock", shared)
	other.holds("p", "lock", permits(1, 3))
	writer.locks("x", "lock")
	writer.locks("p", "lock", permits(2, 3))
	freed := other.unlocks("s")
	writer.grantedSince("x", max(freed, asked.Add(minHold)))
	writer.grantedSince("p", asked.Add(minHold))
	other.unlocks("p")
}

// TestBrokenNowThenKilled: Break with Now frees what a stopped process holds, its minimum hold included; that process dies without
// ever having noticed, and leaves nothing.
func TestBrokenNowThenKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, waiter, locks := there(t, dir), there(t, dir), open(t, dir)
	first := holder.holds("h", "lock", keeping(time.Hour))
	waiter.queues("w", "lock")
	holder.stop()
	freed := now()
	if err := locks.Break(t.Context(), "lock", first.Token, holdfast.Now()); err != nil {
		t.Fatalf("breaking: %v", err)
	}
	if w := waiter.grantedSince("w", freed); w.Token <= first.Token {
		t.Errorf("token %d was granted after token %d", w.Token, first.Token)
	}
	holder.kill()
	hold, err := locks.Mutex("lock").TryLock(t.Context())
	if !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("the death of a process whose hold was broken gave the lock to %v, %v", hold, err)
	}
	waiter.unlocks("w")
	waiter.tell(order{Do: "close"})
	if w := waiter.hears("closed", ""); w.Error != "" {
		t.Errorf("closing: %s", w.Error)
	}
	shut(t, locks)
	sweeps(t, dir)
}

// TestBrokenWhileStopped: a process that wakes after its hold was broken learns it.
func TestBrokenWhileStopped(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, locks := there(t, dir), open(t, dir)
	first := holder.holds("h", "lock")
	holder.stop()
	if err := locks.Break(t.Context(), "lock", first.Token, holdfast.Now()); err != nil {
		t.Fatalf("breaking: %v", err)
	}
	hold := take(t, locks, "lock")
	holder.goOn()
	until(t, "the holder knows that its hold was broken", func() bool {
		holder.tell(order{Do: "state", ID: "h"})
		return holder.hears("state", "h").Error != ""
	})
	holder.tell(order{Do: "unlock", ID: "h"})
	w := holder.hears("unlocked", "h")
	t.Logf("what a user sees: %s", w.Error)
	if w.Error == "" {
		t.Error("Unlock of a hold that was broken says that all is well")
	}
	info, err := locks.Inspect(t.Context(), "lock")
	if err != nil || len(info.Holders) != 1 || info.Holders[0].Token != hold.Token() || info.Holders[0].Mode != driver.Exclusive {
		t.Errorf("the lock shows %+v, %v; its new holder has token %d", info, err, hold.Token())
	}
	unlock(t, hold)
}
