package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Rule: MaxHold bounds how long a hold is renewed: then it is lost with reason maxhold, and the lock goes to the next, at once.
func TestMaxHoldGoesToTheNext(t *testing.T) {
	for _, c := range []struct{ max, grace time.Duration }{
		{time.Second, 0},        // less than the TTL
		{25 * time.Second, 0},   // renewed meanwhile
		{25 * time.Second, 5e9}, // with Grace
		{time.Second, 900e6},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := memlock.NewServer()
			greedy, diary := connect(t, server), new(diary)
			next := connect(t, server, holdfast.WithObserver(diary))
			hold := mustLock(t, greedy.Mutex("a", holdfast.MaxHold(c.max), holdfast.Grace(c.grace)))
			begun := time.Now()
			granted := make(chan time.Duration)
			go func() {
				h, err := next.Mutex("a").Lock(t.Context())
				if err != nil {
					t.Error(err)
				} else {
					defer h.Unlock()
				}
				granted <- time.Since(begun)
			}()
			ctx := hold.Context(t.Context())
			<-ctx.Done()
			took(t, "the context", begun, c.max-c.grace)
			expectLost(t, context.Cause(ctx), holdfast.ReasonMaxHold)
			if hold.Left() != c.grace {
				t.Errorf("%v left, want the grace of %v", hold.Left(), c.grace)
			}
			if at := <-granted; at != c.max {
				t.Errorf("the next one got the lock after %v, want %v: not while the grace lasts, and not later", at, c.max)
			}
			expectLost(t, hold.Unlock(), holdfast.ReasonMaxHold)
		})
	}
}

// Rule: the reason is what ended it: a hold that expires before its MaxHold was not held for too long.
func TestExpiryBeforeMaxHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := mustLock(t, unrenewable().open(t).Mutex("a", holdfast.MaxHold(time.Minute)))
		<-hold.Context(t.Context()).Done()
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule: once the store's word reaches as far as MaxHold nothing is renewed any more.
func TestMaxHoldIsNotRenewedBeyond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.MaxHold(9*time.Second)))
		<-hold.Context(t.Context()).Done()
		if n := len(s.asked("renew")); n != 0 {
			t.Errorf("renewed %d times, though 9s were covered from the start", n)
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonMaxHold)
		synctest.Wait()
		if s.held() != 0 || len(s.asked("release")) != 1 {
			t.Errorf("%d held, released %d times", s.held(), len(s.asked("release")))
		}
	})
}

// Rule: a hold that is unlocked before its MaxHold never hears of it.
func TestUnlockBeforeMaxHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		diary := new(diary)
		locks := newScript().open(t, holdfast.WithObserver(diary))
		mustUnlock(t, mustLock(t, locks.Mutex("a", holdfast.MaxHold(time.Second))))
		time.Sleep(time.Minute)
		if got := diary.kinds(); got != "acquired released" {
			t.Errorf("events: %s", got)
		}
	})
}

// Rule of ownership 6: MinHold keeps the lock taken, by nobody, from the grant on, though it was unlocked; a cancelled wait does not.
func TestMinHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server), connect(t, server)
		begun := time.Now()
		hold := mustLock(t, one.Mutex("a", holdfast.MinHold(time.Minute)))
		time.Sleep(time.Second)
		mustUnlock(t, hold)
		_, err := two.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, "nobody", "minimum hold", "59s")
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = two.Mutex("a", holdfast.MinHold(time.Hour)).Lock(wait)
		expect(t, err, holdfast.ErrHeld)
		second := mustLock(t, two.Mutex("a"))
		took(t, "the minimum hold", begun, time.Minute)
		mustUnlock(t, second)
	})
}
