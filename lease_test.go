package holdfast_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Rule of the driver contract (Lease): equal leases are renewed once, at a third of their TTL, however many holds live by them and
// whatever TTL these wish for.
func TestSharedLeaseIsRenewedOnce(t *testing.T) {
	for _, ttl := range []time.Duration{holdfast.MinTTL, 10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript().withSession(30 * time.Second)
			locks := s.open(t)
			var holds []*holdfast.Hold
			for i := range 50 {
				holds = append(holds, mustLock(t, locks.Mutex(strconv.Itoa(i), holdfast.TTL(ttl))))
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(5 * time.Minute)
			for _, h := range holds {
				if h.Left() < 19*time.Second {
					t.Errorf("%v left of a session of 30s", h.Left())
				}
				mustUnlock(t, h)
			}
			if n := len(s.asked("renew")); n < 30 || n > 39 {
				t.Errorf("with a TTL of %v the session was renewed %d times in 305s, want every 8s to 10s", ttl, n)
			}
			before := len(s.asked("renew"))
			time.Sleep(time.Minute)
			if n := len(s.asked("renew")); n != before {
				t.Errorf("a session that nobody needs was renewed %d times", n-before)
			}
		})
	}
}

// Rule of time 3: a renewal of a session that gets no answer is given up in time for another one, whatever the lock's TTL is; and one
// that is slow gets the time that the session leaves it.
func TestSessionRenewalHasTheSessionsPatience(t *testing.T) {
	for _, ttl := range []time.Duration{holdfast.MinTTL, time.Hour} {
		t.Run(ttl.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript().withSession(6 * time.Second)
				s.renew = func(ctx context.Context, _ *scriptLease, _ time.Duration, ask int) (time.Duration, error) {
					if ask%3 == 1 {
						return 0, hang(ctx)
					}
					return 6 * time.Second, driver.Sleep(ctx, 300*time.Millisecond)
				}
				hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(ttl)))
				time.Sleep(5 * time.Minute)
				mustUnlock(t, hold)
			})
		})
	}
}

// Rule: when a shared lease is gone, all its holds are lost, at once, each told by itself.
func TestSharedLeaseEndsForAll(t *testing.T) {
	for answer, why := range map[error]holdfast.Reason{
		driver.ErrSession: holdfast.ReasonSession, driver.ErrGone: holdfast.ReasonTaken, errCut: holdfast.ReasonExpired,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript().withSession(30 * time.Second)
			s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) { return 0, answer }
			diary := new(diary)
			locks := s.open(t, holdfast.WithObserver(diary))
			one, two := mustLock(t, locks.Mutex("a")), mustLock(t, locks.Mutex("b"))
			ctx := two.Context(t.Context())
			time.Sleep(31 * time.Second)
			expectLost(t, context.Cause(ctx), why)
			if expectLost(t, one.Err(), why).Name != "a" || expectLost(t, two.Err(), why).Name != "b" {
				t.Error("a loss has another's name")
			}
			synctest.Wait() // the observer is told apart
			if n := len(diary.of(holdfast.EventLost)); n != 2 {
				t.Errorf("%d events of loss, want 2", n)
			}
			if tenures, leases, alarms, _ := locks.Residue(); tenures+leases+alarms != 0 {
				t.Errorf("left over: %d tenures, %d leases, %d alarms", tenures, leases, alarms)
			}
			// A new session, a new life.
			s.change(func() { s.renew = nil })
			again := mustLock(t, locks.Mutex("a"))
			time.Sleep(5 * time.Minute)
			mustUnlock(t, again)
		})
	}
}

// Rule: a hold that leaves a shared lease takes nothing away from the others, and one that joins it late is renewed with them.
func TestHoldsComeAndGoOnOneLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(9 * time.Second)
		locks := s.open(t)
		fixed := mustLock(t, locks.Mutex("fixed", holdfast.Fixed(), holdfast.TTL(5*time.Second)))
		time.Sleep(4 * time.Second) // nobody needed the session to be renewed
		stays := mustLock(t, locks.Mutex("stays"))
		time.Sleep(time.Minute)
		expectLost(t, fixed.Unlock(), holdfast.ReasonExpired)
		for range 100 {
			goes := mustLock(t, locks.Mutex("goes"))
			time.Sleep(time.Second)
			mustUnlock(t, goes)
		}
		mustUnlock(t, stays)
	})
}

