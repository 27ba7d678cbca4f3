package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Rule (Semaphore): holders take some permits each, all that they asked for or none, and Unlock gives them back.
func TestPermitsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server).Semaphore("a", 5), connect(t, server).Semaphore("a", 5)
		if one.Name() != "a" || one.Limit() != 5 {
			t.Errorf("name %q, limit %d", one.Name(), one.Limit())
		}
		three, err := one.Acquire(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		_, err = two.TryAcquire(t.Context(), 3)
		expect(t, err, holdfast.ErrHeld, `semaphore "a"`)
		rest, err := two.TryAcquire(t.Context(), 2) // the failed one took nothing
		if err != nil {
			t.Fatal(err)
		}
		if three.Token() == rest.Token() || three.Token() == 0 {
			t.Errorf("tokens %d and %d: they must tell the holds apart", three.Token(), rest.Token())
		}
		_, err = one.TryAcquire(t.Context(), 1)
		expect(t, err, holdfast.ErrHeld)
		info, err := two.Inspect(t.Context())
		if err != nil || info.Limit != 5 || info.Mode != holdfast.Permits || len(info.Holders) != 2 || info.Holders[0].N+info.Holders[1].N != 5 {
			t.Errorf("%+v, %v", info, err)
		}
		mustUnlock(t, three)
		again, err := one.TryAcquire(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, again)
		mustUnlock(t, rest)
		expect(t, rest.Unlock(), holdfast.ErrReleased)
	})
}

// Rule (Semaphore): who waits for many permits is not overtaken by those who want few, also not by those who only try.
func TestPermitsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, memlock.NewServer()).Semaphore("a", 3)
		two := mustLock(t, s.Permits(2))
		many := later(t, s.Permits(3))
		few := later(t, s.Permits(1))
		_, err := s.TryAcquire(t.Context(), 1)
		expect(t, err, holdfast.ErrHeld)
		notYet(t, "one is free, but somebody waits for three", many, few)
		mustUnlock(t, two)
		all := <-many
		notYet(t, "none is free", few)
		mustUnlock(t, all)
		mustUnlock(t, <-few)
	})
}

// Rule (Semaphore): ctx bounds only the wait; a wait that it cuts off is ErrHeld, with the holders, and ctx.Err(), and leaves nothing.
func TestAcquireIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, memlock.NewServer()).Semaphore("a", 2, holdfast.Label("night shift"))
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hold, err := s.Acquire(wait, 1)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = s.Acquire(wait, 2)
		took(t, "the wait", begun, time.Second)
		expect(t, err, holdfast.ErrHeld, `semaphore "a"`, "night shift")
		expect(t, err, context.DeadlineExceeded)
		time.Sleep(time.Hour)
		if hold.Err() != nil {
			t.Errorf("the hold ended with the wait: %v", hold.Err())
		}
		if info, err := s.Inspect(t.Context()); err != nil || len(info.Waiters) != 0 || len(info.Holders) != 1 {
			t.Errorf("%+v, %v", info, err)
		}
		mustUnlock(t, hold)
	})
}

// Rule (Semaphore): everybody names the same limit; while it is in use another one is a *LimitError that names both, and once it is
// not, another one is fine.
func TestLimitsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		hold := mustLock(t, connect(t, server).Semaphore("a", 5).Permits(1))
		other := connect(t, server).Semaphore("a", 7)
		begun := time.Now()
		for _, acquire := range []func(context.Context, int) (*holdfast.Hold, error){other.Acquire, other.TryAcquire} {
			_, err := acquire(t.Context(), 2)
			var limit *holdfast.LimitError
			if !errors.As(err, &limit) || *limit != (holdfast.LimitError{N: 2, Want: 7, Have: 5}) {
				t.Fatalf("got %v", err)
			}
			expect(t, err, limit, `semaphore "a"`, "7", "5", "the same")
			if errors.Is(err, holdfast.ErrHeld) || errors.Is(err, holdfast.ErrArgument) {
				t.Errorf("confused with something else: %v", err)
			}
		}
		took(t, "the answer", begun, 0)
		mustUnlock(t, hold)
		mustUnlock(t, mustLock(t, other.Permits(7)))
	})
}

