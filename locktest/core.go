package locktest

import (
	"context"
	"errors"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// What cases about the core's rules are written in: the store under test, as programs use it.

// locks returns a new client of the core, closed at the end of the case.
func (t *trial) locks(opts ...holdfast.OpenOption) *holdfast.Client {
	t.Helper()
	store, err := t.h.Open(t.ctx, t.address)
	if err != nil {
		t.Fatalf("Harness.Open: %v", err)
	}
	return t.over(store, opts...)
}

// linkedLocks returns a new client of the core behind a link with faults.
func (t *trial) linkedLocks(opts ...holdfast.OpenOption) (*holdfast.Client, Faults) {
	t.Helper()
	store, faults := t.linkStore()
	locks := t.over(store, opts...)
	t.Cleanup(faults.Resume) // before Close
	return locks, faults
}

func (t *trial) over(store driver.Store, opts ...holdfast.OpenOption) *holdfast.Client {
	locks := holdfast.New(store, opts...)
	t.Cleanup(func() { locks.Close() }) // what it cannot release, because of faults, ends with its TTL
	return locks
}

// lock locks, waiting if need be, and ends the case if that fails.
func (t *trial) lock(locks *holdfast.Client, name string, opts ...holdfast.Option) *holdfast.Hold {
	t.Helper()
	return t.take(t.ctx, t.mutexOf(locks, name, opts...))
}

// try locks without waiting, and ends the case if that fails: it must be free.
func (t *trial) try(locks *holdfast.Client, name string, opts ...holdfast.Option) *holdfast.Hold {
	t.Helper()
	return t.takeNow(t.ctx, t.mutexOf(locks, name, opts...))
}

// withTTL puts the long TTL before the options, so that a TTL among them counts.
func (t *trial) withTTL(opts []holdfast.Option) []holdfast.Option {
	return append([]holdfast.Option{holdfast.TTL(t.long)}, opts...)
}

// heldByOther ends the case unless TryLock says that somebody holds the lock.
func (t *trial) heldByOther(locks *holdfast.Client, name string) *holdfast.HeldError {
	t.Helper()
	return t.refused(t.ctx, t.mutexOf(locks, name))
}

// unlock unlocks a hold that is good.
func (t *trial) unlock(hold *holdfast.Hold) {
	t.Helper()
	if err := hold.Unlock(); err != nil {
		t.Fatalf("Unlock of a hold that is good: %v", err)
	}
}

// locking starts a Lock on a goroutine of its own.
func (t *trial) locking(ctx context.Context, locks *holdfast.Client, name string, opts ...holdfast.Option) *pending {
	return t.pend(ctx, t.mutexOf(locks, name, opts...))
}

// lostFor ends the case unless the hold was lost for that reason, and its context ended with it.
func (t *trial) lostFor(hold *holdfast.Hold, ctx context.Context, reasons ...holdfast.Reason) {
	t.Helper()
	in(t, "the end of the context of a hold that is lost", ctx.Done())
	var lost *holdfast.LostError
	if cause := context.Cause(ctx); !errors.As(cause, &lost) || !errors.Is(cause, holdfast.ErrLost) {
		t.Fatalf("the hold's context ended with %v; its cause must be a *LostError", cause)
	}
	if err := hold.Err(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Err is %v after the hold was lost; it must be ErrLost", err)
	}
	for _, reason := range reasons {
		if lost.Reason == reason {
			return
		}
	}
	t.Fatalf("the hold was lost for reason %q (%v); it is %q", lost.Reason, lost, reasons)
}

// ranOut are the reasons of a hold that was not renewed in time. On a busy machine the store may tell of its end a moment before the
// client's own alarm rings: then it is taken.
var ranOut = []holdfast.Reason{holdfast.ReasonExpired, holdfast.ReasonSession, holdfast.ReasonTaken}

// notBelieved ends the case if a hold is believed although another has been granted, just now.
func (t *trial) notBelieved(hold *holdfast.Hold) {
	t.Helper()
	if left := hold.Left(); left > 0 {
		t.Errorf("another was granted the lock while the hold said that %v are left", left)
	}
	if err := hold.Err(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("another was granted the lock while the hold's Err was %v; it must be ErrLost", err)
	}
}

// contextFor is a context for something that is cut off soon.
func contextFor(t *trial, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, d)
}
