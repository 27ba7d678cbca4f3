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

// Rule (Multi): parts that are the same lock of the same store are taken once, through whatever clients; a semaphore of that name is
// another part.
func TestMultiMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server), connect(t, server)
		hold := mustTry(t.Context(), t, holdfast.Multi(
			one.Mutex("a"), two.Mutex("a"), one.Mutex("a"), two.RWMutex("a"), two.RWMutex("a").Reader(), holdfast.Multi(one.Mutex("a")),
			one.Semaphore("a", 3).Permits(1), two.Semaphore("a", 3).Permits(2), two.RWMutex("b").Reader(), one.RWMutex("b").Reader(),
		))
		if names(hold) != "a a b" {
			t.Fatalf("parts: %s", names(hold))
		}
		info, err := one.Inspect(t.Context(), "a")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Mode != holdfast.Exclusive || info.Holders[0].Token != hold.Parts()[0].Token() {
			t.Errorf("the lock: %+v, %v", info, err)
		}
		info, err = one.Semaphore("a", 3).Inspect(t.Context())
		if err != nil || len(info.Holders) != 1 || info.Holders[0].N != 3 || info.Holders[0].Token != hold.Parts()[1].Token() {
			t.Errorf("the semaphore, whose permits add up: %+v, %v", info, err)
		}
		info, err = one.Inspect(t.Context(), "b")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].Mode != holdfast.Shared {
			t.Errorf("two readers: %+v, %v", info, err)
		}
		mustUnlock(t, hold)
	})
}

// Rule (Multi): merged parts are taken for writing if one of them is, with the options of that one; else with those of the first.
func TestMultiMergesOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		short, long := holdfast.TTL(10*time.Second), holdfast.TTL(20*time.Second)
		for _, c := range []struct {
			what  string
			parts []holdfast.Locker
			mode  holdfast.Mode
			left  time.Duration
		}{
			{"reader, writer", []holdfast.Locker{locks.RWMutex("a", short).Reader(), locks.RWMutex("a", long)}, holdfast.Exclusive, 20 * time.Second},
			{"writer, reader", []holdfast.Locker{locks.Mutex("a", long), locks.RWMutex("a", short).Reader()}, holdfast.Exclusive, 20 * time.Second},
			{"two writers", []holdfast.Locker{locks.Mutex("a", long), locks.Mutex("a", short)}, holdfast.Exclusive, 20 * time.Second},
			{"two readers", []holdfast.Locker{locks.RWMutex("a", short).Reader(), locks.RWMutex("a", long).Reader()}, holdfast.Shared, 10 * time.Second},
			{"reader, writer, writer", []holdfast.Locker{
				locks.RWMutex("a", short).Reader(), locks.RWMutex("a", long), locks.RWMutex("a", short)}, holdfast.Exclusive, 20 * time.Second},
		} {
			hold := mustTry(t.Context(), t, holdfast.Multi(c.parts...))
			info, err := locks.Inspect(t.Context(), "a")
			if err != nil || len(info.Holders) != 1 || info.Holders[0].Mode != c.mode || info.Holders[0].Left != c.left {
				t.Errorf("%s: %+v, %v; want %v for %v", c.what, info, err, c.mode, c.left)
			}
			mustUnlock(t, hold)
		}
	})
}

// Rule (Multi, LimitError): permits of one semaphore that add up to more than its limit, or that name two limits, are ErrArgument.
func TestMultiMergesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		for _, c := range []struct {
			parts []holdfast.Locker
			want  holdfast.LimitError
		}{
			{[]holdfast.Locker{locks.Semaphore("a", 3).Permits(2), locks.Semaphore("a", 3).Permits(2)}, holdfast.LimitError{N: 4, Want: 3}},
			{[]holdfast.Locker{locks.Semaphore("a", 3).Permits(1), locks.Semaphore("a", 5).Permits(2)}, holdfast.LimitError{N: 2, Want: 5, Have: 3}},
		} {
			_, err := holdfast.Multi(c.parts...).Lock(t.Context())
			expect(t, err, holdfast.ErrArgument, `semaphore "a"`)
			var limit *holdfast.LimitError
			if !errors.As(err, &limit) || *limit != c.want {
				t.Errorf("got %v, want %+v", err, c.want)
			}
		}
		if info, err := locks.Semaphore("a", 3).Inspect(t.Context()); err != nil || len(info.Holders) != 0 {
			t.Errorf("left behind: %+v, %v", info, err)
		}
	})
}