// Rule (LimitError): a request that contradicts itself is ErrArgument too, and the store is not asked.
func TestLimitsThatContradictThemselves(t *testing.T) {
	s := newScript()
	s.promises.Permits = true
	locks := s.open(t)
	for _, c := range []struct{ n, limit int }{{0, 3}, {-1, 3}, {4, 3}, {1, 0}, {0, 0}, {-2, -1}, {1, -1}} {
		sem := locks.Semaphore("a", c.limit)
		for _, acquire := range []func(context.Context, int) (*holdfast.Hold, error){
			sem.Acquire, sem.TryAcquire,
			func(ctx context.Context, n int) (*holdfast.Hold, error) { return sem.Permits(n).Lock(ctx) },
			func(ctx context.Context, n int) (*holdfast.Hold, error) {
				return holdfast.Multi(sem.Permits(n)).Lock(ctx)
			},
		} {
			_, err := acquire(t.Context(), c.n)
			expect(t, err, holdfast.ErrArgument, `semaphore "a"`)
			var limit *holdfast.LimitError
			if !errors.As(err, &limit) || *limit != (holdfast.LimitError{N: c.n, Want: c.limit}) {
				t.Errorf("%d of %d: %v", c.n, c.limit, err)
			}
		}
	}
	if calls := s.asked(); len(calls) != 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
	mustUnlock(t, mustLock(t, locks.Semaphore("a", 3).Permits(3))) // the limit itself is fine
}

// Rule: Acquire reports a bad name, option or context before it touches the store, and so do Inspect and Break.
func TestSemaphoreBadArguments(t *testing.T) {
	s := newScript()
	s.promises.Permits = true
	locks := s.open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		s   *holdfast.Semaphore
		ctx context.Context
		is  error
	}{
		{locks.Semaphore("", 1), t.Context(), holdfast.ErrName},
		{locks.Semaphore("a", 1, holdfast.Grace(-1)), t.Context(), holdfast.ErrTTL},
		{locks.Semaphore("a", 1, nil), t.Context(), holdfast.ErrArgument},
		{locks.Semaphore("a", 1), ended, context.Canceled},
		{locks.Semaphore("a", 1), noContext, holdfast.ErrArgument},
		{holdfast.New(nil).Semaphore("a", 1), t.Context(), holdfast.ErrArgument},
	} {
		_, err := c.s.Acquire(c.ctx, 1)
		expect(t, err, c.is)
		_, err = c.s.TryAcquire(c.ctx, 1)
		expect(t, err, c.is)
	}
	_, err := locks.Semaphore("a", 1).Acquire(ended, 1)
	expect(t, err, context.Canceled, `semaphore "a"`)
	_, err = locks.Semaphore("", 1).Inspect(t.Context())
	expect(t, err, holdfast.ErrName)
	expect(t, locks.Semaphore("", 1).Break(t.Context(), 1), holdfast.ErrName)
	if calls := s.asked("acquire", "release"); len(calls) != 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
}

// Rule of ownership 3: permits are never re-entered, neither by more permits nor by a lock of the same name, nor does a lock help.
func TestPermitsAreNeverReentered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		s := locks.Semaphore("a", 2)
		one := mustLock(t, s.Permits(1))
		ctx := one.Context(t.Context())
		two := mustTry(ctx, t, s.Permits(1)) // the second of two, not the first again
		if one.Count() != 1 || two.Count() != 1 || one.Token() == two.Token() {
			t.Errorf("counts %d and %d, tokens %d and %d", one.Count(), two.Count(), one.Token(), two.Token())
		}
		_, err := s.TryAcquire(two.Context(ctx), 1)
		expect(t, err, holdfast.ErrHeld)
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		begun := time.Now()
		_, err = s.Acquire(wait, 1) // for itself
		took(t, "the wait", begun, time.Minute)
		expect(t, err, holdfast.ErrHeld)
		mustUnlock(t, two)

		lock := mustTry(ctx, t, locks.Mutex("a"))
		inner := mustTry(lock.Context(ctx), t, s.Permits(1))
		if lock.Count() != 1 || inner.Count() != 1 {
			t.Errorf("counts %d and %d", lock.Count(), inner.Count())
		}
		again := mustTry(inner.Context(lock.Context(ctx)), t, locks.Mutex("a")) // through the permits' context the lock is found
		if again.Token() != lock.Token() || lock.Count() != 2 {
			t.Errorf("token %d, count %d", again.Token(), lock.Count())
		}
	})
}

