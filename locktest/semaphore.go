package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast.dev"
)

var semaphore = topic{"semaphore", []casus{
	{"load", permitting, permitsUnderLoad,
		"P2: under load no more permits are held at once than the limit, over several clients"},
	{"many", permitting, someOfLimit,
		"P2: n permits are taken all or none, and given back together"},
	{"toomany", permitting, moreThanLimit,
		"P2: no permits, or more than the limit, are a *LimitError and ErrArgument, before the store is asked"},
	{"fifo", permitting | fifo, manyAreNotOvertaken,
		"P2: who waits for many permits is not overtaken by those who want few"},
	{"limits", permitting, limitsDiffer,
		"P2: a limit that differs from the one in use is a *LimitError that names both; when nobody uses it any limit will do"},
	{"fence", permitting, permitsDoNotFence,
		"P2: permits do not fence: FenceToken is ErrUnsupported, and Token passes them over"},
	{"noreentry", permitting, permitsDoNotReenter,
		"O3: permits are never re-entered: who holds some and asks for more is a stranger"},
	{"strangers", permitting, mutexAndSemaphoreAreStrangers,
		"P2: the Mutex and the Semaphore of one name have nothing to do with each other, also not by their contexts"},
	{"do", permitting, doWithPermits,
		"P2: Do holds permits while its function runs"},
	{"shown", permitting | inspector, permitsAreShown,
		"P2: Inspect of a semaphore shows its limit, who holds how many, and who waits"},
	{"broken", permitting | breaker | tokens, brokenPermitsAreLost,
		"B, T4: Break of permits ends exactly that hold, which is lost with reason broken"},
}}