// foreign is a Locker of somebody else's.
type foreign struct{ holdfast.Locker }

// Rule: Multi never fails; Lock reports everything that is wrong before any store is asked, by its place.
func TestMultiBadArguments(t *testing.T) {
	s := newScript()
	s.promises.Permits = true
	locks := s.open(t)
	good := locks.Mutex("a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		m     *holdfast.MultiLock
		ctx   context.Context
		is    error
		words string
	}{
		{holdfast.Multi(), t.Context(), holdfast.ErrArgument, "no parts"},
		{holdfast.Multi(holdfast.Multi(), holdfast.Multi()), t.Context(), holdfast.ErrArgument, "no parts"},
		{holdfast.Multi(good, nil), t.Context(), holdfast.ErrArgument, "part 2 is nil"},
		{holdfast.Multi(good, good, foreign{good}), t.Context(), holdfast.ErrArgument, "part 3 is holdfast_test.foreign"},
		{holdfast.Multi(good, holdfast.Multi(good, nil)), t.Context(), holdfast.ErrArgument, "part 2 is nil"},
		{holdfast.Multi(good, locks.Mutex("b\n")), t.Context(), holdfast.ErrName, ""},
		{holdfast.Multi(good, locks.Mutex("b", holdfast.TTL(1))), t.Context(), holdfast.ErrTTL, ""},
		{holdfast.Multi(good, locks.Semaphore("b", 2).Permits(0)), t.Context(), holdfast.ErrArgument, `semaphore "b"`},
		{holdfast.Multi(good, locks.Semaphore("b", 2).Permits(3)), t.Context(), holdfast.ErrArgument, `semaphore "b"`},
		{holdfast.Multi(good, holdfast.New(nil).Mutex("b")), t.Context(), holdfast.ErrArgument, "store is nil"},
		{holdfast.Multi(good), ended, context.Canceled, "not asked for"},
		{holdfast.Multi(good), noContext, holdfast.ErrArgument, "context is nil"},
	} {
		for _, lock := range []func(context.Context) (*holdfast.Hold, error){c.m.Lock, c.m.TryLock} {
			hold, err := lock(c.ctx)
			expect(t, err, c.is, c.words)
			if hold != nil {
				t.Errorf("%v: a hold as well", err)
			}
		}
	}
	if calls := s.asked(); len(calls) != 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
	list := []holdfast.Locker{good}
	m := holdfast.Multi(list...)
	list[0] = nil // the caller's own slice
	mustUnlock(t, mustLock(t, m))
}

// Rule (Multi): of clients of one store through which the same lock is wanted, the one counts whose hold the context has already.
func TestMultiMergesIntoWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server), connect(t, server)
		for _, mode := range []struct {
			what  string
			outer holdfast.Locker
			inner []holdfast.Locker
		}{
			{"a writer", two.Mutex("a"), []holdfast.Locker{one.Mutex("a"), two.Mutex("a")}},
			{"a reader of it", two.Mutex("a"), []holdfast.Locker{one.Mutex("a"), two.RWMutex("a").Reader()}},
			{"a reader", two.RWMutex("a").Reader(), []holdfast.Locker{one.RWMutex("a").Reader(), two.RWMutex("a").Reader()}},
		} {
			outer := mustLock(t, mode.outer)
			inner := mustTry(outer.Context(t.Context()), t, holdfast.Multi(mode.inner...))
			if inner.Parts()[0].Token() != outer.Token() || outer.Count() != 2 {
				t.Errorf("%s: tokens %d and %d, count %d", mode.what, inner.Parts()[0].Token(), outer.Token(), outer.Count())
			}
			mustUnlock(t, inner)
			mustUnlock(t, outer)
		}
		reader := mustLock(t, two.RWMutex("a").Reader())
		_, err := holdfast.Multi(two.RWMutex("a").Reader(), one.Mutex("a")).Lock(reader.Context(t.Context()))
		expect(t, err, holdfast.ErrUpgrade)
		mustUnlock(t, reader)
	})
}

// Rule (Multi): a part that is nil, of whatever type, is ErrArgument.
func TestMultiNilParts(t *testing.T) {
	for _, part := range []holdfast.Locker{
		nil, (*holdfast.Mutex)(nil), (*holdfast.RWMutex)(nil), (*holdfast.Reader)(nil), (*holdfast.MultiLock)(nil),
	} {
		_, err := holdfast.Multi(part).Lock(t.Context())
		expect(t, err, holdfast.ErrArgument, "part 1")
	}
}
