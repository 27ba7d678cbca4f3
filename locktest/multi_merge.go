package locktest

import (
	"errors"
	"time"

	"holdfast.dev"
)

// A Multi beside what is the same, inside what is held, and over several stores.

func duplicatesMerge(t *trial) {
	names := t.names(2)
	mine, twin, others := t.locks(), t.locks(), t.locks()
	a, b := t.mutexOf(mine, names[0]), t.mutexOf(mine, names[1])
	for what, l := range map[string]holdfast.Locker{
		"the same mutex twice":                      holdfast.Multi(a, b, a),
		"through two clients":                       holdfast.Multi(t.mutexOf(twin, names[0]), a, b),
		"through two clients, one of them for both": holdfast.Multi(b, t.mutexOf(twin, names[1]), t.mutexOf(twin, names[0])),
		"a Multi in a Multi":                        holdfast.Multi(holdfast.Multi(b, a), a, holdfast.Multi(holdfast.Multi(b))),
		"a Mutex and an RWMutex":                    holdfast.Multi(a, mine.RWMutex(names[0], holdfast.TTL(t.long)), b),
	} {
		hold := t.takeNow(t.ctx, l)
		if n := len(hold.Parts()); n != 2 {
			t.Errorf("%s: %d parts; they are two locks", what, n)
		}
		t.heldByOther(others, names[0])
		t.heldByOther(others, names[1])
		t.unlock(hold)
		t.allFree(others, names...)
	}
}

func readerAndWriterMerge(t *trial) {
	name := t.name("lock")
	mine, twin, others := t.locks(), t.locks(), t.locks()
	reader, writer := t.readerOf(mine, name), t.rwmutexOf(twin, name)
	for _, l := range []holdfast.Locker{holdfast.Multi(reader, writer), holdfast.Multi(writer, reader)} {
		hold := t.takeNow(t.ctx, l)
		if n := len(hold.Parts()); n != 1 {
			t.Errorf("a reader and a writer of one lock are %d parts", n)
		}
		t.refused(t.ctx, t.readerOf(others, name)) // it was taken for writing
		t.unlock(hold)
	}
	both := t.takeNow(t.ctx, holdfast.Multi(reader, t.readerOf(twin, name)))
	t.unlock(t.takeNow(t.ctx, t.readerOf(others, name)))
	t.refused(t.ctx, t.rwmutexOf(others, name))
	if n := len(both.Parts()); n != 1 {
		t.Errorf("two readers of one lock are %d parts", n)
	}
	t.unlock(both)
	t.unlock(t.takeNow(t.ctx, t.rwmutexOf(others, name)))
}

func permitsAddUp(t *trial) {
	name := t.name("both")
	mine, twin, others := t.locks(), t.locks(), t.semaphoreOf(t.locks(), name, 4)
	sem := t.semaphoreOf(mine, name, 4)
	hold := t.takeNow(t.ctx, holdfast.Multi(sem.Permits(1), t.mutexOf(mine, name), t.semaphoreOf(twin, name, 4).Permits(2)))
	if n := len(hold.Parts()); n != 2 {
		t.Errorf("a lock and a semaphore are %d parts", n)
	}
	t.refused(t.ctx, others.Permits(2))
	t.unlock(t.takeNow(t.ctx, others.Permits(1)))
	t.unlock(hold)
	t.unlock(t.takeNow(t.ctx, others.Permits(4)))
	tooMany := holdfast.Multi(sem.Permits(3), sem.Permits(2))
	if _, err := tooMany.TryLock(t.ctx); !errors.As(err, new(*holdfast.LimitError)) {
		t.Errorf("3 and 2 permits of 4: %v; the answer must be a *LimitError", err)
	}
	differ := holdfast.Multi(sem.Permits(1), t.semaphoreOf(twin, name, 3).Permits(1))
	var limits *holdfast.LimitError
	if _, err := differ.TryLock(t.ctx); !errors.As(err, &limits) || limits.Want+limits.Have != 7 {
		t.Errorf("permits of 4 and of 3 of one semaphore: %v; the answer must be a *LimitError that names both", err)
	}
	t.unlock(t.takeNow(t.ctx, others.Permits(4)))
}

