package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Rule (HeldError): a client that is in its own way is told so, and how to enter the lock again; a stranger in the same process is not.
func TestOwnHoldInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks, other := connect(t, server), connect(t, server)
		hold := mustLock(t, locks.Mutex("a"))
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := locks.Mutex("a").Lock(wait)
		expect(t, err, holdfast.ErrHeld, "this client itself", "Hold.Context")
		_, err = locks.RWMutex("a").Reader().TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, "this client itself")
		for _, stranger := range []holdfast.Locker{other.Mutex("a"), other.RWMutex("a").Reader()} {
			_, err = stranger.TryLock(t.Context())
			expect(t, err, holdfast.ErrHeld)
			if held := err.(*holdfast.HeldError); held.Own {
				t.Errorf("another client: %v", err)
			}
		}
		mustUnlock(t, hold)
		permits := mustLock(t, locks.Semaphore("a", 2).Permits(1))
		_, err = locks.Semaphore("a", 2).TryAcquire(t.Context(), 2)
		if held := err.(*holdfast.HeldError); !held.Own {
			t.Errorf("permits of its own are in the way: %v", err)
		}
		mustUnlock(t, permits)
	})
}

// Rule: what was not made by Open, New or a client says so, and does not panic.
func TestZeroValues(t *testing.T) {
	for _, lock := range []holdfast.Locker{
		new(holdfast.Mutex), new(holdfast.RWMutex), new(holdfast.Reader), new(holdfast.Semaphore).Permits(1), new(holdfast.MultiLock),
		new(holdfast.Client).Mutex("a"), holdfast.Multi(new(holdfast.Mutex)),
	} {
		_, err := lock.Lock(t.Context())
		expect(t, err, holdfast.ErrArgument)
	}
	_, err := new(holdfast.Election).Leader(t.Context())
	expect(t, err, holdfast.ErrArgument)
	for _, err := range new(holdfast.Election).Observe(t.Context()) {
		expect(t, err, holdfast.ErrArgument)
	}
	expect(t, new(holdfast.Election).Run(t.Context(), func(context.Context) error { return nil }), holdfast.ErrArgument)
	expect(t, holdfast.Do(t.Context(), (*holdfast.Mutex)(nil), func(context.Context) error { return nil }), holdfast.ErrArgument)
}
