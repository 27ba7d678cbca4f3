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

// later locks on a goroutine of its own, and returns where the hold will be, once everything that can happen now has happened.
func later(t *testing.T, l holdfast.Locker) <-chan *holdfast.Hold {
	t.Helper()
	granted := make(chan *holdfast.Hold, 1)
	go func() { granted <- mustLock(t, l) }()
	synctest.Wait()
	return granted
}

// notYet fails the test if somebody holds already who must wait.
func notYet(t *testing.T, what string, granted ...<-chan *holdfast.Hold) {
	t.Helper()
	synctest.Wait()
	for i, g := range granted {
		if len(g) > 0 {
			t.Fatalf("%s: number %d holds already", what, i+1)
		}
	}
}

// mustTry locks without waiting.
func mustTry(ctx context.Context, t testing.TB, l holdfast.Locker) *holdfast.Hold {
	t.Helper()
	hold, err := l.TryLock(ctx)
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	return hold
}

// Rule (RWMutex): one writer or any number of readers hold at a time.
func TestReadersOrOneWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server).RWMutex("a"), connect(t, server).RWMutex("a")
		var readers []*holdfast.Hold
		for range 3 {
			readers = append(readers, mustTry(t.Context(), t, one.Reader()), mustTry(t.Context(), t, two.Reader()))
		}
		for _, m := range []*holdfast.RWMutex{one, two} {
			_, err := m.TryLock(t.Context())
			expect(t, err, holdfast.ErrHeld, `"a"`)
		}
		for _, r := range readers {
			mustUnlock(t, r)
		}
		writer := mustTry(t.Context(), t, one)
		_, err := two.TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		_, err = two.Reader().TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		mustUnlock(t, writer)
	})
}

// Rule (RWMutex): it has its name together with Mutex; a semaphore of that name is something else.
func TestRWMutexAndMutexAreOneLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		m, rw := locks.Mutex("a"), locks.RWMutex("a")
		if rw.Name() != "a" || rw.Reader().Name() != "a" {
			t.Errorf("names %q and %q", rw.Name(), rw.Reader().Name())
		}
		hold := mustLock(t, m)
		for _, l := range []holdfast.Locker{rw, rw.Reader()} {
			_, err := l.TryLock(t.Context())
			expect(t, err, holdfast.ErrHeld)
		}
		permit := mustTry(t.Context(), t, locks.Semaphore("a", 1).Permits(1))
		mustUnlock(t, permit)
		mustUnlock(t, hold)
		for _, l := range []holdfast.Locker{rw, rw.Reader()} {
			hold := mustLock(t, l)
			_, err := m.TryLock(t.Context())
			expect(t, err, holdfast.ErrHeld)
			mustUnlock(t, hold)
		}
	})
}

// Rule (RWMutex): readers that come after a waiting writer wait behind it, also those that only try; after a writer all readers up to
// the next writer are granted together.
func TestReadersAndWritersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		m := connect(t, server).RWMutex("a")
		first := mustLock(t, m.Reader())
		writer := later(t, m)
		_, err := m.Reader().TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		second, third := later(t, m.Reader()), later(t, m.Reader())
		next := later(t, m)
		fourth := later(t, m.Reader())
		notYet(t, "behind a reader", writer, second, third, next, fourth)

		mustUnlock(t, first)
		w := <-writer
		notYet(t, "behind a writer", second, third, next, fourth)
		mustUnlock(t, w)
		r2, r3 := <-second, <-third
		notYet(t, "behind two readers", next, fourth)
		if r2.Token() != r3.Token() || r2.Token() <= w.Token() || w.Token() <= first.Token() {
			t.Errorf("tokens: reader %d, writer %d, readers %d and %d", first.Token(), w.Token(), r2.Token(), r3.Token())
		}
		mustUnlock(t, r2)
		notYet(t, "behind the other reader", next, fourth)
		mustUnlock(t, r3)
		w = <-next
		if w.Token() <= r3.Token() {
			t.Errorf("token %d of a writer after readers with %d", w.Token(), r3.Token())
		}
		notYet(t, "behind the next writer", fourth)
		mustUnlock(t, w)
		mustUnlock(t, <-fourth)
	})
}

// Rule of ownership 3: a reader may read again, and a writer may read, though a stranger waits to write: they nest.
func TestReadersNest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		m, stranger := connect(t, server).RWMutex("a"), connect(t, server).RWMutex("a")
		for what, l := range map[string]holdfast.Locker{"a reader": m.Reader(), "a writer": m} {
			outer := mustLock(t, l)
			writer := later(t, stranger)
			inner := mustTry(outer.Context(t.Context()), t, m.Reader())
			innermost := mustTry(inner.Context(t.Context()), t, m.Reader())
			if innermost.Token() != outer.Token() || outer.Count() != 3 {
				t.Errorf("inside %s: token %d inside %d, count %d", what, innermost.Token(), outer.Token(), outer.Count())
			}
			mustUnlock(t, outer) // in whatever order
			mustUnlock(t, innermost)
			notYet(t, "a writer while somebody still reads inside "+what, writer)
			mustUnlock(t, inner)
			mustUnlock(t, <-writer)
		}
	})
}

