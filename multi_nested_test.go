package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// A taking is what a Lock has returned.
type taking struct {
	hold *holdfast.Hold
	err  error
}

// takingOf calls lock on a goroutine of its own.
func takingOf(lock func() (*holdfast.Hold, error)) <-chan taking {
	done := make(chan taking, 1)
	go func() {
		hold, err := lock()
		done <- taking{hold, err}
	}()
	return done
}

// Rule of ownership 5: also those who nest do not wait for each other. One that nests out of order finds its place free, or is refused.
func TestMultiNestsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		a, b := locks.Mutex("a"), locks.Mutex("b")
		outer := mustLock(t, holdfast.Multi(a, b))
		ctx := outer.Context(t.Context())

		inner := mustLockIn(ctx, t, holdfast.Multi(b))
		nested := mustLockIn(inner.Context(ctx), t, holdfast.Multi(a)) // nobody is in the way
		mustUnlock(t, nested)

		both := takingOf(func() (*holdfast.Hold, error) { return holdfast.Multi(a, b).Lock(ctx) }) // has a, and waits for b
		synctest.Wait()
		_, err := holdfast.Multi(a).Lock(inner.Context(ctx))
		expect(t, err, holdfast.ErrDeadlock, `"a"`, `"b"`)
		select {
		case got := <-both:
			t.Fatalf("it does not wait: %v", got.err)
		default:
		}
		mustUnlock(t, inner)
		got := <-both
		if got.err != nil {
			t.Fatal(got.err)
		}
		mustUnlock(t, got.hold)
		mustUnlock(t, outer)
	})
}

// Rule of ownership 5: permits of a semaphore come after a lock of the same name, also if that lock could be entered again.
func TestMultiPermitsOfAHeldName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		hold := mustLock(t, holdfast.Multi(locks.Mutex("b"), locks.Mutex("z")))
		_, err := holdfast.Multi(locks.Semaphore("b", 1).Permits(1)).Lock(hold.Context(t.Context()))
		expect(t, err, holdfast.ErrDeadlock, `semaphore "b"`, `lock "z"`)
		mustUnlock(t, hold)
	})
}

// Rule (Multi): of many equal parts the first one's options count.
func TestMultiMergesManyInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		parts := []holdfast.Locker{locks.Mutex("b", holdfast.TTL(20*time.Second))}
		for range 40 {
			parts = append(parts, locks.Mutex("b"), locks.Mutex("a"))
		}
		hold := mustLock(t, holdfast.Multi(parts...))
		info, err := locks.Inspect(t.Context(), "b")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Left != 20*time.Second {
			t.Errorf("%+v, %v", info, err)
		}
		mustUnlock(t, hold)
	})
}

// Rule (Multi): permits that add up to too many are refused before anything is taken.
func TestMultiRefusesBeforeItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		semaphore := locks.Semaphore("s", 3)
		_, err := holdfast.Multi(locks.Mutex("a"), semaphore.Permits(2), semaphore.Permits(2)).Lock(t.Context())
		expect(t, err, holdfast.ErrArgument)
		if calls := s.asked("acquire"); len(calls) != 0 {
			t.Errorf("the store was asked: %+v", calls)
		}
	})
}

// Rule of ownership 6: a part that nested, and was undone as the last of its lock, has a MinHold that counts: somebody ran under it.
func TestMultiUndoesNestedParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks, other := connect(t, server), connect(t, server)
		kept, busy := locks.Mutex("a", holdfast.MinHold(time.Hour)), other.Mutex("b")
		blocking := mustLock(t, busy)
		outer := mustLock(t, kept)
		wait, cancel := context.WithTimeout(outer.Context(t.Context()), time.Minute)
		defer cancel()
		multi := takingOf(func() (*holdfast.Hold, error) { return holdfast.Multi(kept, locks.Mutex("b")).Lock(wait) })
		synctest.Wait()
		mustUnlock(t, outer) // the nested part is the last one now
		if got := <-multi; !errors.Is(got.err, context.Canceled) {
			t.Fatalf("got %v", got.err)
		}
		_, err := other.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, "minimum hold")
		mustUnlock(t, blocking)
	})
}

// Rule (Close): it ends what waits, also one that asks for the identity of a store that hangs.
func TestCloseEndsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := place("1")
		s.identify = func(ctx context.Context, _ int) (string, error) { return "", hang(ctx) }
		locks := s.open(t)
		asking := takingOf(func() (*holdfast.Hold, error) { return holdfast.Multi(locks.Mutex("a")).Lock(t.Context()) })
		synctest.Wait()
		begun := time.Now()
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
		got := <-asking
		expect(t, got.err, holdfast.ErrClosed)
		took(t, "Close", begun, 0)
	})
}

// Rule (Unlock): a Multi of which a part was unlocked by hand is unlocked by its Unlock all the same, and says ErrReleased the next time.
func TestMultiUnlockOfTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		hold := mustLock(t, holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")))
		mustUnlock(t, hold.Parts()[1])
		mustUnlock(t, hold)
		expect(t, hold.Unlock(), holdfast.ErrReleased)
	})
}

// Rule (Token): a Multi of permits alone does not hide the token of the lock around it.
func TestTokenUnderPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		lock := mustLock(t, locks.Mutex("a"))
		permits := mustLockIn(lock.Context(t.Context()), t, holdfast.Multi(locks.Semaphore("s", 2).Permits(1)))
		if token := holdfast.Token(permits.Context(lock.Context(t.Context()))); token != lock.Token() {
			t.Errorf("token %d, want %d", token, lock.Token())
		}
		mustUnlock(t, permits)
		mustUnlock(t, lock)
	})
}
