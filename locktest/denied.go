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