// Rule of ownership 3: readers that re-enter a reader nest side by side; inside a writer siblings exclude each other, reading or not.
func TestNestedReadersSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := connect(t, memlock.NewServer()).RWMutex("a")
		outer := mustLock(t, m.Reader())
		ctx := outer.Context(t.Context())
		one, two := mustTry(ctx, t, m.Reader()), mustTry(ctx, t, m.Reader())
		if outer.Count() != 3 {
			t.Errorf("count %d", outer.Count())
		}
		for _, h := range []*holdfast.Hold{one, two, outer} {
			mustUnlock(t, h)
		}

		outer = mustLock(t, m)
		ctx = outer.Context(t.Context())
		one = mustTry(ctx, t, m.Reader())
		for _, l := range []holdfast.Locker{m.Reader(), m} {
			_, err := l.TryLock(ctx)
			expect(t, err, holdfast.ErrHeld, "nested hold of this client")
		}
		mustUnlock(t, one)
		mustUnlock(t, mustTry(ctx, t, m))
		mustUnlock(t, outer)
	})
}

// Rule of ownership 3: write inside read is ErrUpgrade, at once, whatever asks for it; write inside read inside write is not.
func TestUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		m := locks.RWMutex("a")
		reader := mustLock(t, m.Reader())
		ctx := reader.Context(t.Context())
		begun := time.Now()
		for _, l := range []holdfast.Locker{m, locks.Mutex("a"), holdfast.Multi(m)} {
			for _, lock := range []func(context.Context) (*holdfast.Hold, error){l.Lock, l.TryLock} {
				_, err := lock(ctx)
				expect(t, err, holdfast.ErrUpgrade, `"a"`)
				if errors.Is(err, holdfast.ErrHeld) || errors.As(err, new(*holdfast.StoreError)) {
					t.Errorf("confused with something else: %v", err)
				}
			}
		}
		_, err := locks.Election("a").Campaign(mustTry(ctx, t, m.Reader()).Context(t.Context()))
		expect(t, err, holdfast.ErrUpgrade)
		took(t, "ErrUpgrade", begun, 0)
		if reader.Err() != nil || reader.Count() != 2 {
			t.Errorf("the reader: %v, count %d", reader.Err(), reader.Count())
		}
		_, err = m.TryLock(t.Context()) // a stranger
		expect(t, err, holdfast.ErrHeld)

		writer := mustLock(t, locks.RWMutex("b"))
		inner := mustTry(writer.Context(t.Context()), t, locks.RWMutex("b").Reader())
		mustTry(inner.Context(t.Context()), t, locks.RWMutex("b"))
	})
}

// Rule of ownership 3: an ended reader's context upgrades nothing: it is a stranger's.
func TestEndedReaderIsAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := connect(t, memlock.NewServer()).RWMutex("a")
		reader := mustLock(t, m.Reader())
		ctx := context.WithoutCancel(reader.Context(t.Context()))
		mustUnlock(t, reader)
		writer := mustTry(ctx, t, m)
		if writer.Token() <= reader.Token() {
			t.Errorf("token %d after %d", writer.Token(), reader.Token())
		}
		_, err := m.Reader().TryLock(ctx)
		expect(t, err, holdfast.ErrHeld)
		mustUnlock(t, writer)
	})
}

// Rule of ownership 4: breaking a reader breaks all readers of its token, and lets the writer in.
func TestBreakReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		m := locks.RWMutex("a")
		one, two := mustLock(t, m.Reader()), mustLock(t, m.Reader())
		writer := later(t, m)
		if err := locks.Break(t.Context(), "a", one.Token(), holdfast.Now()); err != nil {
			t.Fatal(err)
		}
		w := <-writer
		expectLost(t, one.Unlock(), holdfast.ReasonBroken)
		expectLost(t, two.Unlock(), holdfast.ReasonBroken)
		mustUnlock(t, w)
	})
}

// Rule (Reader): a store without shared locks answers ErrUnsupported, before it is asked for anything; writing works there.
func TestReaderUnsupported(t *testing.T) {
	s := newScript()
	m := s.open(t).RWMutex("a")
	for _, lock := range []func(context.Context) (*holdfast.Hold, error){m.Reader().Lock, m.Reader().TryLock} {
		_, err := lock(t.Context())
		expect(t, err, holdfast.ErrUnsupported, "Reader")
	}
	if n := len(s.asked("acquire")); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
	mustUnlock(t, mustLock(t, m))
}

// Rule: Constructors never fail; Lock reports a bad name, option or context before it touches the store.
func TestRWMutexBadArguments(t *testing.T) {
	s := newScript()
	s.promises.Shared = true
	locks := s.open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		m   *holdfast.RWMutex
		ctx context.Context
		is  error
	}{
		{locks.RWMutex(""), t.Context(), holdfast.ErrName},
		{locks.RWMutex("a", holdfast.TTL(time.Nanosecond)), t.Context(), holdfast.ErrTTL},
		{locks.RWMutex("a", nil), t.Context(), holdfast.ErrArgument},
		{locks.RWMutex("a"), ended, context.Canceled},
		{locks.RWMutex("a"), noContext, holdfast.ErrArgument},
		{holdfast.New(nil).RWMutex("a"), t.Context(), holdfast.ErrArgument},
	} {
		r := c.m.Reader()
		for _, lock := range []func(context.Context) (*holdfast.Hold, error){c.m.Lock, c.m.TryLock, r.Lock, r.TryLock} {
			hold, err := lock(c.ctx)
			expect(t, err, c.is)
			if hold != nil {
				t.Errorf("%v: a hold as well", err)
			}
		}
	}
	if calls := s.asked("acquire", "release"); len(calls) != 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
}
