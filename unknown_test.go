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

// Rule of ownership 2: after an unknown answer the store is asked again, under the same attempt, until it answers.
func TestUnknownAnswersAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
			if ask < 30 {
				return nil, errCut
			}
			return s.grant(r, s.clock.Now()), nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		asks := s.asked("acquire")
		if len(asks) != 30 {
			t.Errorf("asked %d times, want 30", len(asks))
		}
		for i, a := range asks {
			if a.id != asks[0].id {
				t.Fatalf("ask %d came under another attempt", i+1)
			}
			if i > 0 && (a.at-asks[i-1].at < 5*time.Millisecond || a.at-asks[i-1].at > time.Second) {
				t.Errorf("ask %d came %v after the one before, want 5ms to 1s", i+1, a.at-asks[i-1].at)
			}
		}
		if len(s.asked("release")) != 0 {
			t.Error("an attempt that holds was undone")
		}
		mustUnlock(t, hold)
	})
}

// Rule (errors): a store that gives no answer until the context ends is a *StoreError that is ctx.Err() too, and not ErrHeld; what
// may have been left behind is undone.
func TestUnreachableUntilTheContextEnds(t *testing.T) {
	for what, answer := range map[string]func(context.Context) error{
		"no answer":     hang,
		"a broken line": func(context.Context) error { return errCut },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.acquire = func(ctx context.Context, _ *driver.Request, _ int) (*driver.Grant, error) { return nil, answer(ctx) }
				wait, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				begun := time.Now()
				_, err := s.open(t).Mutex("a").Lock(wait)
				took(t, "Lock", begun, 3*time.Second)
				expect(t, err, context.DeadlineExceeded, "script://")
				if !errors.As(err, new(*holdfast.StoreError)) || errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("got %v", err)
				}
				if undone := s.asked("release"); len(undone) != 1 || undone[0].id != s.asked("acquire")[0].id {
					t.Errorf("undone %+v, want the attempt, once", undone)
				}
			})
		})
	}
}

// Rule: TryLock asks a store that gives no usable answer three times, then undoes, and says what the store said.
func TestTryLockAsksThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) { return nil, errCut }
		_, err := s.open(t).Mutex("a").TryLock(t.Context())
		expect(t, err, errCut)
		if !errors.As(err, new(*holdfast.StoreError)) {
			t.Errorf("got %#v, want a *StoreError", err)
		}
		if asks, undone := s.asked("acquire"), s.asked("release"); len(asks) != 3 || len(undone) != 1 || undone[0].id != asks[2].id {
			t.Errorf("asked %d times, undone %d times", len(asks), len(undone))
		}
	})
}

// Rule of ownership 2: an answer that comes after an unknown one does not end the matter: the first request may still be on its way.
func TestUndoneAlsoAfterALaterAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(_ context.Context, _ *driver.Request, ask int) (*driver.Grant, error) {
			if ask == 1 {
				return nil, errCut
			}
			return nil, &driver.Held{Holders: []driver.Holder{{Label: "night shift"}}}
		}
		_, err := s.open(t).Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, "night shift")
		if undone := s.asked("release"); len(undone) != 1 {
			t.Errorf("undone %d times, want once", len(undone))
		}
	})
}

// Rule: a store that cannot say what it promises is asked again, like one that cannot be reached; nothing is undone, because nothing
// was asked for.
func TestUnknownGuarantees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.guarantees = func(_ context.Context, ask int) (holdfast.Guarantees, error) {
			if ask < 5 {
				return holdfast.Guarantees{}, errCut
			}
			return s.promises, nil
		}
		locks := s.open(t)
		_, err := locks.Mutex("a").TryLock(t.Context())
		expect(t, err, errCut)
		if calls := s.asked("acquire", "release"); len(calls) != 0 {
			t.Errorf("the store was asked: %+v", calls)
		}
		hold := mustLock(t, locks.Mutex("a"))
		mustUnlock(t, hold)
		mustUnlock(t, mustLock(t, locks.Mutex("a")))
		if n := len(s.asked("guarantees")); n != 5 {
			t.Errorf("asked for guarantees %d times, want 5: what is known is not asked again", n)
		}
	})
}

// Rule of ownership 2: an attempt that the store has dropped (ErrGone) begins anew, under a new id, and the old one stays undone.
func TestGoneBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
			switch ask {
			case 1:
				return nil, driver.ErrGone
			case 2:
				return nil, errCut // then it is not known what became of it
			case 3:
				return nil, driver.ErrGone
			}
			return s.grant(r, s.clock.Now()), nil
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		asks := s.asked("acquire")
		if len(asks) != 4 || asks[0].id == asks[1].id || asks[1].id != asks[2].id || asks[2].id == asks[3].id || asks[0].id == asks[3].id {
			t.Errorf("want three attempts, the second asked for twice: %d asks", len(asks))
		}
		if undone := s.asked("release"); len(undone) != 1 || undone[0].id != asks[1].id {
			t.Errorf("want the second attempt undone, once: %d", len(undone))
		}
		mustUnlock(t, hold)
	})
}

// Rule: TryLock does not go on for ever with a store that drops every attempt.
func TestTryLockGivesUpAnew(t *testing.T) {
	for what, answer := range map[string]func(s *script, r *driver.Request) (*driver.Grant, error){
		"gone": func(*script, *driver.Request) (*driver.Grant, error) { return nil, driver.ErrGone },
		"lost before it was granted": func(s *script, r *driver.Request) (*driver.Grant, error) {
			r.Lost(driver.ErrSession)
			return s.grant(r, s.clock.Now()), nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
					if ask > 20 {
						return nil, &driver.Refused{Err: errFull} // or the test would not end
					}
					return answer(s, r)
				}
				_, err := s.open(t).Mutex("a").TryLock(t.Context())
				if !errors.As(err, new(*holdfast.StoreError)) || errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("got %v, want a *StoreError", err)
				}
				if asks := s.asked("acquire"); len(asks) > 5 {
					t.Errorf("asked %d times", len(asks))
				}
				if s.held() != 0 {
					t.Error("something was left behind")
				}
			})
		})
	}
}

// Rule (driver contract): a driver that answers with neither a grant nor an error is told so; nothing panics, and what it may have
// done is undone.
func TestNeitherGrantNorError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) { return nil, nil }
		_, err := s.open(t).Mutex("a").TryLock(t.Context())
		var problem *holdfast.StoreError
		if !errors.As(err, &problem) || errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%v, want a *StoreError", err)
		}
		if len(s.asked("release")) == 0 {
			t.Error("nothing was undone")
		}
	})
}
