package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule: Close ends the contexts of all holds with ErrClosed, releases them side by side, and then closes the store.
func TestCloseReleasesWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		s.release = func(_ context.Context, r *driver.Request, _ int) error {
			time.Sleep(100 * time.Millisecond)
			return s.free(r)
		}
		locks := holdfast.New(s, holdfast.WithObserver(diary))
		var holds []*holdfast.Hold
		var contexts []context.Context
		for i := range 200 {
			h := mustLock(t, locks.Mutex(fmt.Sprint(i)))
			holds, contexts = append(holds, h), append(contexts, h.Context(t.Context()))
		}
		begun := time.Now()
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("200 releases of 100ms took %v", d)
		}
		for i, h := range holds {
			expect(t, context.Cause(contexts[i]), holdfast.ErrClosed)
			expect(t, h.Err(), holdfast.ErrClosed)
			expect(t, h.Unlock(), holdfast.ErrClosed)
			if h.Left() != 0 {
				t.Errorf("%v left", h.Left())
			}
		}
		calls := s.asked("release", "close")
		if len(calls) != 201 || calls[200].op != "close" || s.held() != 0 {
			t.Errorf("%d calls, the last one %s, %d held", len(calls), calls[len(calls)-1].op, s.held())
		}
		if n := len(diary.of(holdfast.EventReleased)); n != 200 {
			t.Errorf("%d events of release, want 200", n)
		}
	})
}

// Rule: closing again does nothing, and everything that is used afterwards says ErrClosed and what to do.
func TestUseAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := holdfast.New(s)
		hold := mustLock(t, locks.Mutex("a"))
		ctx := context.WithoutCancel(hold.Context(t.Context()))
		for range 3 {
			if err := locks.Close(); err != nil {
				t.Error(err)
			}
		}
		before := len(s.asked())
		_, err := locks.Mutex("a").Lock(t.Context())
		expect(t, err, holdfast.ErrClosed, "open a new one")
		_, err = locks.Mutex("a").Lock(ctx)
		expect(t, err, holdfast.ErrClosed)
		_, err = locks.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrClosed)
		expect(t, locks.Do(t.Context(), "a", func(context.Context) error { t.Error("run"); return nil }), holdfast.ErrClosed)
		_, err = locks.Inspect(t.Context(), "a")
		expect(t, err, holdfast.ErrClosed)
		for _, err := range locks.List(t.Context(), "") {
			expect(t, err, holdfast.ErrClosed)
		}
		expect(t, locks.Break(t.Context(), "a", 1), holdfast.ErrClosed)
		_, err = locks.Guarantees(t.Context())
		expect(t, err, holdfast.ErrClosed)
		expect(t, hold.Check(t.Context()), holdfast.ErrClosed)
		expect(t, hold.Extend(t.Context(), time.Minute), holdfast.ErrClosed)
		if _, ok := locks.Held(ctx, "a"); ok {
			t.Error("held after Close")
		}
		if n := len(s.asked()); n != before {
			t.Errorf("the store was asked %d times after Close", n-before)
		}
	})
}

// Rule: waiters end with ErrClosed, and leave nothing behind.
func TestCloseEndsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, waiter := connect(t, server), connect(t, server)
		hold := mustLock(t, holder.Mutex("a"))
		inside := mustLock(t, waiter.Mutex("b"))
		ctx := context.WithoutCancel(inside.Context(t.Context()))
		child := mustLockIn(ctx, t, waiter.Mutex("b"))
		results := make(chan error)
		for range 10 {
			go func() { _, err := waiter.Mutex("a").Lock(t.Context()); results <- err }()
			go func() { _, err := waiter.Mutex("b").Lock(ctx); results <- err }() // waits for its sibling
		}
		synctest.Wait()
		begun := time.Now()
		if err := waiter.Close(); err != nil {
			t.Error(err)
		}
		took(t, "Close", begun, 0)
		for range 20 {
			err := <-results
			expect(t, err, holdfast.ErrClosed, "open a new one")
			if errors.Is(err, context.Canceled) {
				t.Errorf("nobody cancelled: %v", err)
			}
		}
		expect(t, child.Err(), holdfast.ErrClosed)
		for _, name := range []string{"a", "b"} {
			info, err := holder.Inspect(t.Context(), name)
			if err != nil || len(info.Waiters) != 0 {
				t.Errorf("%s: %+v, %v", name, info, err)
			}
		}
		mustUnlock(t, hold)
	})
}

// Rule: a grant that comes while the client is closing is undone.
func TestCloseUndoesCrossingGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(ctx context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			asked := s.clock.Now()
			<-ctx.Done()
			return s.grant(r, asked), nil // in hand already
		}
		locks := s.open(t)
		result := make(chan error)
		go func() { _, err := locks.Mutex("a").Lock(t.Context()); result <- err }()
		synctest.Wait()
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
		expect(t, <-result, holdfast.ErrClosed)
		if s.held() != 0 {
			t.Error("left behind")
		}
	})
}

// Rule: Close takes about 2 s at most, however many holds there are and whatever hangs, and reports what it could not release.
func TestCloseIsBounded(t *testing.T) {
	for what, answer := range map[string]func(context.Context) error{
		"no answer": hang, "a broken line": func(context.Context) error { return errCut },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.release = func(ctx context.Context, _ *driver.Request, _ int) error { return answer(ctx) }
				locks := holdfast.New(s)
				for i := range 1000 {
					mustLock(t, locks.Mutex(fmt.Sprint("lock-", i)))
				}
				begun := time.Now()
				err := locks.Close()
				if d := time.Since(begun); d > 2*time.Second {
					t.Errorf("Close took %v", d)
				}
				var told *holdfast.StoreError
				if !errors.As(err, &told) || told.Op != "close" || !strings.Contains(err.Error(), `lock "lock-`) {
					t.Fatalf("got %v, want a *StoreError of close that names locks", err)
				}
				if len(err.Error()) > 2000 {
					t.Errorf("the report has %d bytes", len(err.Error()))
				}
				time.Sleep(time.Hour)
				calls := s.asked("release", "close")
				if calls[len(calls)-1].op != "close" {
					t.Error("the store was asked after it was closed")
				}
			})
		})
	}
}

// Rule: an error of the store's own Close is reported.
func TestCloseReportsTheStore(t *testing.T) {
	s := newScript()
	s.closing = func() error { return errCut }
	expect(t, holdfast.New(s).Close(), errCut, "close", "script://")
}

// Rule (errors): that another client was closed, whose hold's context is used, is that context's end and nothing more.
func TestAnotherClientWasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		a, b := holdfast.New(memlock.New()), holdfast.New(server.Connect())
		defer b.Close()
		stranger := holdfast.New(server.Connect())
		defer stranger.Close()
		mustLock(t, stranger.Mutex("x"))
		ctx := mustLock(t, a.Mutex("a")).Context(t.Context())
		time.AfterFunc(time.Second, func() { a.Close() })
		_, err := b.Mutex("x").Lock(ctx)
		expect(t, err, holdfast.ErrHeld)
		expect(t, err, context.Canceled)
		if errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("b is said to be closed: %v", err)
		}
	})
}
