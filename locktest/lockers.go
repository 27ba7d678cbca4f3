package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast.dev"
)

// What cases about anything that can be held are written in: a Mutex, readers, permits, a Multi.

// mutexOf, and those after it, have the long TTL, so that nothing runs out while a case is at work.
func (t *trial) mutexOf(locks *holdfast.Client, name string, opts ...holdfast.Option) *holdfast.Mutex {
	return locks.Mutex(name, t.withTTL(opts)...)
}

func (t *trial) rwmutexOf(locks *holdfast.Client, name string, opts ...holdfast.Option) *holdfast.RWMutex {
	return locks.RWMutex(name, t.withTTL(opts)...)
}

func (t *trial) readerOf(locks *holdfast.Client, name string, opts ...holdfast.Option) *holdfast.Reader {
	return t.rwmutexOf(locks, name, opts...).Reader()
}

func (t *trial) semaphoreOf(locks *holdfast.Client, name string, limit int, opts ...holdfast.Option) *holdfast.Semaphore {
	return locks.Semaphore(name, limit, t.withTTL(opts)...)
}

// take locks l, waiting if need be, and ends the case if that fails. ctx may be that of a hold, for re-entry.
func (t *trial) take(ctx context.Context, l holdfast.Locker) *holdfast.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, t.enough())
	defer cancel()
	hold, err := l.Lock(ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return hold
}

// takeNow locks l without waiting, and ends the case if that fails: it must be free.
func (t *trial) takeNow(ctx context.Context, l holdfast.Locker) *holdfast.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, t.enough())
	defer cancel()
	hold, err := l.TryLock(ctx)
	if err != nil {
		t.Fatalf("TryLock of what is free: %v", err)
	}
	return hold
}

// refused ends the case unless TryLock says that somebody holds l.
func (t *trial) refused(ctx context.Context, l holdfast.Locker) *holdfast.HeldError {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, t.enough())
	defer cancel()
	hold, err := l.TryLock(ctx)
	if err == nil {
		t.Fatalf("TryLock was granted: %v; somebody else has it", hold)
	}
	var held *holdfast.HeldError
	if !errors.As(err, &held) || !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("TryLock: %v; the answer must be ErrHeld", err)
	}
	return held
}

// neverWaits ends the case unless Lock and TryLock both refuse l with that error, without waiting for anybody.
func (t *trial) neverWaits(ctx context.Context, l holdfast.Locker, want error) {
	t.Helper()
	for i, lock := range []func(context.Context) (*holdfast.Hold, error){l.TryLock, l.Lock} {
		verb := []string{"TryLock", "Lock"}[i]
		err := t.within("an answer to "+verb+", which must not wait", func() error {
			_, err := lock(ctx)
			return err
		})
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v; the answer must be %q", verb, err, want)
		}
	}
}

// A pending is a Lock on a goroutine of its own.
type pending struct {
	t      *trial
	cancel context.CancelFunc
	done   chan struct{}
	hold   *holdfast.Hold
	err    error
}

// pend starts a Lock of l. Its context ends with cancel or with the case.
func (t *trial) pend(ctx context.Context, l holdfast.Locker) *pending {
	ctx, cancel := context.WithCancel(ctx)
	p := &pending{t: t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.hold, p.err = l.Lock(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-p.done:
		case <-time.After(patience()):
			t.Error("A4: Lock did not return although its context has ended: Acquire returns at once then")
		}
	})
	return p
}

// queue starts a Lock that must wait, on a client of its own, and returns when the store has it wait.
func (t *trial) queue(make func(*holdfast.Client) holdfast.Locker) *pending {
	t.Helper()
	waits, once := newSignal()
	locks := t.locks(holdfast.WithObserver(holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
		if e.Kind == holdfast.EventWaiting {
			once()
		}
	})))
	p := t.pend(t.ctx, make(locks))
	ctx, cancel := t.patience()
	defer cancel()
	select {
	case <-waits:
	case <-p.done:
		p.waits()
	case <-ctx.Done():
		t.Fatal("Lock neither was granted nor told its observer that it waits")
	}
	return p
}

// newSignal returns a channel and what closes it, as often as one likes.
func newSignal() (<-chan struct{}, func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// granted waits for the hold, which must come.
func (p *pending) granted() *holdfast.Hold {
	p.t.Helper()
	in(p.t, "a grant of a lock that is free", p.done)
	if p.err != nil {
		p.t.Fatalf("Lock: %v", p.err)
	}
	return p.hold
}

// waits ends the case if Lock has returned.
func (p *pending) waits() {
	p.t.Helper()
	select {
	case <-p.done:
		if p.err != nil {
			p.t.Fatalf("Lock: %v; it must go on waiting", p.err)
		}
		p.t.Fatalf("Lock was granted: %v; it must go on waiting", p.hold)
	default:
	}
}

// cancelled ends the context and returns the error with which Lock then returns, ErrHeld and ctx.Err().
func (p *pending) cancelled() error {
	p.t.Helper()
	p.cancel()
	in(p.t, "the return of a Lock whose context has ended", p.done)
	if !errors.Is(p.err, holdfast.ErrHeld) || !errors.Is(p.err, context.Canceled) {
		p.t.Fatalf("Lock that was cancelled: %v, %v; the answer must be ErrHeld and ctx.Err()", p.hold, p.err)
	}
	return p.err
}