func permitsUnderLoad(t *trial) {
	const clients, goroutines, rounds, limit = 3, 3, 4, 3
	name := t.name("permits")
	var held atomic.Int64
	var all sync.WaitGroup
	for c := range clients {
		sem := t.semaphoreOf(t.locks(), name, limit)
		for g := range goroutines {
			all.Go(func() {
				for i := range rounds {
					n := (c+g+i)%limit + 1
					err := holdfast.Do(t.ctx, sem.Permits(n), func(context.Context) error {
						defer held.Add(-int64(n))
						if now := held.Add(int64(n)); now > limit {
							return fmt.Errorf("%d permits were held at once; the limit is %d", now, limit)
						}
						yield()
						return nil
					})
					if err != nil {
						t.Errorf("Do with %d permits: %v", n, err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	t.unlock(t.takeNow(t.ctx, t.semaphoreOf(t.locks(), name, limit).Permits(limit))) // all are back
}

func someOfLimit(t *trial) {
	name := t.name("permits")
	mine, others := t.semaphoreOf(t.locks(), name, 5), t.semaphoreOf(t.locks(), name, 5)
	two, err := mine.Acquire(t.ctx, 2)
	if err != nil {
		t.Fatalf("Acquire of 2 of 5: %v", err)
	}
	t.refused(t.ctx, others.Permits(4))
	three, err := others.TryAcquire(t.ctx, 3)
	if err != nil {
		t.Fatalf("TryAcquire of the 3 permits that are free: %v", err)
	}
	t.refused(t.ctx, mine.Permits(1))
	t.unlock(two)
	t.refused(t.ctx, others.Permits(3))
	t.unlock(three)
	t.unlock(t.takeNow(t.ctx, others.Permits(5)))
}

func moreThanLimit(t *trial) {
	name := t.name("permits")
	locks := t.locks()
	for _, ask := range [][2]int{{4, 3}, {0, 3}, {-1, 3}, {1, 0}, {1, -1}} {
		l := t.semaphoreOf(locks, name, ask[1]).Permits(ask[0])
		t.neverWaits(t.ctx, l, holdfast.ErrArgument)
		if _, err := l.TryLock(t.ctx); !errors.As(err, new(*holdfast.LimitError)) {
			t.Errorf("%d permits of %d: %v; the answer must be a *LimitError", ask[0], ask[1], err)
		}
	}
	t.unlock(t.takeNow(t.ctx, t.semaphoreOf(locks, name, 3).Permits(3)))
}

func manyAreNotOvertaken(t *trial) {
	name := t.name("permits")
	sem := t.semaphoreOf(t.locks(), name, 3)
	held := []*holdfast.Hold{t.takeNow(t.ctx, sem.Permits(1)), t.takeNow(t.ctx, sem.Permits(1))}
	queue := func(n int) *pending {
		t.Helper()
		return t.queue(func(locks *holdfast.Client) holdfast.Locker { return t.semaphoreOf(locks, name, 3).Permits(n) })
	}
	all := queue(3)
	t.refused(t.ctx, sem.Permits(1)) // one is free, but somebody waits
	one := queue(1)
	t.unlock(held[0])
	all.waits()
	one.waits()
	t.unlock(held[1])
	many := all.granted()
	one.waits()
	t.unlock(many)
	t.unlock(one.granted())
}

func limitsDiffer(t *trial) {
	name := t.name("permits")
	mine, others := t.locks(), t.locks()
	hold := t.takeNow(t.ctx, t.semaphoreOf(mine, name, 3).Permits(1))
	for _, limit := range []int{2, 4} {
		for _, locks := range []*holdfast.Client{mine, others} {
			l := t.semaphoreOf(locks, name, limit).Permits(1)
			for _, lock := range []func(context.Context) (*holdfast.Hold, error){l.TryLock, l.Lock} {
				err := t.within("an answer to another limit than the one in use", func() error {
					_, err := lock(t.ctx)
					return err
				})
				var differs *holdfast.LimitError
				if !errors.As(err, &differs) || differs.Want != limit || differs.Have != 3 {
					t.Fatalf("limit %d where 3 is in use: %v; the answer must be a *LimitError that names both", limit, err)
				}
				if !strings.Contains(err.Error(), name) {
					t.Errorf("the error does not name the semaphore: %v", err)
				}
			}
		}
	}
	t.unlock(t.takeNow(t.ctx, t.semaphoreOf(others, name, 3).Permits(2))) // a wrong limit has changed nothing
	t.unlock(hold)
	for _, limit := range []int{2, 4} {
		other := t.takeNow(t.ctx, t.semaphoreOf(others, name, limit).Permits(limit))
		t.refused(t.ctx, t.semaphoreOf(mine, name, limit).Permits(1))
		t.unlock(other)
	}
}

func permitsDoNotFence(t *trial) {
	locks := t.locks()
	sem := t.semaphoreOf(locks, t.name("permits"), 2)
	alone := t.takeNow(t.ctx, sem.Permits(1))
	if token, err := alone.FenceToken(); !errors.Is(err, holdfast.ErrUnsupported) || token != 0 {
		t.Errorf("FenceToken of permits: %d, %v; it must be ErrUnsupported", token, err)
	}
	if token := holdfast.Token(alone.Context(t.ctx)); token != 0 {
		t.Errorf("Token of a context of permits is %d; they do not fence", token)
	}
	lock := t.try(locks, t.name("lock"))
	inner := t.takeNow(lock.Context(t.ctx), sem.Permits(1))
	ctx := inner.Context(lock.Context(t.ctx))
	if token := holdfast.Token(ctx); token != lock.Token() {
		t.Errorf("Token of a context of permits inside a lock is %d; the lock's is %d", token, lock.Token())
	}
	if found, ok := locks.Held(ctx, lock.Name()); !ok || found.Token() != lock.Token() {
		t.Errorf("Held finds %v, %v behind permits; the context carries the lock with token %d", found, ok, lock.Token())
	}
	for _, hold := range []*holdfast.Hold{inner, lock, alone} {
		t.unlock(hold)
	}
}

func permitsDoNotReenter(t *trial) {
	name := t.name("permits")
	locks := t.locks()
	sem := t.semaphoreOf(locks, name, 2)
	first := t.takeNow(t.ctx, sem.Permits(1))
	if _, ok := locks.Held(first.Context(t.ctx), name); ok {
		t.Error("Held finds permits, as though they were a lock")
	}
	second := t.takeNow(first.Context(t.ctx), sem.Permits(1))
	if first.Count() != 1 || second.Count() != 1 {
		t.Errorf("permits are entered %d and %d times; they are two holds, of one each", first.Count(), second.Count())
	}
	if first.Token() != 0 && first.Token() == second.Token() {
		t.Errorf("two holds of permits have the same token %d", first.Token())
	}
	t.refused(second.Context(t.ctx), sem.Permits(1)) // none is left, not even for itself
	t.unlock(first)
	if second.Err() != nil {
		t.Errorf("permits ended with those in whose context they were taken: %v", second.Err())
	}
	t.refused(t.ctx, sem.Permits(2))
	t.unlock(second)
	t.unlock(t.takeNow(t.ctx, sem.Permits(2)))
}

func mutexAndSemaphoreAreStrangers(t *trial) {
	name := t.name("both")
	locks, others := t.locks(), t.locks()
	lock := t.try(locks, name)
	permit := t.takeNow(lock.Context(t.ctx), t.semaphoreOf(locks, name, 1).Permits(1))
	if lock.Count() != 1 || permit.Count() != 1 {
		t.Errorf("the lock is entered %d times, the permit %d times; they have nothing to do with each other", lock.Count(), permit.Count())
	}
	t.heldByOther(others, name)
	t.refused(t.ctx, t.semaphoreOf(others, name, 1).Permits(1))
	t.unlock(lock)
	t.refused(t.ctx, t.semaphoreOf(others, name, 1).Permits(1))
	theirs := t.try(others, name)
	t.refused(permit.Context(t.ctx), t.mutexOf(locks, name)) // with the permit's context nobody re-enters the lock
	t.unlock(theirs)
	t.unlock(permit)
}
