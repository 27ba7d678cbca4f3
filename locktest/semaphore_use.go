package locktest

import (
	"context"
	"errors"
	"strings"

	"holdfast.dev"
)

// What programs and people do with a semaphore.

func doWithPermits(t *trial) {
	name := t.name("permits")
	mine, others := t.semaphoreOf(t.locks(), name, 3), t.semaphoreOf(t.locks(), name, 3)
	own := errors.New("what the function returned")
	err := holdfast.Do(t.ctx, mine.Permits(2), func(ctx context.Context) error {
		t.refused(t.ctx, others.Permits(2))
		t.unlock(t.takeNow(t.ctx, others.Permits(1)))
		return own
	})
	if !errors.Is(err, own) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Do with permits returned %v; it must be what its function returned", err)
	}
	t.unlock(t.takeNow(t.ctx, others.Permits(3)))
}

func permitsAreShown(t *trial) {
	name := t.name("permits")
	locks := t.locks()
	sem := t.semaphoreOf(locks, name, 3, holdfast.Label("the holder"))
	hold := t.takeNow(t.ctx, sem.Permits(2))
	waiter := t.queue(func(locks *holdfast.Client) holdfast.Locker {
		return t.semaphoreOf(locks, name, 3, holdfast.Label("the waiter")).Permits(2)
	})
	info, err := sem.Inspect(t.ctx)
	if err != nil {
		t.Fatalf("Inspect of a semaphore: %v", err)
	}
	if info.Mode != holdfast.Permits || info.Limit != 3 || len(info.Holders) != 1 {
		t.Fatalf("Inspect shows %+v; it is a semaphore with limit 3 and one holder", info)
	}
	h := info.Holders[0]
	if h.N != 2 || h.Mode != holdfast.Permits || h.Token != hold.Token() || !strings.HasSuffix(h.Label, "the holder") {
		t.Errorf("Inspect shows the holder %+v; it has 2 permits, token %d, and a label", h, hold.Token())
	}
	if t.guarantees.FIFO && (len(info.Waiters) != 1 || info.Waiters[0].N != 2 || !strings.HasSuffix(info.Waiters[0].Label, "the waiter")) {
		t.Errorf("Inspect shows the waiters %+v; it is one, for 2 permits", info.Waiters)
	}
	if lock, err := locks.Inspect(t.ctx, name); err != nil || len(lock.Holders) > 0 {
		t.Errorf("Inspect of the lock of the same name shows %+v, %v; nobody holds that", lock, err)
	}
	t.unlock(hold)
	t.unlock(waiter.granted())
	if info, err = sem.Inspect(t.ctx); err != nil || len(info.Holders)+len(info.Waiters) > 0 {
		t.Errorf("Inspect of a semaphore that nobody uses shows %+v, %v", info, err)
	}
}

func brokenPermitsAreLost(t *trial) {
	name := t.name("permits")
	ttl := holdfast.TTL(t.promptTTL())
	mine, others := t.semaphoreOf(t.locks(), name, 2, ttl), t.semaphoreOf(t.locks(), name, 2)
	broken, good := t.takeNow(t.ctx, mine.Permits(1)), t.takeNow(t.ctx, mine.Permits(1))
	ctx := broken.Context(t.ctx)
	if err := others.Break(t.ctx, broken.Token()+good.Token(), holdfast.Now()); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Break of a token that no permits have: %v; it must be ErrNotHeld", err)
	}
	if err := others.Break(t.ctx, broken.Token(), holdfast.Now()); err != nil {
		t.Fatalf("Break of permits: %v", err)
	}
	next := t.takeNow(t.ctx, others.Permits(1))
	t.refused(t.ctx, others.Permits(1))
	t.lostFor(broken, ctx, holdfast.ReasonBroken)
	if err := good.Check(t.ctx); err != nil || good.Err() != nil {
		t.Errorf("permits beside those that were broken say error %v, Check %v; they are good", good.Err(), err)
	}
	if err := broken.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of permits that were broken: %v; it must be ErrLost", err)
	}
	t.refused(t.ctx, others.Permits(1)) // what was broken does not give back another's
	t.unlock(good)
	t.unlock(next)
}
