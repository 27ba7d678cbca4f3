package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// unrenewable makes a store that grants, but never renews.
func unrenewable() *script {
	s := newScript()
	s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) { return 0, errCut }
	return s
}

// Rule of time 4: contexts end Grace before the deadline where it is foreseeable; the hold is then ending: nobody else can have it yet,
// Left tells for how long, and it is renewed no more. At the deadline the store is told.
func TestGraceEndsContextsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := unrenewable(), new(diary)
		hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a", holdfast.Grace(2*time.Second)))
		ctx, begun := hold.Context(t.Context()), time.Now()
		<-ctx.Done()
		took(t, "the context", begun, 7900*time.Millisecond)
		lost := expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
		if lost.Name != "a" || lost.Token != hold.Token() || hold.Err() != error(lost) {
			t.Errorf("the cause is %+v, Err is %v", lost, hold.Err())
		}
		if hold.Left() != 2*time.Second {
			t.Errorf("%v left, want the grace of 2s", hold.Left())
		}
		synctest.Wait() // the observer is told apart
		if e := diary.of(holdfast.EventLost); len(e) != 1 || e[0].Left != 2*time.Second || e[0].Held != 7900*time.Millisecond || e[0].Err != error(lost) {
			t.Errorf("events of loss: %+v", e)
		}
		renewals := len(s.asked("renew"))
		s.change(func() { s.renew = nil }) // it would be renewed now; but what was told is told
		time.Sleep(time.Second)
		if hold.Left() != time.Second || s.held() != 1 || len(s.asked("release")) != 0 {
			t.Errorf("a second later %v left, %d held", hold.Left(), s.held())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if releases := s.asked("release"); hold.Left() != 0 || len(releases) != 1 || releases[0].at != 9900*time.Millisecond {
			t.Errorf("at the deadline: %v left, released %+v", hold.Left(), releases)
		}
		if n := len(s.asked("renew")); n != renewals {
			t.Errorf("renewed %d times while it was ending", n-renewals)
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
		synctest.Wait() // the observer is told apart
		if n := len(diary.of(holdfast.EventLost)); n != 1 {
			t.Errorf("%d events of loss, want one", n)
		}
	})
}

// Rule of time 4: unlocking in the grace frees the lock at once; it still says ErrLost, because the work was cut short.
func TestUnlockInTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unrenewable()
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(5*time.Second)))
		<-hold.Context(t.Context()).Done()
		begun := time.Now()
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
		took(t, "Unlock", begun, 0)
		if s.held() != 0 || hold.Left() != 0 {
			t.Errorf("%d held, %v left", s.held(), hold.Left())
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired) // again: a loss is never hidden
		time.Sleep(time.Minute)
		if n := len(s.asked("release")); n != 1 {
			t.Errorf("released %d times", n)
		}
	})
}

// Rule of time 4: a healthy hold with a long Grace keeps its contexts.
func TestGraceDoesNotEndHealthyHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ttl := range []time.Duration{holdfast.MinTTL, 10 * time.Second} {
			hold := mustLock(t, newScript().open(t).Mutex("a", holdfast.TTL(ttl), holdfast.Grace(ttl/2)))
			ctx := hold.Context(t.Context())
			time.Sleep(100 * ttl)
			if ctx.Err() != nil {
				t.Errorf("TTL %v: %v", ttl, context.Cause(ctx))
			}
			mustUnlock(t, hold)
		}
	})
}

// Rule of time 4: Grace reaches no further than half of what the store grants at a time: its session may be shorter than the TTL.
func TestGraceOnAShortSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(2 * time.Second)
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(5*time.Second)))
		time.Sleep(time.Minute)
		if hold.Err() != nil {
			t.Fatalf("a healthy session: %v", hold.Err())
		}
		s.change(func() {
			s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) { return 0, errCut }
		})
		<-hold.Context(t.Context()).Done()
		if hold.Left() != time.Second {
			t.Errorf("%v left, want a second", hold.Left())
		}
	})
}

