package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"holdfast.dev"
)

var rwmutex = topic{"rwmutex", []casus{
	{"together", shared, coreReadersTogether,
		"P1: readers hold together, and keep a writer out until the last has ended"},
	{"onelock", shared, mutexAndRWMutexAreOne,
		"P1: the Mutex and the writer of an RWMutex of one name are one lock, and readers keep both out"},
	{"load", shared, readersAndWritersUnderLoad,
		"P1: under load a writer is alone, and its token lies between those of the readers before and after it"},
	{"tokens", shared | tokens, tokensOfGenerations,
		"P1: readers that hold together fence with one token, greater than that of every writer before them, less than after"},
	{"readinwrite", shared, readInsideWrite,
		"O3: read inside write nests, and keeps the lock as the writer's until the last Unlock"},
	{"readinread", shared, readInsideRead,
		"O3: read inside read nests, also while a writer waits: it is no newcomer, and waiting would be for itself"},
	{"beside", shared, readersNestSideBySide,
		"O3: readers that re-enter a reader with one context nest side by side"},
	{"upgrade", shared, writeInsideRead,
		"O3: write inside read is ErrUpgrade, never a wait, and the reader stays good"},
	{"ended", shared, endedReaderIsNoUpgrade,
		"O3: the context of a reader that has ended is a stranger's: a writer with it gets the lock"},
	{"loss", shared | expires, cutOffReaderLoses,
		"T1, T4: a reader that cannot be renewed is lost at its deadline, before a writer is granted"},
	{"broken", shared | breaker | tokens, brokenGenerationIsLost,
		"B, T4: readers whose generation was broken are all lost, with reason broken, and those who come later have a greater token"},
}}

func coreReadersTogether(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	first := t.take(t.ctx, t.readerOf(mine, name))
	second := t.takeNow(t.ctx, t.readerOf(mine, name)) // a stranger on the same client
	third := t.takeNow(t.ctx, t.readerOf(others, name))
	if first.Count() != 1 || second.Count() != 1 {
		t.Errorf("readers that do not nest have counts %d and %d; each is entered once", first.Count(), second.Count())
	}
	for _, hold := range []*holdfast.Hold{first, third, second} {
		t.refused(t.ctx, t.rwmutexOf(others, name))
		t.refused(t.ctx, t.rwmutexOf(mine, name))
		t.unlock(hold)
	}
	t.unlock(t.takeNow(t.ctx, t.rwmutexOf(others, name)))
}

func mutexAndRWMutexAreOne(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	asMutex, asWriter, asReader := t.mutexOf(others, name), t.rwmutexOf(others, name), t.readerOf(others, name)
	for _, writer := range []holdfast.Locker{t.mutexOf(mine, name), t.rwmutexOf(mine, name)} {
		hold := t.takeNow(t.ctx, writer)
		for _, l := range []holdfast.Locker{asMutex, asWriter, asReader} {
			t.refused(t.ctx, l)
		}
		for _, l := range []holdfast.Locker{t.mutexOf(mine, name), t.rwmutexOf(mine, name)} {
			inner := t.takeNow(hold.Context(t.ctx), l)
			if inner.Count() != 2 || inner.Token() != hold.Token() {
				t.Errorf("%T inside the writer: count %d, token %d; it nests, with token %d", l, inner.Count(), inner.Token(), hold.Token())
			}
			t.unlock(inner)
		}
		t.unlock(hold)
	}
	reading := t.takeNow(t.ctx, t.readerOf(mine, name))
	t.refused(t.ctx, asMutex)
	t.refused(t.ctx, asWriter)
	t.unlock(reading)
	t.unlock(t.takeNow(t.ctx, asMutex))
}

// A floor notices a writer that is not alone, and tokens that do not rise.
type floor struct {
	mu               sync.Mutex
	readers, writers int
	read, written    uint64 // the greatest tokens so far
}

// enter is called under a hold, whose token it gets.
func (f *floor) enter(write bool, token uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case write && f.readers+f.writers > 0:
		return errors.New("a writer was granted the lock beside others")
	case !write && f.writers > 0:
		return errors.New("a reader was granted the lock beside a writer")
	case token != 0 && (token <= f.written || token < f.read || write && token == f.read):
		return errors.New("a token was granted after a greater one, or twice")
	}
	if write {
		f.writers++
		f.written = token
	} else {
		f.readers++
		f.read = token
	}
	return nil
}

func (f *floor) leave(write bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if write {
		f.writers--
	} else {
		f.readers--
	}
}

