package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule of ownership 4: Break stops a hold's renewals and tells its holder; the lock moves on at its release.
func TestBreakIsToldAndMovesOnAtRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, operator := connect(t, server), connect(t, server, holdfast.Label("operator"))
		hold := mustLock(t, holder.Mutex("a"))
		ctx := hold.Context(t.Context())
		time.Sleep(time.Minute)
		before := hold.Left()
		if err := operator.Break(t.Context(), "a", hold.Token()); err != nil {
			t.Fatal(err)
		}
		told := expectLost(t, context.Cause(ctx), holdfast.ReasonBroken)
		var by *driver.Broken
		if !errors.As(told, &by) || by.Now {
			t.Errorf("the cause is %v", told)
		}
		expect(t, told, holdfast.ErrLost, "operator")
		if hold.Left() != before {
			t.Errorf("%v left, want %v: nobody else can have it yet", hold.Left(), before)
		}
		_, err := operator.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		expectLost(t, hold.Unlock(), holdfast.ReasonBroken)
		next, err := operator.Mutex("a").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if next.Token() <= hold.Token() {
			t.Errorf("token %d after %d", next.Token(), hold.Token())
		}
		mustUnlock(t, next)
	})
}

// Rule of ownership 4: without a release the lock moves on when the broken hold's TTL is over: it is not renewed.
func TestBreakMovesOnAtExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, operator := connect(t, server), connect(t, server)
		hold := mustLock(t, holder.Mutex("a", holdfast.Grace(5*time.Second)))
		time.Sleep(time.Minute)
		left := hold.Left()
		if err := operator.Break(t.Context(), "a", hold.Token()); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		next := mustLock(t, operator.Mutex("a"))
		took(t, "the rest of the hold", begun, left) // its holder lets the store know when it stops believing in it
		mustUnlock(t, next)
		expectLost(t, hold.Unlock(), holdfast.ReasonBroken)
	})
}

// Rule of ownership 4: Now frees the lock at once.
func TestBreakNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, diary := connect(t, server, holdfast.Label("victim")), new(diary)
		operator := connect(t, server, holdfast.Label("operator"), holdfast.WithObserver(diary))
		hold := mustLock(t, holder.Mutex("a", holdfast.MinHold(time.Hour)))
		if err := operator.Break(t.Context(), "a", hold.Token(), holdfast.Now()); err != nil {
			t.Fatal(err)
		}
		expectLost(t, hold.Err(), holdfast.ReasonBroken)
		if hold.Left() != 0 {
			t.Errorf("%v left", hold.Left())
		}
		next, err := operator.Mutex("a").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, next)
		expectLost(t, hold.Unlock(), holdfast.ReasonBroken)
		e := diary.of(holdfast.EventBreaking)
		if len(e) != 1 || e[0].Token != hold.Token() || e[0].Name != "a" || e[0].Err != nil {
			t.Errorf("events of breaking: %+v", e)
		}
	})
}

// Rule: a Break that is not pushed is told by the next renewal.
func TestBreakByRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			return 0, &driver.Broken{By: "operator"}
		}
		hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
		begun := time.Now()
		<-hold.Context(t.Context()).Done()
		if at := time.Since(begun); at > 10*time.Second/3 || hold.Left() != 9900*time.Millisecond-at {
			t.Errorf("told after %v, %v left", at, hold.Left())
		}
		time.Sleep(time.Minute)
		if n := len(s.asked("renew")); n != 1 {
			t.Errorf("a broken hold was renewed %d times", n-1)
		}
		if s.held() != 0 {
			t.Error("the store was not told when the hold was over")
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonBroken)
		if got := diary.kinds(); got != "acquired lost released" {
			t.Errorf("events: %s; a loss is no renewal without an answer", got)
		}
	})
}

// Rule (errors): Break of what nobody holds, or with another token, is ErrNotHeld, and changes nothing.
func TestBreakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		hold := mustLock(t, locks.Mutex("a"))
		for name, token := range map[string]uint64{"a": hold.Token() + 1, "b": hold.Token()} {
			err := locks.Break(t.Context(), name, token, holdfast.Now())
			expect(t, err, holdfast.ErrNotHeld, "Inspect")
			if errors.Is(err, holdfast.ErrLost) {
				t.Errorf("%v is ErrLost", err)
			}
		}
		mustUnlock(t, hold)
		expect(t, locks.Break(t.Context(), "a", hold.Token()), holdfast.ErrNotHeld)
		expect(t, locks.Break(t.Context(), "a", 1, nil), holdfast.ErrArgument, "option is nil")
		expect(t, locks.Break(noContext, "a", 1), holdfast.ErrArgument, "context is nil")
	})
}