// Rule of time 4: gone, a dead session and Break-now are losses at once, whoever tells: the next renewal, or the store by itself. What
// cannot be foreseen has no grace.
func TestLossAtOnce(t *testing.T) {
	for _, c := range []struct {
		says error
		why  holdfast.Reason
	}{
		{driver.ErrGone, holdfast.ReasonTaken},
		{driver.ErrSession, holdfast.ReasonSession},
		{&driver.Broken{By: "operator", Now: true}, holdfast.ReasonBroken},
		{errors.Join(&driver.Broken{By: "operator"}, driver.ErrGone), holdfast.ReasonBroken},
	} {
		for _, byPush := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				s, diary := newScript(), new(diary)
				var lost func(error)
				s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
					lost = r.Lost
					return s.grant(r, s.clock.Now()), nil
				}
				if !byPush {
					s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) { return 0, c.says }
				}
				hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a", holdfast.Grace(time.Second)))
				ctx := hold.Context(t.Context())
				if byPush {
					time.Sleep(time.Second)
					lost(c.says)
				} else {
					time.Sleep(10 * time.Second / 3)
				}
				if ctx.Err() == nil || hold.Left() != 0 {
					t.Fatalf("%v: the context is %v, %v left", c.says, ctx.Err(), hold.Left())
				}
				told := expectLost(t, context.Cause(ctx), c.why)
				if !errors.Is(told, c.says) {
					t.Errorf("%v does not carry what the store said: %v", told, c.says)
				}
				synctest.Wait()
				if e := diary.of(holdfast.EventLost); len(e) != 1 || e[0].Left != 0 {
					t.Errorf("events of loss: %+v", e)
				}
				expectLost(t, hold.Unlock(), c.why)
			})
		}
	}
}

// Rule of the driver contract (Lost): a text of the driver's own is believed too, as taken.
func TestLossForAReasonOfTheDrivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		var lost func(error)
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			lost = r.Lost
			return s.grant(r, s.clock.Now()), nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		lost(errFull)
		if told := expectLost(t, hold.Err(), holdfast.ReasonTaken); !errors.Is(told, errFull) {
			t.Errorf("%v does not carry what the store said", told)
		}
		if hold.Left() != 0 {
			t.Errorf("%v left: the driver did not say that it is still there", hold.Left())
		}
		lost(driver.ErrSession) // at most once, but the core minds not
		expectLost(t, hold.Unlock(), holdfast.ReasonTaken)
		lost(driver.ErrGone) // after its end it means nothing
		expectLost(t, hold.Err(), holdfast.ReasonTaken)
	})
}

// Rule: news of a loss that come after Unlock change nothing.
func TestLossAfterUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		var lost func(error)
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			lost = r.Lost
			return s.grant(r, s.clock.Now()), nil
		}
		hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
		mustUnlock(t, hold)
		lost(driver.ErrGone)
		expect(t, hold.Err(), holdfast.ErrReleased)
		synctest.Wait() // the observer is told apart
		if n := len(diary.of(holdfast.EventLost)); n != 0 {
			t.Errorf("%d events of loss", n)
		}
	})
}

// Rule of time 2: the end is seen by whoever looks, also when the alarm has not rung yet: here it never rings.
func TestLossIsSeenWithoutTheAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unrenewable()
		s.clock = deafClock{s.clock}
		hold := mustLock(t, s.open(t).Mutex("a"))
		ctx := hold.Context(t.Context())
		time.Sleep(9900 * time.Millisecond)
		if hold.Left() != 0 {
			t.Errorf("%v left at the deadline", hold.Left())
		}
		expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule of time 4: an expiry that the store noticed before our own alarm is an expiry: nobody took anything. Before it is due it is
// another matter.
func TestExpiryThatTheStoreNoticedFirst(t *testing.T) {
	for at, why := range map[time.Duration]holdfast.Reason{
		9900*time.Millisecond - 1: holdfast.ReasonTaken, 9900 * time.Millisecond: holdfast.ReasonExpired,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := unrenewable()
			s.clock = deafClock{s.clock}
			var lost func(error)
			s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
				lost = r.Lost
				return s.grant(r, s.clock.Now()), nil
			}
			hold := mustLock(t, s.open(t).Mutex("a"))
			time.Sleep(at)
			lost(driver.ErrGone)
			expectLost(t, hold.Unlock(), why)
		})
	}
}

// Rule of time 3: the deadline means loss. An answer that comes after it, because the process stood still, does not bring the hold back, though
// the renewal went out before: by then it may have been somebody else's.
func TestRenewedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.clock = deafClock{s.clock}
		s.renew = func(_ context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			time.Sleep(time.Second)
			return ttl, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(time.Second)))
		time.Sleep(500 * time.Millisecond)
		hold.Extend(t.Context(), time.Second) // answered half a second after the end
		if left := hold.Left(); left > 0 {
			t.Errorf("a hold that had ended has %v left", left)
		}
	})
}

// A deafClock never rings: the process was stopped, or is busy.
type deafClock struct{ driver.Clock }

func (deafClock) At(driver.Instant, func()) func() bool { return func() bool { return true } }
