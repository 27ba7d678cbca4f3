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

// Rule: Check asks the store whether it still has the hold, and asks for nothing more.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			return 8 * time.Second, nil
		}
		if err := hold.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := s.asked("renew"); len(r) != 1 || r[0].ttl != 0 {
			t.Errorf("asked %+v, want a question for 0", r)
		}
		expect(t, hold.Check(noContext), holdfast.ErrArgument)

		s.renew = func(ctx context.Context, _ *scriptLease, _ time.Duration, _ int) (time.Duration, error) {
			return 0, hang(ctx)
		}
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := hold.Check(wait)
		expect(t, err, context.DeadlineExceeded)
		var told *holdfast.StoreError
		if !errors.As(err, &told) || told.Op != "check" || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %#v, want a *StoreError of check", err)
		}
		if hold.Err() != nil {
			t.Errorf("no answer is no loss: %v", hold.Err())
		}
		if got := diary.kinds(); got != "acquired" {
			t.Errorf("events: %s; a Check is no renewal", got)
		}
	})
}

// Rule: a store that no longer has the hold is believed at once, whoever asked.
func TestCheckFindsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			return 0, driver.ErrGone
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		ctx := hold.Context(t.Context())
		expectLost(t, hold.Check(t.Context()), holdfast.ReasonTaken)
		expectLost(t, context.Cause(ctx), holdfast.ReasonTaken)
		expectLost(t, hold.Check(t.Context()), holdfast.ReasonTaken)
		if n := len(s.asked("renew")); n != 1 {
			t.Errorf("a lost hold was asked for %d times", n)
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonTaken)
	})
}

// Rule of time 3: questions of the caller, answered or not, however many, neither delay the renewals nor multiply them.
func TestCheckDoesNotDisturbRenewals(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for what, ctx := range map[string]context.Context{"answered": context.Background(), "unanswered": ended} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				until := driver.Instant(3 * time.Second)
				s.renew = func(ctx context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
					s.mu.Lock()
					defer s.mu.Unlock()
					now := s.clock.Now()
					if ctx.Err() == nil {
						until = max(until, now.Add(ttl))
					}
					return until.Sub(now), ctx.Err()
				}
				hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(3*time.Second), holdfast.Grace(time.Second)))
				for range 300 {
					time.Sleep(100 * time.Millisecond)
					if err := hold.Check(ctx); errors.Is(err, holdfast.ErrLost) {
						t.Fatal(err)
					}
				}
				mustUnlock(t, hold)
				renewals := 0
				for _, r := range s.asked("renew") {
					if r.ttl > 0 {
						renewals++
					}
				}
				if renewals < 30 || renewals > 37 {
					t.Errorf("%d renewals in 10 TTLs, want 30 to 37", renewals)
				}
			})
		})
	}
}

// Rule of time 3: the renewals of one lease run one at a time, also while callers ask, and while others join a session.
func TestOneRenewalAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(10 * time.Second)
		running := 0
		s.renew = func(ctx context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			if ttl == 0 {
				return 0, errCut
			}
			s.mu.Lock()
			if running++; running > 1 {
				t.Error("two renewals of one lease at a time")
			}
			s.mu.Unlock()
			defer func() {
				s.mu.Lock()
				running--
				s.mu.Unlock()
			}()
			return 0, hang(ctx)
		}
		locks := s.open(t)
		hold := mustLock(t, locks.Mutex("a"))
		for range 1000 {
			hold.Check(t.Context())
			mustUnlock(t, mustLock(t, locks.Mutex("b")))
			time.Sleep(50 * time.Millisecond)
		}
		if n := len(s.asked("renew")); n < 1010 {
			t.Errorf("%d questions, among them 1000 of the caller's: hardly any renewal", n)
		}
	})
}
