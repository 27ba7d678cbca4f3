package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
)

// inDo runs a function in Do on a goroutine of its own, returns once it runs, and tells on the channel what Do returned.
func inDo(t *testing.T, locks *holdfast.Client, name string, f func(ctx context.Context) error) <-chan error {
	t.Helper()
	result, running := make(chan error, 1), make(chan struct{})
	go func() {
		result <- locks.Do(t.Context(), name, func(ctx context.Context) error {
			close(running)
			return f(ctx)
		})
	}()
	<-running
	return result
}

// Rule: Close ends the context of a function in Do, waits for it, and lets Do release; it does not take the lock away under it.
func TestCloseWaitsForDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		result := inDo(t, locks, "a", func(ctx context.Context) error {
			<-ctx.Done()
			expect(t, context.Cause(ctx), holdfast.ErrClosed)
			time.Sleep(1500 * time.Millisecond)
			if s.held() != 1 {
				t.Error("freed under a running function")
			}
			return errWork
		})
		begun := time.Now()
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
		took(t, "Close", begun, 1500*time.Millisecond)
		if err := <-result; err != errWork {
			t.Errorf("Do returned %v, want what the function said", err)
		}
		if s.held() != 0 {
			t.Error("still held")
		}
	})
}

// Rule: functions that run longer than 2 s keep their locks until they return, however many they are: Close reports each, and frees
// nothing; the store is closed after the last.
func TestCloseDoesNotWaitLongForDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		var results []<-chan error
		for _, name := range []string{"a", "b", "c"} {
			results = append(results, inDo(t, locks, name, func(context.Context) error { time.Sleep(5 * time.Second); return nil }))
		}
		results = append(results, inDo(t, locks, "d", func(context.Context) error { time.Sleep(time.Minute); return nil }))
		begun := time.Now()
		err := locks.Close()
		took(t, "Close", begun, 2*time.Second)
		expect(t, err, err, `"a"`, `"b"`, `"c"`, `"d"`, "still running", "until that returns")
		if s.held() != 4 || len(s.asked("release")) != 0 {
			t.Errorf("%d held, released %d times: freed under a running function", s.held(), len(s.asked("release")))
		}
		for _, r := range results {
			if err := <-r; err != nil {
				t.Errorf("Do returned %v", err)
			}
		}
		synctest.Wait()
		if s.held() != 0 || len(s.asked("close")) != 1 {
			t.Errorf("%d held, closed %d times", s.held(), len(s.asked("close")))
		}
		if tenures, leases, alarms, running := locks.Residue(); tenures+leases+alarms+running != 0 {
			t.Errorf("%d tenures, %d leases, %d alarms, %d calls are left", tenures, leases, alarms, running)
		}
	})
}

// Rule: a lock that is re-entered, in part inside Do, is freed when the last function has returned; the plain holds end with Close.
func TestCloseWithDoAndPlainHoldsTogether(t *testing.T) {
	t.Run("a plain hold inside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			locks := s.open(t)
			result := inDo(t, locks, "a", func(ctx context.Context) error {
				inner := mustLockIn(ctx, t, locks.Mutex("a"))
				<-ctx.Done()
				expect(t, inner.Err(), holdfast.ErrClosed)
				inner.Unlock()
				return nil
			})
			synctest.Wait()
			closeAndExpectNothingHeld(t, s, locks, result)
		})
	})
	t.Run("a plain hold inside, never unlocked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			locks := s.open(t)
			result := inDo(t, locks, "a", func(ctx context.Context) error {
				mustLockIn(ctx, t, locks.Mutex("a"))
				<-ctx.Done()
				return nil
			})
			synctest.Wait()
			closeAndExpectNothingHeld(t, s, locks, result)
		})
	})
	t.Run("a plain hold outside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			locks := s.open(t)
			outer := mustLock(t, locks.Mutex("a"))
			result := make(chan error, 1)
			go func() {
				result <- locks.Do(outer.Context(t.Context()), "a", func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(time.Second)
					if s.held() != 1 {
						t.Error("freed under a running function")
					}
					return nil
				})
			}()
			synctest.Wait()
			closeAndExpectNothingHeld(t, s, locks, result)
			expect(t, outer.Err(), holdfast.ErrClosed)
			expect(t, outer.Unlock(), holdfast.ErrClosed)
		})
	})
}

func closeAndExpectNothingHeld(t *testing.T, s *script, locks *holdfast.Client, result <-chan error) {
	t.Helper()
	if err := locks.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-result; err != nil {
		t.Errorf("Do: %v", err)
	}
	if s.held() != 0 {
		t.Error("the store still has the lock, and nobody was told")
	}
}

// Rule: a function inside a function is waited for too, also if it outlives the outer one.
func TestCloseWaitsForTheInnerDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		inner := make(chan error, 1)
		outer := inDo(t, locks, "a", func(ctx context.Context) error {
			started := make(chan struct{})
			go func() {
				inner <- locks.Do(ctx, "a", func(context.Context) error {
					close(started)
					time.Sleep(time.Second)
					if s.held() != 1 {
						t.Error("freed under a running function")
					}
					return nil
				})
			}()
			<-started
			return nil
		})
		<-outer
		begun := time.Now()
		closeAndExpectNothingHeld(t, s, locks, inner)
		took(t, "Close", begun, time.Second)
	})
}

// Rule: who waits for a sibling inside Do is told at once that the client is closed, and does not wait for the function.
func TestCloseEndsSiblingsOfDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().open(t)
		waits := make(chan error, 1)
		result := inDo(t, locks, "a", func(ctx context.Context) error {
			ctx = context.WithoutCancel(ctx)
			return locks.Do(ctx, "a", func(context.Context) error {
				go func() { _, err := locks.Mutex("a").Lock(ctx); waits <- err }()
				time.Sleep(time.Second)
				return nil
			})
		})
		synctest.Wait()
		go locks.Close()
		begun := time.Now()
		expect(t, <-waits, holdfast.ErrClosed)
		took(t, "the end of the wait", begun, 0)
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// Rule: Close from inside a function in Do does not hang.
func TestCloseFromInsideDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().open(t)
		begun := time.Now()
		locks.Do(t.Context(), "a", func(context.Context) error {
			err := locks.Close()
			expect(t, err, err, "still running")
			return nil
		})
		took(t, "Do with Close inside", begun, 2*time.Second)
	})
}
