package holdfast_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var errWork = errors.New("the work failed")

// Rule: Do runs the function under the lock, with a context that carries the token, and returns what it returns, unchanged.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		for _, want := range []error{nil, errWork} {
			var seen context.Context
			err := locks.Do(t.Context(), "a", func(ctx context.Context) error {
				seen = ctx
				if s.held() != 1 || holdfast.Token(ctx) == 0 || ctx.Err() != nil {
					t.Errorf("%d held, token %d, context %v", s.held(), holdfast.Token(ctx), ctx.Err())
				}
				if hold, ok := locks.Held(ctx, "a"); !ok || hold.Token() != holdfast.Token(ctx) {
					t.Error("the context does not know its hold")
				}
				return want
			})
			if err != want {
				t.Errorf("got %v, want %v itself", err, want)
			}
			if s.held() != 0 {
				t.Error("still held after Do")
			}
			expect(t, context.Cause(seen), holdfast.ErrReleased)
		}
	})
}

// Rule of time 4: if the lock was lost meanwhile Do returns the function's error joined with ErrLost; the context tells the function.
func TestDoSaysThatTheLockWasLost(t *testing.T) {
	for _, work := range []error{nil, errWork} {
		synctest.Test(t, func(t *testing.T) {
			s := unrenewable()
			err := s.open(t).Do(t.Context(), "a", func(ctx context.Context) error {
				<-ctx.Done()
				expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
				time.Sleep(time.Second) // Do waits for it nevertheless
				return work
			})
			expectLost(t, err, holdfast.ReasonExpired)
			if work != nil {
				expect(t, err, work)
			}
		})
	}
}

// Rule: what could not be confirmed is told too, joined with what the function said.
func TestDoSaysThatTheReleaseIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.release = func(context.Context, *driver.Request, int) error { return errCut }
		err := s.open(t).Do(t.Context(), "a", func(context.Context) error { return errWork })
		expect(t, err, errWork)
		var told *holdfast.StoreError
		if !errors.As(err, &told) || told.Op != "unlock" || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// Rule: whatever ends the function, the lock is released: a panic passes through, and so does runtime.Goexit.
func TestDoReleasesAfterPanicAndGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		func() {
			defer func() {
				if got := recover(); got != "oops" {
					t.Errorf("recovered %v", got)
				}
			}()
			locks.Do(t.Context(), "a", func(context.Context) error { panic("oops") })
		}()
		if s.held() != 0 {
			t.Error("still held after a panic")
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			locks.Do(t.Context(), "a", func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-done
		if s.held() != 0 || len(s.asked("release")) != 2 {
			t.Errorf("%d held after Goexit, %d releases", s.held(), len(s.asked("release")))
		}
	})
}

// Rule (bad input): a nil function or locker is ErrArgument, before the store is touched.
func TestDoNothing(t *testing.T) {
	s := newScript()
	locks := s.open(t)
	expect(t, locks.Do(t.Context(), "a", nil), holdfast.ErrArgument, "nil")
	expect(t, holdfast.Do(t.Context(), nil, func(context.Context) error { return nil }), holdfast.ErrArgument, "nil")
	if calls := s.asked(); len(calls) != 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
}

// Rule: a function is not run when the lock could not be had.
func TestDoWithoutTheLock(t *testing.T) {
	s := newScript()
	s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) { return nil, driver.ErrDeadlock }
	err := s.open(t).Do(t.Context(), "a", func(context.Context) error { t.Error("the function was run"); return nil })
	expect(t, err, holdfast.ErrDeadlock)
}

// A lockerFunc is a Locker of a test's own.
type lockerFunc func(context.Context) (*holdfast.Hold, error)

func (l lockerFunc) Lock(ctx context.Context) (*holdfast.Hold, error)    { return l(ctx) }
func (l lockerFunc) TryLock(ctx context.Context) (*holdfast.Hold, error) { return l(ctx) }

// Rule: a function is not run under a hold that ended before it began: its client was closed, it was lost, or it was unlocked.
func TestDoWithAHoldThatHasEnded(t *testing.T) {
	for what, is := range map[string]error{"closed": holdfast.ErrClosed, "lost": holdfast.ErrLost, "unlocked": holdfast.ErrReleased} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := unrenewable()
				locks := s.open(t)
				err := holdfast.Do(t.Context(), lockerFunc(func(ctx context.Context) (*holdfast.Hold, error) {
					hold := mustLockIn(ctx, t, locks.Mutex("a"))
					switch what {
					case "closed":
						locks.Close()
					case "lost":
						time.Sleep(10 * time.Second)
					case "unlocked":
						mustUnlock(t, hold)
					}
					return hold, nil
				}), func(context.Context) error { t.Error("the function was run"); return nil })
				expect(t, err, is)
				if s.held() != 0 {
					t.Error("still held")
				}
			})
		})
	}
}

// Rule of time 5: the context of Do bounds the wait and, as a parent, the function's context; the hold itself ends with the function.
func TestDoOutlivesItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.open(t).Do(wait, "a", func(ctx context.Context) error {
			<-ctx.Done()
			expect(t, context.Cause(ctx), context.DeadlineExceeded)
			time.Sleep(time.Minute)
			if s.held() != 1 {
				t.Error("freed under a running function")
			}
			return nil
		})
		if err != nil || s.held() != 0 {
			t.Errorf("%v, %d held", err, s.held())
		}
	})
}
