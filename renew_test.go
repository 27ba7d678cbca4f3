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

// Rule of time 3: renewal runs at TTL/3, up to a fifth earlier at random, counted from the last request that was confirmed.
func TestRenewalTimes(t *testing.T) {
	for _, ttl := range []time.Duration{100 * time.Millisecond, 10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(ttl)))
			time.Sleep(100 * ttl)
			if hold.Err() != nil {
				t.Fatal(hold.Err())
			}
			mustUnlock(t, hold)
			low, high, spread := ttl/3*8/10, ttl/3, false
			var last, first time.Duration
			for i, r := range s.asked("renew") {
				gap := r.at - last
				if gap < low || gap > high {
					t.Errorf("renewal %d came %v after the last, want %v to %v", i+1, gap, low, high)
				}
				if r.ttl != ttl {
					t.Errorf("renewal %d asked for %v, want %v", i+1, r.ttl, ttl)
				}
				if r.ended != nil || !r.deadline {
					t.Errorf("renewal %d came on a context that had ended (%v), or without a deadline", i+1, r.ended)
				}
				if i == 0 {
					first = gap
				}
				spread = spread || gap != first
				last = r.at
			}
			if n := len(s.asked("renew")); n < 300 || n > 376 || !spread {
				t.Errorf("%d renewals in 100 TTLs, jitter: %v", n, spread)
			}
			time.Sleep(10 * ttl)
			if got := s.asked("renew"); got[len(got)-1].at > 100*ttl {
				t.Error("renewed after Unlock")
			}
		})
	}
}

// Rules of time 1 and 3: renewed moves the deadline to the moment the request went out + what the store says − margin.
func TestRenewedMovesTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(_ context.Context, _ *scriptLease, ttl time.Duration, ask int) (time.Duration, error) {
			time.Sleep(time.Second)
			if ask == 2 {
				return 8 * time.Second, nil
			}
			return ttl, nil
		}
		diary := new(diary)
		hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
		time.Sleep(20 * time.Second)
		for i, e := range diary.of(holdfast.EventRenewed) {
			want := 8900 * time.Millisecond // of 10 s, less the margin, less the second that the answer took
			if i == 1 {
				want = 6920 * time.Millisecond
			}
			if e.Left != want || e.Took != time.Second {
				t.Errorf("renewal %d: %v left, took %v; want %v left", i+1, e.Left, e.Took, want)
			}
		}
		asks := s.asked("renew")
		if gap := asks[2].at - asks[1].at; gap > 8*time.Second/3 {
			t.Errorf("after the store had promised 8s, it was asked again %v later", gap)
		}
		mustUnlock(t, hold)
	})
}

// Rule of time 3: an old or short answer never moves the deadline back.
func TestDeadlineNeverMovesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(_ context.Context, _ *scriptLease, _ time.Duration, _ int) (time.Duration, error) {
			return time.Second, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		before := hold.Left()
		if err := hold.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if hold.Left() != before {
			t.Errorf("%v left after an answer of 1s, want %v", hold.Left(), before)
		}
		mustUnlock(t, hold)
	})
}

// Rule of time 3: an unknown answer moves nothing; it is asked again until the deadline, and then the hold is lost, exactly there.
func TestUnknownRenewalIsAskedAgainUntilTheDeadline(t *testing.T) {
	for what, answer := range map[string]func(context.Context) (time.Duration, error){
		"a broken line":          func(context.Context) (time.Duration, error) { return 0, errCut },
		"no answer":              func(ctx context.Context) (time.Duration, error) { return 0, hang(ctx) },
		"refused":                func(context.Context) (time.Duration, error) { return 0, &driver.Refused{Err: errFull} },
		"renewed for no time":    func(context.Context) (time.Duration, error) { return 0, nil },
		"renewed for less":       func(context.Context) (time.Duration, error) { return -time.Second, nil },
		"an answer of something": func(context.Context) (time.Duration, error) { return time.Hour, errCut },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.renew = func(ctx context.Context, _ *scriptLease, _ time.Duration, _ int) (time.Duration, error) {
					return answer(ctx)
				}
				diary := new(diary)
				hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
				ctx := hold.Context(t.Context())
				begun := time.Now()
				<-ctx.Done()
				took(t, "the hold", begun, 9900*time.Millisecond)
				expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
				asks := len(s.asked("renew"))
				if asks < 2 {
					t.Errorf("asked %d times", asks)
				}
				expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
				time.Sleep(time.Minute)
				if n := len(s.asked("renew")); n != asks {
					t.Errorf("asked %d times more after the loss", n-asks)
				}
				for _, e := range diary.of(holdfast.EventUnrenewed) {
					if e.Err == nil || e.Held+e.Left != 9900*time.Millisecond {
						t.Errorf("an unknown answer: %v held, %v left, %v", e.Held, e.Left, e.Err)
					}
				}
			})
		})
	}
}

// Rule of time 3: the hold lives on if the store answers before the deadline after all.
func TestRenewalRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(_ context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			if at := time.Duration(s.clock.Now()) % (30 * time.Second); at < 5*time.Second {
				return 0, errCut
			}
			return ttl, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		time.Sleep(10 * time.Minute)
		mustUnlock(t, hold)
	})
}

// Rule of time 4: the loss is told on time even by a driver that never returns.
func TestLossDoesNotWaitForTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, never := newScript(), make(chan struct{})
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			<-never
			return time.Hour, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		begun := time.Now()
		<-hold.Context(t.Context()).Done()
		took(t, "the hold", begun, 9900*time.Millisecond)
		close(never) // an answer that comes too late brings nothing back
		synctest.Wait()
		if hold.Left() != 0 {
			t.Errorf("%v left of a lost hold", hold.Left())
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule of time 3: one lock whose renewal hangs never delays another's.
func TestOneHungLeaseDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(ctx context.Context, l *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			if l.r.Name == "hung" {
				return 0, hang(ctx)
			}
			return ttl, nil
		}
		locks := s.open(t)
		hung := mustLock(t, locks.Mutex("hung"))
		var others []*holdfast.Hold
		for i := range 20 {
			others = append(others, mustLock(t, locks.Mutex(strconv.Itoa(i))))
		}
		time.Sleep(time.Minute)
		expectLost(t, hung.Err(), holdfast.ReasonExpired)
		for _, h := range others {
			if h.Left() < 6*time.Second {
				t.Errorf("lock %s was renewed late: %v left", h.Name(), h.Left())
			}
			mustUnlock(t, h)
		}
	})
}
