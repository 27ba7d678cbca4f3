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

// Rule (Hold of a Multi): Extend makes sure that at least d is left of all parts, also when one of their stores takes its time.
func TestMultiExtendOfSlowStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, slow := place("1"), place("2")
		slow.renew = func(_ context.Context, _ *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			time.Sleep(time.Second)
			return ttl, nil
		}
		hold := mustLock(t, holdfast.Multi(fast.open(t).Mutex("a", holdfast.Fixed()), slow.open(t).Mutex("a", holdfast.Fixed())))
		if err := hold.Extend(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if hold.Left() < time.Minute {
			t.Errorf("%v left, want a minute at least", hold.Left())
		}
		mustUnlock(t, hold)
	})
}

// Rule: a store that cannot say who it is is asked again until the context ends: a *StoreError that is ctx.Err() too. Nothing is taken.
func TestMultiIdentityUnknown(t *testing.T) {
	for what, answer := range map[string]func(context.Context) error{
		"no answer":     hang,
		"a broken line": func(context.Context) error { return errCut },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := place("1")
				s.identify = func(ctx context.Context, _ int) (string, error) { return "", answer(ctx) }
				wait, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begun := time.Now()
				_, err := holdfast.Multi(place("2").open(t).Mutex("a"), s.open(t).Mutex("a")).Lock(wait)
				took(t, "Lock", begun, 10*time.Second)
				expect(t, err, context.DeadlineExceeded, "script://")
				if !errors.As(err, new(*holdfast.StoreError)) || errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("got %v", err)
				}
				if calls := s.asked("acquire", "release"); len(calls) != 0 {
					t.Errorf("the store was asked for something: %+v", calls)
				}
			})
		})
	}
}

// Rule of time 5: a Multi that is given up waits at most a second for its cleanup, however many parts it had; the rest goes on behind.
func TestMultiCleansUpWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(ctx context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			if r.Name == "d" {
				return nil, errors.Join(&driver.Held{}, hang(ctx))
			}
			return s.grant(r, s.clock.Now()), nil
		}
		s.release = func(ctx context.Context, _ *driver.Request, _ int) error { return hang(ctx) }
		locks := s.open(t)
		wait, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("c"), locks.Mutex("d")).Lock(wait)
		expect(t, err, context.DeadlineExceeded)
		if d := time.Since(begun); d > 3*time.Second {
			t.Errorf("it took %v to give up after 2s", d)
		}
		s.change(func() { s.release = nil })
		time.Sleep(time.Minute)
		if s.held() != 0 {
			t.Errorf("%d left behind", s.held())
		}
	})
}

// Rule (Unlock): it waits for the store 5 s at most, also where several parts must be released.
func TestMultiUnlockIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		hold := mustLock(t, holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("c")))
		s.change(func() { s.release = func(ctx context.Context, _ *driver.Request, _ int) error { return hang(ctx) } })
		begun := time.Now()
		err := hold.Unlock()
		expect(t, err, context.DeadlineExceeded, `"a"`, `"b"`, `"c"`, "background")
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("Unlock took %v", d)
		}
		s.change(func() { s.release = nil })
		time.Sleep(time.Minute)
		if s.held() != 0 {
			t.Errorf("%d left behind", s.held())
		}
	})
}