func readersAndWritersUnderLoad(t *trial) {
	const clients, rounds = 3, 6
	name := t.name("lock")
	var all sync.WaitGroup
	var f floor
	work := func(l holdfast.Locker, write bool) {
		for range rounds {
			err := holdfast.Do(t.ctx, l, func(ctx context.Context) error {
				if err := f.enter(write, holdfast.Token(ctx)); err != nil {
					return fmt.Errorf("write %v, token %d: %w", write, holdfast.Token(ctx), err)
				}
				defer f.leave(write)
				yield()
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	}
	for range clients {
		locks := t.locks()
		all.Go(func() { work(t.rwmutexOf(locks, name), true) })
		all.Go(func() { work(t.readerOf(locks, name), false) })
		all.Go(func() { work(t.readerOf(locks, name), false) })
	}
	all.Wait()
}

func tokensOfGenerations(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	top := uint64(0)
	for range 3 {
		writer := t.take(t.ctx, t.rwmutexOf(mine, name))
		first, second := t.pend(t.ctx, t.readerOf(mine, name)), t.pend(t.ctx, t.readerOf(others, name))
		t.unlock(writer)
		readers := []*holdfast.Hold{first.granted(), second.granted()} // at once: they overlap
		for i, hold := range append([]*holdfast.Hold{writer}, readers...) {
			token, err := hold.FenceToken()
			if err != nil || token != hold.Token() {
				t.Errorf("FenceToken of %v: %d, %v", hold, token, err)
			}
			if i < 2 && token <= top {
				t.Errorf("token %d was granted after token %d", token, top)
			}
			top = token
		}
		if a, b := readers[0].Token(), readers[1].Token(); a != b {
			t.Errorf("readers that overlap have tokens %d and %d; they share the token of their generation", a, b)
		}
		if got := holdfast.Token(readers[0].Context(t.ctx)); got != top {
			t.Errorf("Token of a reader's context is %d; it is %d", got, top)
		}
		t.unlock(readers[0])
		t.unlock(readers[1])
	}
}

func readInsideWrite(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	writer := t.take(t.ctx, t.rwmutexOf(mine, name))
	reader := t.take(writer.Context(t.ctx), t.readerOf(mine, name))
	again := t.take(reader.Context(t.ctx), t.rwmutexOf(mine, name)) // the store's hold is the writer's: this is no upgrade
	for _, hold := range []*holdfast.Hold{writer, reader, again} {
		if hold.Count() != 3 || hold.Token() != writer.Token() {
			t.Errorf("count %d, token %d; entered three times with token %d", hold.Count(), hold.Token(), writer.Token())
		}
	}
	t.unlock(writer)
	t.unlock(again)
	if reader.Err() != nil || reader.Count() != 1 {
		t.Errorf("the reader, which is still entered, says count %d, error %v", reader.Count(), reader.Err())
	}
	t.refused(t.ctx, t.readerOf(others, name))
	t.unlock(reader)
	t.unlock(t.takeNow(t.ctx, t.rwmutexOf(others, name)))
}

func readInsideRead(t *trial) {
	name := t.name("lock")
	mine := t.locks()
	outer := t.take(t.ctx, t.readerOf(mine, name))
	writer := t.queue(func(locks *holdfast.Client) holdfast.Locker { return t.rwmutexOf(locks, name) })
	inner := t.take(outer.Context(t.ctx), t.readerOf(mine, name))
	again := t.takeNow(inner.Context(t.ctx), t.readerOf(mine, name))
	for _, hold := range []*holdfast.Hold{outer, inner, again} {
		if hold.Count() != 3 || hold.Token() != outer.Token() {
			t.Errorf("count %d, token %d; entered three times with token %d", hold.Count(), hold.Token(), outer.Token())
		}
	}
	t.unlock(outer)
	t.unlock(again)
	writer.waits()
	t.refused(t.ctx, t.rwmutexOf(mine, name))
	t.unlock(inner)
	if next := writer.granted(); next.Token() != 0 && next.Token() <= outer.Token() {
		t.Errorf("token %d was granted to a writer after token %d", next.Token(), outer.Token())
	}
}

func readersNestSideBySide(t *trial) {
	name := t.name("lock")
	locks := t.locks()
	outer := t.take(t.ctx, t.readerOf(locks, name))
	ctx := outer.Context(t.ctx)
	var both atomic.Int32
	met, meet := newSignal()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			hold, err := t.readerOf(locks, name).Lock(ctx)
			if err != nil {
				t.Errorf("Lock of a reader with the context of a reader: %v", err)
				return
			}
			if both.Add(1) == 2 {
				meet()
			}
			select {
			case <-met:
			case <-ctx.Done():
				t.Error("two readers that re-enter with one context do not hold side by side")
			}
			hold.Unlock()
		})
	}
	if t.within("two readers that nest side by side", func() error { all.Wait(); return nil }); !t.Failed() {
		t.unlock(outer)
	}
}

func writeInsideRead(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	reader := t.take(t.ctx, t.readerOf(mine, name))
	nested := t.take(reader.Context(t.ctx), t.readerOf(mine, name))
	for _, hold := range []*holdfast.Hold{reader, nested} {
		ctx := hold.Context(t.ctx)
		t.neverWaits(ctx, t.rwmutexOf(mine, name), holdfast.ErrUpgrade)
		t.neverWaits(ctx, t.mutexOf(mine, name), holdfast.ErrUpgrade)
		if err := hold.Check(t.ctx); hold.Err() != nil || err != nil || ctx.Err() != nil || hold.Count() != 2 {
			t.Errorf("after ErrUpgrade the reader says count %d, error %v, Check %v", hold.Count(), hold.Err(), err)
		}
	}
	t.unlock(t.takeNow(t.ctx, t.readerOf(others, name))) // nobody waits: no writer is left behind in a queue
	t.unlock(nested)
	t.unlock(reader)
	t.unlock(t.takeNow(t.ctx, t.rwmutexOf(others, name)))
}
