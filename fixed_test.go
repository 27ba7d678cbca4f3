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

// Rule: a Fixed hold is never renewed: it ends when its TTL is over, and the store is told.
func TestFixedIsNeverRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed(), holdfast.Grace(time.Second)))
		ctx, begun := hold.Context(t.Context()), time.Now()
		<-ctx.Done()
		took(t, "the context", begun, 8900*time.Millisecond)
		expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
		time.Sleep(time.Second)
		synctest.Wait()
		if s.held() != 0 || len(s.asked("renew")) != 0 {
			t.Errorf("%d held, renewed %d times", s.held(), len(s.asked("renew")))
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
	})
}

// left fails the test unless the hold has between low and a little more left.
func left(t *testing.T, h *holdfast.Hold, low time.Duration) {
	t.Helper()
	if l := h.Left(); l < low || l > low+low/50+50*time.Millisecond {
		t.Errorf("%v left, want %v and hardly more", l, low)
	}
}

// Rule: Extend makes sure that at least d is left: it never shortens, and extending twice does not add up.
func TestExtend(t *testing.T) {
	for what, opts := range map[string][]holdfast.Option{"renewed": nil, "fixed": {holdfast.Fixed()}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				hold := mustLock(t, s.open(t).Mutex("a", opts...))
				extend := func(d time.Duration) {
					t.Helper()
					if err := hold.Extend(t.Context(), d); err != nil {
						t.Fatal(err)
					}
				}
				extend(5 * time.Second) // there is more left: nobody is asked
				if n := len(s.asked("renew")); n != 0 || hold.Left() != 9900*time.Millisecond {
					t.Errorf("asked %d times, %v left", n, hold.Left())
				}
				extend(time.Minute)
				left(t, hold, time.Minute)
				before := hold.Left()
				extend(time.Minute) // twice does not add up
				extend(time.Second) // and less does not shorten
				if hold.Left() != before || len(s.asked("renew")) != 1 {
					t.Errorf("%v left, want %v; asked %d times", hold.Left(), before, len(s.asked("renew")))
				}
				time.Sleep(50 * time.Second)
				if what == "fixed" {
					left(t, hold, 10*time.Second)
				}
				extend(time.Minute)
				left(t, hold, time.Minute)
				mustUnlock(t, hold)
			})
		})
	}
}

// Rule: a hold that is renewed goes on being renewed as before after Extend: renewals are how a loss is noticed.
func TestExtendDoesNotSlowRenewalsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		if err := hold.Extend(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		until := s.clock.Now().Add(time.Hour)
		s.renew = func(_ context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			return max(ttl, until.Sub(s.clock.Now())), nil // a store never shortens
		}
		before := len(s.asked("renew"))
		time.Sleep(time.Minute)
		if n := len(s.asked("renew")) - before; n < 18 {
			t.Errorf("renewed %d times in a minute, want 18 at least", n)
		}
		s.change(func() {
			s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
				return 0, driver.ErrGone
			}
		})
		begun := time.Now()
		<-hold.Context(t.Context()).Done()
		if d := time.Since(begun); d > 10*time.Second/3 {
			t.Errorf("the loss was noticed after %v", d)
		}
	})
}

// Rule: what the way costs is not known before: Extend asks for more until at least d is left.
func TestExtendOverASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(_ context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			time.Sleep(700 * time.Millisecond)
			return ttl, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed()))
		if err := hold.Extend(t.Context(), 20*time.Second); err != nil {
			t.Fatal(err)
		}
		if hold.Left() < 20*time.Second {
			t.Errorf("%v left, want at least 20s", hold.Left())
		}
		asked := len(s.asked("renew"))
		<-hold.Context(t.Context()).Done()
		if n := len(s.asked("renew")); n != asked {
			t.Errorf("a Fixed hold was renewed %d times after Extend", n-asked)
		}
		expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
	})
}

// Rule (bad input): a duration that cannot be had is ErrTTL, names the bound, and changes nothing.
func TestExtendOutOfBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.promises.MaxTTL = time.Hour
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.MaxHold(time.Minute)))
		for _, d := range []time.Duration{0, -1, 2 * time.Hour} {
			expect(t, hold.Extend(t.Context(), d), holdfast.ErrTTL, "Extend", "to 58m48s")
		}
		time.Sleep(time.Second)
		expect(t, hold.Extend(t.Context(), time.Minute), holdfast.ErrTTL, "MaxHold", "59s")
		if err := hold.Extend(t.Context(), 59*time.Second); err != nil {
			t.Errorf("up to MaxHold: %v", err)
		}
		mustUnlock(t, hold)

		// The bound itself can be had.
		long := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed()))
		if err := long.Extend(t.Context(), 58*time.Minute+48*time.Second); err != nil {
			t.Errorf("the bound itself: %v", err)
		}
		mustUnlock(t, long)
	})
}

// Rule (errors): an Extend without an answer is a *StoreError, changes nothing, and the hold goes on.
func TestExtendWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unrenewable()
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed()))
		err := hold.Extend(t.Context(), time.Minute)
		expect(t, err, errCut)
		var told *holdfast.StoreError
		if !errors.As(err, &told) || told.Op != "extend" {
			t.Errorf("got %#v, want a *StoreError of extend", err)
		}
		if hold.Left() != 9900*time.Millisecond || hold.Err() != nil {
			t.Errorf("%v left, %v", hold.Left(), hold.Err())
		}
		mustUnlock(t, hold)
		expect(t, hold.Extend(t.Context(), time.Minute), holdfast.ErrReleased)
	})
}

// Rule: a store that promises less than was asked for is ErrTTL, after a few questions.
func TestExtendOnAStoreThatPromisesLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			return 15 * time.Second, nil
		}
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Fixed()))
		expect(t, hold.Extend(t.Context(), time.Minute), holdfast.ErrTTL, "promises less than 1m0s")
		if n := len(s.asked("renew")); n > 12 {
			t.Errorf("asked %d times", n)
		}
		mustUnlock(t, hold)
	})
}
