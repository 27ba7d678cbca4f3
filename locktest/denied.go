package locktest

import (
	"errors"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// What Guarantees denies answers ErrUnsupported when somebody asks for it, never a silent no-op.
var denied = topic{"denied", []casus{
	{"tokens", noTokens, deniedTokens,
		"G: without fencing tokens are zero"},
	{"shared", noShared, deniedRequest(func(r *driver.Request) { r.Mode = driver.Shared }),
		"A7: a mode that Guarantees denies is ErrUnsupported: Shared"},
	{"permits", noPermits, deniedRequest(func(r *driver.Request) { r.Mode, r.N, r.Limit = driver.Permits, 1, 2 }),
		"A7: a mode that Guarantees denies is ErrUnsupported: Permits"},
	{"reader", noShared, deniedReader,
		"A7, P1: a Reader on a store that denies Shared is ErrUnsupported, alone and in a Multi; the writer is not"},
	{"semaphore", noPermits, deniedSemaphore,
		"A7, P2: a Semaphore on a store that denies Permits is ErrUnsupported, alone and in a Multi"},
	{"keep", noKeep, deniedRequest(func(r *driver.Request) { r.Keep = time.Second }),
		"A7: Keep that Guarantees denies is ErrUnsupported"},
	{"minhold", noKeep, deniedMinHold,
		"A7: MinHold on a store that denies Keep is ErrUnsupported"},
	{"reserve", noReserve, deniedRequest(func(r *driver.Request) { r.Reserve = 1 }),
		"A7: Reserve that Guarantees denies is ErrUnsupported"},
	{"inspector", noInspector, deniedInspect,
		"G: Inspect and List on a store that is no Inspector are ErrUnsupported"},
	{"breaker", noBreaker, deniedBreak,
		"G: Break on a store that is no Breaker is ErrUnsupported"},
	{"files", noKeeper, deniedFiles,
		"G: Files on a store that is no Keeper is ErrUnsupported"},
}}

func deniedTokens(t *trial) {
	c := t.open()
	for range 2 {
		r := t.ask(t.name("lock"))
		if g := c.grant(r); g.Token != 0 || g.Spare != 0 {
			t.Errorf("token %d, spare %d, but Guarantees denies fencing: they are zero", g.Token, g.Spare)
		}
		c.release(r)
	}
}

func deniedRequest(ask func(*driver.Request)) func(*trial) {
	return func(t *trial) {
		c := t.open()
		r := t.ask(t.name("lock"))
		ask(r)
		c.tidy(r)
		if _, err := c.Acquire(t.ctx, r); !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("Acquire: %v; the answer must be ErrUnsupported", err)
		}
		c.free(t.ask(r.Name))
	}
}

func deniedReader(t *trial) {
	locks, name := t.locks(), t.name("lock")
	t.deniedPart(locks, t.readerOf(locks, name))
	writer := t.takeNow(t.ctx, t.rwmutexOf(locks, name))
	t.heldByOther(t.locks(), name)
	inner := t.takeNow(writer.Context(t.ctx), t.readerOf(locks, name)) // it asks the store for nothing
	t.unlock(writer)
	t.heldByOther(t.locks(), name)
	t.unlock(inner)
}

func deniedSemaphore(t *trial) {
	locks := t.locks()
	t.deniedPart(locks, t.semaphoreOf(locks, t.name("permits"), 2).Permits(1))
}

// deniedPart expects that l is not supported, and that it leaves nothing behind of a Multi that it is part of.
func (t *trial) deniedPart(locks *holdfast.Client, l holdfast.Locker) {
	t.Helper()
	before, after := t.name("a"), t.name("z") // in the order in which they are taken
	t.neverWaits(t.ctx, l, holdfast.ErrUnsupported)
	t.neverWaits(t.ctx, holdfast.Multi(l, t.multiOf(locks, before, after)), holdfast.ErrUnsupported)
	t.allFree(t.locks(), before, after)
}

func deniedMinHold(t *trial) {
	locks := t.locks()
	if _, err := locks.Mutex(t.name("lock"), holdfast.MinHold(time.Second)).TryLock(t.ctx); !errors.Is(err, holdfast.ErrUnsupported) {
		t.Errorf("TryLock with MinHold: %v; the answer must be ErrUnsupported", err)
	}
	t.try(locks, t.name("lock"))
}

func deniedInspect(t *trial) {
	locks := t.locks()
	if _, err := locks.Inspect(t.ctx, t.name("lock")); !errors.Is(err, holdfast.ErrUnsupported) {
		t.Errorf("Inspect: %v; the answer must be ErrUnsupported", err)
	}
	answers := 0
	for _, err := range locks.List(t.ctx, t.name("")) {
		if answers++; !errors.Is(err, holdfast.ErrUnsupported) {
			t.Errorf("List: %v; the answer must be ErrUnsupported", err)
		}
	}
	if answers != 1 {
		t.Errorf("List gave %d answers; it must answer ErrUnsupported once", answers)
	}
}

func deniedFiles(t *trial) {
	if copies, err := t.locks().Files(); !errors.Is(err, holdfast.ErrUnsupported) {
		closeAll(copies)
		t.Errorf("Files: %v; the answer must be ErrUnsupported", err)
	}
}

func deniedBreak(t *trial) {
	locks := t.locks()
	hold := t.try(locks, t.name("lock"))
	if err := locks.Break(t.ctx, t.name("lock"), hold.Token(), holdfast.Now()); !errors.Is(err, holdfast.ErrUnsupported) {
		t.Errorf("Break: %v; the answer must be ErrUnsupported", err)
	}
	if err := hold.Unlock(); err != nil {
		t.Errorf("Unlock after a Break that is not supported: %v", err)
	}
}