// Rule (tokens): permits do not fence: FenceToken refuses them, Token and Held pass them over.
func TestPermitsDoNotFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		permit := mustLock(t, locks.Semaphore("a", 2).Permits(1))
		_, err := permit.FenceToken()
		expect(t, err, holdfast.ErrUnsupported, `"a"`, "permits do not fence")
		ctx := permit.Context(t.Context())
		if token := holdfast.Token(ctx); token != 0 {
			t.Errorf("the context carries token %d", token)
		}
		if h, ok := locks.Held(ctx, "a"); ok || h != nil {
			t.Errorf("Held: %v", h)
		}
		lock := mustLock(t, locks.Mutex("b"))
		ctx = permit.Context(lock.Context(t.Context()))
		if token := holdfast.Token(ctx); token != lock.Token() || token == 0 {
			t.Errorf("token %d, want that of the lock around the permits, %d", token, lock.Token())
		}
		if h, ok := locks.Held(ctx, "b"); !ok || h != lock {
			t.Errorf("Held: %v", h)
		}
	})
}

// Rule (Semaphore): Permits is a Locker, for Do, which holds them while its function runs.
func TestDoWithPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, memlock.NewServer()).Semaphore("a", 2)
		inside, done := make(chan struct{}, 10), make(chan error)
		for range 6 {
			go func() {
				done <- holdfast.Do(t.Context(), s.Permits(1), func(context.Context) error {
					inside <- struct{}{}
					time.Sleep(time.Second)
					if n := len(inside); n != 2 {
						t.Errorf("%d at once, want 2", n)
					}
					time.Sleep(time.Second)
					<-inside
					return nil
				})
			}()
		}
		begun := time.Now()
		for range 6 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		took(t, "three pairs", begun, 6*time.Second)
	})
}

// Rule of ownership 4: a semaphore's own Inspect and Break are about its permits; those of the client are about the lock of that name.
func TestBreakPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		s := locks.Semaphore("a", 2)
		one, two := mustLock(t, s.Permits(1)), mustLock(t, s.Permits(1))
		if info, err := locks.Inspect(t.Context(), "a"); err != nil || len(info.Holders) != 0 {
			t.Errorf("the lock: %+v, %v", info, err)
		}
		expect(t, locks.Break(t.Context(), "a", one.Token()), holdfast.ErrNotHeld)
		ctx := one.Context(t.Context())
		if err := s.Break(t.Context(), one.Token()); err != nil {
			t.Fatal(err)
		}
		expectLost(t, context.Cause(ctx), holdfast.ReasonBroken)
		_, err := s.TryAcquire(t.Context(), 1)
		expect(t, err, holdfast.ErrHeld)
		expectLost(t, one.Unlock(), holdfast.ReasonBroken)
		three := mustTry(t.Context(), t, s.Permits(1))
		if err := s.Break(t.Context(), three.Token(), holdfast.Now()); err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, mustTry(t.Context(), t, s.Permits(1)))
		expect(t, s.Break(t.Context(), three.Token()), holdfast.ErrNotHeld)
		if two.Err() != nil {
			t.Errorf("the other one's permit: %v", two.Err())
		}
		mustUnlock(t, two)
	})
}

// Rule: a store without permits answers ErrUnsupported, before it is asked for anything.
func TestPermitsUnsupported(t *testing.T) {
	s := newScript()
	_, err := s.open(t).Semaphore("a", 1).Acquire(t.Context(), 1)
	expect(t, err, holdfast.ErrUnsupported, "Semaphore")
	if n := len(s.asked("acquire")); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}