// Rule of time 6: a hold that was granted while the session had little left is valid no longer than the session is known to be.
func TestSessionGrantCountsFromItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(10 * time.Second)
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) { return 0, errCut }
		locks := s.open(t)
		one := mustLock(t, locks.Mutex("a"))
		time.Sleep(5 * time.Second)
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			return s.grant(r, s.clock.Now().Add(-time.Second)), nil // it was known to live a second ago
		}
		two := mustLock(t, locks.Mutex("b"))
		if one.Left() != 8900*time.Millisecond || two.Left() != one.Left() {
			t.Errorf("%v and %v left, want 8.9s: what proves the session alive is good for both", one.Left(), two.Left())
		}
		time.Sleep(time.Minute)
		expectLost(t, one.Unlock(), holdfast.ReasonExpired)
		expectLost(t, two.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule: on a store with sessions TTL and Fixed move only the local end.
func TestFixedOnASession(t *testing.T) {
	for _, ttl := range []time.Duration{3 * time.Second, time.Minute} { // within one session, and beyond it
		synctest.Test(t, func(t *testing.T) {
			s := newScript().withSession(10 * time.Second)
			hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed(), holdfast.TTL(ttl)))
			begun := time.Now()
			<-hold.Context(t.Context()).Done()
			took(t, "the hold", begun, ttl-driver.Margin(ttl))
			expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
			if renewed := len(s.asked("renew")) > 0; renewed != (ttl > 10*time.Second) {
				t.Errorf("the session was renewed: %v", renewed)
			}
			synctest.Wait()
			if s.held() != 0 {
				t.Error("the store was not told")
			}
		})
	}
}

// Rule: Extend on a store with sessions moves the local end of a Fixed hold, and the session is kept alive until then.
func TestExtendOnASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(10 * time.Second)
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed(), holdfast.TTL(5*time.Second)))
		time.Sleep(time.Second)
		if err := hold.Extend(t.Context(), 40*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		if hold.Err() != nil {
			t.Fatalf("after 40s: %v", hold.Err())
		}
		time.Sleep(time.Second)
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule of ownership 4: a hold that was broken moves on when it could have expired, though others go on renewing the session that it
// shares with them.
func TestBrokenHoldOfASessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(6 * time.Second)
		lost := make(map[string]func(error))
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			lost[r.Name] = r.Lost
			return s.grant(r, s.clock.Now()), nil
		}
		locks := s.open(t)
		broken, other := mustLock(t, locks.Mutex("a")), mustLock(t, locks.Mutex("b"))
		time.Sleep(time.Minute)
		lost["a"](&driver.Broken{By: "operator"})
		expectLost(t, broken.Err(), holdfast.ReasonBroken)
		if left := broken.Left(); left <= 0 || left > 6*time.Second {
			t.Errorf("%v left of a broken hold", left)
		}
		time.Sleep(6 * time.Second)
		if broken.Left() != 0 || len(s.asked("release")) != 1 || s.held() != 1 {
			t.Errorf("%v left, released %d times, %d held", broken.Left(), len(s.asked("release")), s.held())
		}
		expectLost(t, broken.Unlock(), holdfast.ReasonBroken)
		mustUnlock(t, other)
	})
}

// Extend cannot make a session longer, and does not say that it did.
func TestExtendBeyondASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := mustLock(t, newScript().withSession(6*time.Second).open(t).Mutex("a"))
		expect(t, hold.Extend(t.Context(), time.Minute), holdfast.ErrTTL)
		if err := hold.Extend(t.Context(), 5*time.Second); err != nil || hold.Left() < 5*time.Second {
			t.Errorf("%v, %v left", err, hold.Left())
		}
		mustUnlock(t, hold)
	})
}