func laterIsRefused(t *trial) {
	names := t.names(3)
	mine, twin, others := t.locks(), t.locks(), t.locks()
	middle := t.lock(mine, names[1])
	ctx := middle.Context(t.ctx)
	for _, locks := range []*holdfast.Client{mine, twin} { // another client of the store is in the same order
		t.neverWaits(ctx, t.multiOf(locks, names[2], names[0]), holdfast.ErrDeadlock)
		t.neverWaits(ctx, t.multiOf(locks, names[0]), holdfast.ErrDeadlock)
	}
	t.neverWaits(ctx, t.multiOf(twin, names[1], names[2]), holdfast.ErrDeadlock) // it would wait for itself
	t.allFree(others, names[0], names[2])
	last := t.takeNow(ctx, t.multiOf(mine, names[2]))
	t.unlock(last)
	both := t.takeNow(ctx, t.multiOf(mine, names[2], names[1]))
	if got := both.Parts(); len(got) != 2 || got[0].Count() != 2 || got[1].Count() != 1 {
		t.Errorf("the part that is held already is entered %d times, the other %d times", got[0].Count(), got[1].Count())
	}
	t.unlock(both)
	t.heldByOther(others, names[1])
	t.unlock(middle)
	t.allFree(others, names...)
}

func multiInsideMulti(t *trial) {
	names := t.names(3)
	mine, others := t.locks(), t.locks()
	outer := t.take(t.ctx, t.multiOf(mine, names[0], names[1]))
	inner := t.take(outer.Context(t.ctx), t.multiOf(mine, names[2], names[1], names[0]))
	for i, want := range []int{2, 2, 1} {
		if got := inner.Parts()[i].Count(); got != want {
			t.Errorf("part %d of the Multi inside is entered %d times; it is %d", i+1, got, want)
		}
	}
	for i, part := range outer.Parts() {
		if token := inner.Parts()[i].Token(); token != part.Token() {
			t.Errorf("the Multi inside has token %d for %q; the one around it %d", token, part.Name(), part.Token())
		}
	}
	t.unlock(outer) // in whatever order
	if err := inner.Err(); err != nil {
		t.Errorf("the Multi inside ended with the one around it: %v", err)
	}
	for _, name := range names {
		t.heldByOther(others, name)
	}
	t.unlock(inner)
	t.allFree(others, names...)
}

func severalStores(t *trial) {
	names := t.names(2)
	for _, identity := range []string{firstIdentity, lastIdentity} {
		log, prefix := new(journal), t.name("elsewhere/")
		here := t.elsewhere(&elsewhere{journal: log})
		there := t.elsewhere(&elsewhere{journal: log, identity: identity, prefix: prefix})
		order := []string{prefix + names[0], prefix + names[1], names[0], names[1]}
		if identity == lastIdentity {
			order = []string{names[0], names[1], prefix + names[0], prefix + names[1]}
		}
		for _, l := range []holdfast.Locker{
			holdfast.Multi(t.multiOf(here, names[1], names[0]), t.multiOf(there, names...)),
			holdfast.Multi(t.mutexOf(there, names[0]), t.mutexOf(here, names[1]), t.mutexOf(there, names[1]), t.mutexOf(here, names[0])),
		} {
			hold := t.take(t.ctx, l)
			log.says(t, "took", order...)
			log.releases(t, hold, order...)
		}
		// One that is held in the store that comes last leaves nothing of the one that comes first.
		last, locks := names[1], here
		if identity == lastIdentity {
			locks = there
		}
		held := t.try(locks, last)
		t.refused(t.ctx, holdfast.Multi(t.multiOf(here, names...), t.multiOf(there, names...)))
		t.unlock(held)
		t.allFree(here, names...)
		t.allFree(there, names...)
	}
}

func refusedPartUndoes(t *trial) {
	names := t.names(3)
	mine, others := t.locks(), t.locks()
	for i, bad := range names {
		strict := t.elsewhere(&elsewhere{refuses: bad})
		t.neverWaits(t.ctx, holdfast.Multi(t.multiOf(strict, bad), t.multiOf(mine, names[(i+1)%3], names[(i+2)%3])), errRefused)
		t.allFree(others, names...)
	}
	t.neverWaits(t.ctx, t.multiOf(mine, names[0], "a\nb"), holdfast.ErrName)
	t.neverWaits(t.ctx, holdfast.Multi(), holdfast.ErrArgument)
	t.allFree(others, names...)
}

func undonePartIsNotKept(t *trial) {
	names := t.names(2)
	others := t.locks()
	held := t.try(others, names[1])
	both := func(locks *holdfast.Client) holdfast.Locker {
		return holdfast.Multi(t.mutexOf(locks, names[0], holdfast.MinHold(time.Hour)), t.mutexOf(locks, names[1]))
	}
	t.refused(t.ctx, both(t.locks()))
	t.allFree(others, names[0])
	waiting := t.queue(both)
	waiting.cancelled()
	t.unlock(t.lock(others, names[0])) // in the end: a busy machine cleans up in the background
	t.unlock(held)
}
