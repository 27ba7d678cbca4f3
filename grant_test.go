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

// slowly makes a store whose nth answer to Acquire takes that long; later ones take no time.
func slowly(delays ...time.Duration) *script {
	s := newScript()
	s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
		asked := s.clock.Now()
		if ask <= len(delays) {
			time.Sleep(delays[ask-1])
		}
		return s.grant(r, asked), nil
	}
	return s
}

// Rule of time 1: a hold is valid until asked + TTL − margin, where asked is the clock before the request went out; never counted
// from the answer.
func TestValidityIsCountedFromTheQuestion(t *testing.T) {
	for _, c := range []struct{ ttl, delay, left time.Duration }{
		{10 * time.Second, 0, 9900 * time.Millisecond},
		{10 * time.Second, 1500 * time.Millisecond, 8400 * time.Millisecond},
		{10 * time.Second, 9899999999, 1},
		{time.Second, 300 * time.Millisecond, 690 * time.Millisecond},
		{100 * time.Millisecond, 10 * time.Millisecond, 88 * time.Millisecond}, // the margin is 2 ms at least
		{24 * time.Hour, time.Hour, 23*time.Hour - 14*time.Minute - 24*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			hold := mustLock(t, slowly(c.delay).open(t).Mutex("a", holdfast.TTL(c.ttl), holdfast.Fixed()))
			if hold.Left() != c.left {
				t.Errorf("TTL %v, answered after %v: %v left, want %v", c.ttl, c.delay, hold.Left(), c.left)
			}
			ctx := hold.Context(t.Context())
			begun := time.Now()
			<-ctx.Done()
			took(t, "the hold", begun, c.left)
			expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
			if hold.Left() != 0 {
				t.Errorf("%v left of a hold that is over", hold.Left())
			}
		})
	}
}

// Rule of time 1: the store's TTL is the fact, the lock's only a wish.
func TestTheStoreSaysForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			g := s.grant(r, s.clock.Now())
			g.TTL = 4 * time.Second
			return g, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		if want := 3960 * time.Millisecond; hold.Left() != want {
			t.Errorf("%v left, want %v", hold.Left(), want)
		}
		mustUnlock(t, hold)
	})
}

// Rule of time 6: a grant that was no longer valid when it came is no hold: the same attempt is asked for again, which renews it.
func TestLateGrantIsNoHold(t *testing.T) {
	for _, delay := range []time.Duration{9900 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := slowly(delay)
			diary := new(diary)
			hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
			if hold.Left() != 9900*time.Millisecond {
				t.Errorf("%v left, want all of it, from the second answer", hold.Left())
			}
			asks := s.asked("acquire")
			if len(asks) != 2 || asks[0].id != asks[1].id {
				t.Errorf("want one attempt, asked for twice: %d", len(asks))
			}
			if retried := diary.of(holdfast.EventRetried); len(retried) != 1 || retried[0].Took != delay {
				t.Errorf("want one event that it was asked again after %v: %+v", delay, retried)
			}
			mustUnlock(t, hold)
		})
	}
}

// Rule of time 4: a grant that comes when Grace has begun already is of no use either: its contexts would end at once.
func TestGrantWithinGraceIsNoHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowly(4900 * time.Millisecond)
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(5*time.Second)))
		if n := len(s.asked("acquire")); n != 2 || hold.Left() != 9900*time.Millisecond {
			t.Errorf("asked %d times, %v left", n, hold.Left())
		}
		mustUnlock(t, hold)
	})
}

// Rule of ownership 2: late grants are undone when the wait ends, also for TryLock, which does not ask for ever.
func TestLateGrantsAreUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowly(time.Minute, time.Minute, time.Minute, time.Minute)
		_, err := s.open(t).Mutex("a").TryLock(t.Context())
		if !errors.As(err, new(*holdfast.StoreError)) {
			t.Errorf("got %v, want a *StoreError", err)
		}
		expect(t, err, err, "too late")
		if n := len(s.asked("acquire")); n != 3 || s.held() != 0 {
			t.Errorf("asked %d times, %d left behind", n, s.held())
		}
	})
}

// Rule of the driver contract (crossing loss): Lost may be called before Acquire returns. Such a grant is no hold: it begins anew.
func TestLostBeforeItWasGranted(t *testing.T) {
	for _, why := range []error{driver.ErrGone, driver.ErrSession, &driver.Broken{By: "somebody"}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
				g := s.grant(r, s.clock.Now())
				if ask == 1 {
					r.Lost(why)
				}
				return g, nil
			}
			hold := mustLock(t, s.open(t).Mutex("a"))
			asks := s.asked("acquire")
			if len(asks) != 2 || asks[0].id == asks[1].id || hold.Token() != 2 || hold.Err() != nil {
				t.Errorf("want a second attempt to hold: %d asks, token %d, %v", len(asks), hold.Token(), hold.Err())
			}
			if undone := s.asked("release"); len(undone) != 1 || undone[0].id != asks[0].id || s.held() != 1 {
				t.Errorf("want the first attempt undone: %d releases, %d held", len(undone), s.held())
			}
			mustUnlock(t, hold)
		})
	}
}

// Rule of the driver contract (Grant.Lease): without a lease nothing runs out, and nothing is renewed.
func TestNothingRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withoutTTL()
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(time.Second)))
		ctx := hold.Context(t.Context())
		time.Sleep(1000 * time.Hour)
		if hold.Left() != driver.Forever || hold.Err() != nil || ctx.Err() != nil {
			t.Errorf("%v left, %v", hold.Left(), hold.Err())
		}
		if err := hold.Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
		if err := hold.Extend(t.Context(), time.Hour); err != nil {
			t.Errorf("Extend: %v", err)
		}
		mustUnlock(t, hold)
		if calls := s.asked("renew"); len(calls) != 0 {
			t.Errorf("renewed: %+v", calls)
		}
	})
}

// Rule: without a lease a Fixed hold, and one with MaxHold, still ends; and Extend moves the former.
func TestLocalEndsWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().withoutTTL().open(t)
		fixed := mustLock(t, locks.Mutex("a", holdfast.Fixed(), holdfast.TTL(time.Second)))
		bounded := mustLock(t, locks.Mutex("b", holdfast.MaxHold(2*time.Second)))
		begun := time.Now()
		<-bounded.Context(t.Context()).Done()
		took(t, "MaxHold", begun, 2*time.Second)
		expectLost(t, bounded.Unlock(), holdfast.ReasonMaxHold)
		expectLost(t, fixed.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule: Extend works in real time too, where the clock moves between the question and the answer.
func TestExtendInRealTime(t *testing.T) {
	for what, s := range map[string]*script{
		"a lease": newScript(), "no lease": newScript().withoutTTL(), "a session": newScript().withSession(time.Minute),
	} {
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed(), holdfast.TTL(time.Second)))
		if err := hold.Extend(t.Context(), 30*time.Second); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if left := hold.Left(); left < 25*time.Second {
			t.Errorf("%s: %v left after Extend by 30s", what, left)
		}
		mustUnlock(t, hold)
	}
}
