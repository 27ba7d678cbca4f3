package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule: a lock is held by one at a time, and Lock and TryLock say so.
func TestLockAndTryLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server), connect(t, server)
		first := mustLock(t, one.Mutex("a"))
		if first.Token() == 0 || first.Count() != 1 || first.Err() != nil || first.Name() != "a" {
			t.Errorf("a new hold: token %d, count %d, error %v, name %q", first.Token(), first.Count(), first.Err(), first.Name())
		}
		_, err := two.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)

		granted := make(chan *holdfast.Hold)
		go func() { granted <- mustLock(t, two.Mutex("a")) }()
		synctest.Wait()
		select {
		case <-granted:
			t.Fatal("two hold the lock")
		default:
		}
		time.Sleep(time.Minute) // renewed all the time
		mustUnlock(t, first)
		second := <-granted
		if second.Token() <= first.Token() {
			t.Errorf("token %d after %d", second.Token(), first.Token())
		}
		mustUnlock(t, second)
		third, err := one.Mutex("a").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, third)
	})
}

// connect makes a client of a store in memory, which is closed at the end of the test.
func connect(t testing.TB, server *memlock.Server, opts ...holdfast.OpenOption) *holdfast.Client {
	locks := holdfast.New(server.Connect(), opts...)
	t.Cleanup(func() { locks.Close() })
	return locks
}

// Rule (errors): TryLock of a held lock is ErrHeld and names the holders. It is no error of the store, and of no context.
func TestHeldErrorNamesTheHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		hold := mustLock(t, connect(t, server).Mutex("a", holdfast.Label("night shift")))
		time.Sleep(time.Second)
		_, err := connect(t, server).Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, `"a"`, "night shift", "1s")
		var held *holdfast.HeldError
		if !errors.As(err, &held) {
			t.Fatalf("got %T", err)
		}
		if held.Name != "a" || held.Err != nil || len(held.Holders) != 1 || held.Holders[0].Token != hold.Token() || held.Holders[0].Held != time.Second {
			t.Errorf("got %+v", held)
		}
		if held.RetryIn != 9*time.Second {
			t.Errorf("worth asking again in %v, want when it runs out unless renewed, 9s", held.RetryIn)
		}
		if errors.Is(err, context.Canceled) || errors.As(err, new(*holdfast.StoreError)) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("held is confused with something else: %#v", err)
		}
	})
}

// Rule (errors): a wait that its context cuts off answers an error that is both ErrHeld, with the holders, and ctx.Err().
func TestCutOffWaitIsBothHeldAndContextError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		hold := mustLock(t, connect(t, server).Mutex("a", holdfast.Label("night shift")))
		waiter := connect(t, server)
		for cause, wait := range map[error]func() (context.Context, context.CancelFunc){
			context.DeadlineExceeded: func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), 3*time.Second)
			},
			context.Canceled: func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(3*time.Second, cancel)
				return ctx, cancel
			},
		} {
			ctx, cancel := wait()
			begun := time.Now()
			_, err := waiter.Mutex("a").Lock(ctx)
			took(t, "the wait", begun, 3*time.Second)
			expect(t, err, holdfast.ErrHeld, "night shift", "gave up waiting")
			expect(t, err, cause)
			var held *holdfast.HeldError
			if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Token != hold.Token() {
				t.Errorf("the holders are missing: %#v", err)
			}
			cancel()
		}
		if info, err := waiter.Inspect(t.Context(), "a"); err != nil || len(info.Waiters) != 0 || len(info.Holders) != 1 {
			t.Errorf("a wait that has ended left something behind: %+v, %v", info, err)
		}
	})
}

// Rule (errors): a store that says by Waiting who holds, and then only that the context has ended, still gives both.
func TestCutOffWaitRemembersWhatItWasTold(t *testing.T) {
	for _, c := range []struct {
		told driver.Progress
		is   error
	}{
		{driver.Progress{Place: 2, Holders: []driver.Holder{{Label: "night shift", Token: 7}}}, holdfast.ErrHeld},
		{driver.Progress{Guard: time.Minute}, holdfast.ErrGuarded},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.acquire = func(ctx context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
				r.Waiting(c.told)
				return nil, hang(ctx)
			}
			wait, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.open(t).Mutex("a").Lock(wait)
			expect(t, err, c.is)
			expect(t, err, context.DeadlineExceeded)
			if errors.As(err, new(*holdfast.StoreError)) {
				t.Errorf("a wait is confused with a store that gives no answer: %v", err)
			}
		})
	}
}

// Rule (errors): a guarded store is ErrGuarded with the time that is left, not ErrHeld.
func TestGuarded(t *testing.T) {
	s := newScript()
	s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) {
		return nil, &driver.Guarded{Left: 7 * time.Second}
	}
	_, err := s.open(t).Mutex("a").TryLock(t.Context())
	expect(t, err, holdfast.ErrGuarded, `"a"`, "7s")
	var guarded *holdfast.GuardedError
	if !errors.As(err, &guarded) || guarded.Left != 7*time.Second || guarded.Name != "a" || guarded.Err != nil {
		t.Errorf("got %#v", err)
	}
	if errors.Is(err, holdfast.ErrHeld) {
		t.Error("guarded is confused with held")
	}
}

// Rule (errors): what the store decides is told as it is, at once, as an error of the store; nothing is repeated or undone.
func TestAnswersAreFinal(t *testing.T) {
	for _, answer := range []error{driver.ErrDeadlock, driver.ErrUnsupported, driver.ErrRequest, &driver.Refused{Err: errFull}} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) {
				return nil, &driver.NodeError{Node: "node-3", Err: answer}
			}
			begun := time.Now()
			_, err := s.open(t).Mutex("a").Lock(t.Context())
			took(t, "the answer", begun, 0)
			expect(t, err, answer, "node-3", "script://")
			var told *holdfast.StoreError
			if !errors.As(err, &told) || told.Op != "lock" || told.Node != "node-3" || told.Store != "script://" {
				t.Errorf("got %#v", err)
			}
			if asks := s.asked("acquire", "release"); len(asks) != 1 {
				t.Errorf("the store was asked again, or told to undo: %+v", asks)
			}
		})
	}
}

// Rule (errors): a store that was closed by somebody else is not asked again.
func TestStoreClosedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		mustUnlock(t, mustLock(t, locks.Mutex("a")))
		s.Close()
		wait, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		_, err := locks.Mutex("a").Lock(wait)
		took(t, "Lock", begun, 0)
		expect(t, err, holdfast.ErrClosed, "script://")
		if n := len(s.asked("acquire")); n != 2 {
			t.Errorf("asked %d times", n-1)
		}
	})
}

// Rule (bad input): a context that is nil or has ended already is an error of its own, and the store is not asked.
func TestContextsThatAreOfNoUse(t *testing.T) {
	s := newScript()
	m := s.open(t).Mutex("a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Lock(ended)
	expect(t, err, context.Canceled, `"a"`, "not asked for")
	_, err = m.TryLock(ended)
	expect(t, err, context.Canceled, "not asked for")
	if errors.Is(err, holdfast.ErrHeld) {
		t.Error("nobody was seen to hold the lock")
	}
	_, err = m.Lock(noContext)
	expect(t, err, holdfast.ErrArgument, "context is nil")
	if calls := s.asked(); len(calls) > 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
}

// Rule of time 5: the context passed to Lock bounds only the wait.
func TestTheHoldOutlivesTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hold := mustLockIn(wait, t, newScript().open(t).Mutex("a"))
		ctx := hold.Context(t.Context())
		time.Sleep(time.Hour)
		if hold.Err() != nil || ctx.Err() != nil {
			t.Errorf("the hold ended with the wait: %v, %v", hold.Err(), context.Cause(ctx))
		}
		mustUnlock(t, hold)
	})
}
