package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"holdfast.dev"
)

var multi = topic{"multi", []casus{
	{"trylock", 0, tryTakesAllOrNothing,
		"O5: TryLock takes all or nothing, whichever part is held"},
	{"cancel", 0, cancelledMultiLeavesNothing,
		"O5, O2: a Lock that is cancelled while it waits for a part leaves neither holds nor queue entries"},
	{"order", 0, multiTakesInOrder,
		"O5: parts are taken in the order of their names, however they are written, and released in reverse"},
	{"load", 0, oppositeOrders,
		"O5: several who take the same locks in opposite orders do not wait for each other, and exclude each other"},
	{"duplicates", 0, duplicatesMerge,
		"O5: parts that are the same lock are taken once, also through two clients of one store"},
	{"readers", shared, readerAndWriterMerge,
		"O5: a reader and a writer of one lock are taken once, for writing; two readers for reading"},
	{"permits", permitting, permitsAddUp,
		"O5: permits of one semaphore are taken together: they add up"},
	{"parts", 0, partsHaveTokens,
		"O5: a Multi has a token for each of its parts, and none of its own"},
	{"later", 0, laterIsRefused,
		"O5: a context that holds a lock which comes later gets ErrDeadlock, never a wait; an earlier one is no hindrance"},
	{"nested", 0, multiInsideMulti,
		"O5, O3: a Multi inside a Multi re-enters what they share; the store's holds end with the last Unlock"},
	{"stores", 0, severalStores,
		"O5: parts of several stores are taken in the order of the stores' identities, then of their names; one name in two stores is two locks"},
	{"refused", 0, refusedPartUndoes,
		"O5: a part that a store refuses undoes the rest"},
	{"undone", keep, undonePartIsNotKept,
		"O5, R4: a part that is undone, because another could not be had, is not kept: nobody ran under it"},
	{"unlock", 0, multiUnlocksOnce,
		"O5: Unlock releases every part, and says ErrReleased the second time"},
	{"broken", breaker | tokens, brokenPartIsLoss,
		"O5, T4: breaking one part loses the whole; Unlock says ErrLost and frees the other parts"},
	{"loss", expires, cutOffPartIsLoss,
		"O5, T4: a part that cannot be renewed loses the whole at its deadline, before another is granted it"},
	{"waiting", expires, lossWhileWaiting,
		"O5: losing a part ends the wait for the others, with ErrLost, and nothing is held"},
}}

// names returns n lock names in their order.
func (t *trial) names(n int) []string {
	var names []string
	for i := range n {
		names = append(names, t.name("lock %c", 'a'+i))
	}
	return names
}

// multiOf returns a Multi of mutexes of one client.
func (t *trial) multiOf(locks *holdfast.Client, names ...string) *holdfast.MultiLock {
	var parts []holdfast.Locker
	for _, name := range names {
		parts = append(parts, t.mutexOf(locks, name))
	}
	return holdfast.Multi(parts...)
}

// allFree ends the case unless each of these locks is free now.
func (t *trial) allFree(locks *holdfast.Client, names ...string) {
	t.Helper()
	for _, name := range names {
		t.unlock(t.try(locks, name))
	}
}

func tryTakesAllOrNothing(t *trial) {
	names := t.names(3)
	mine, others := t.locks(), t.locks()
	for i, name := range names {
		held := t.try(others, name)
		if e := t.refused(t.ctx, t.multiOf(mine, names...)); e.Name != name {
			t.Errorf("the error names %q; %q is held", e.Name, name)
		}
		t.allFree(others, slices.Delete(slices.Clone(names), i, i+1)...)
		t.unlock(held)
	}
	all := t.takeNow(t.ctx, t.multiOf(mine, names...))
	for _, name := range names {
		t.heldByOther(others, name)
	}
	t.unlock(all)
	t.allFree(others, names...)
}

func cancelledMultiLeavesNothing(t *trial) {
	names := t.names(3)
	others := t.locks()
	for i, name := range names {
		held := t.try(others, name)
		waiting := t.queue(func(locks *holdfast.Client) holdfast.Locker { return t.multiOf(locks, names[2], names[0], names[1]) })
		for _, earlier := range names[:i] {
			t.heldByOther(others, earlier)
		}
		waiting.cancelled()
		for j, other := range names {
			if j != i {
				t.unlock(t.lock(others, other)) // in the end: a busy machine cleans up in the background
			}
		}
		t.unlock(held)
		t.unlock(t.lock(others, name))
	}
}

func multiTakesInOrder(t *trial) {
	names := t.names(3)
	log := new(journal)
	locks := t.elsewhere(&elsewhere{journal: log})
	for _, written := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		hold := t.take(t.ctx, t.multiOf(locks, names[written[0]], names[written[1]], names[written[2]]))
		log.says(t, "took", names...)
		for i, part := range hold.Parts() {
			if part.Name() != names[i] {
				t.Errorf("part %d is %q; parts are in the order in which they were taken", i+1, part.Name())
			}
		}
		log.releases(t, hold, names...)
	}
}

func oppositeOrders(t *trial) {
	const rounds = 6
	names := t.names(3)
	second := t.elsewhere(&elsewhere{identity: lastIdentity, prefix: t.name("elsewhere/")})
	rooms := make([]inside, len(names)+1) // the last is the one elsewhere
	var visits [4]int
	var all sync.WaitGroup
	for _, written := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0}, {3, 1, 2}, {2, 3}, {0, 3}} {
		locks := t.locks()
		var parts []holdfast.Locker
		for _, i := range written {
			visits[i] += rounds
			if i < len(names) {
				parts = append(parts, t.mutexOf(locks, names[i]))
			} else {
				parts = append(parts, t.mutexOf(second, names[0]))
			}
		}
		all.Go(func() {
			for range rounds {
				ctx, cancel := t.patience()
				err := holdfast.Do(ctx, holdfast.Multi(parts...), func(context.Context) error {
					for _, i := range written {
						rooms[i].visit()
					}
					return nil
				})
				if cancel(); err != nil {
					t.Errorf("Do with a Multi of the parts %d: %v", written, err)
					return
				}
			}
		})
	}
	all.Wait()
	for i := range rooms {
		if !t.Failed() {
			rooms[i].judge(t, visits[i])
		}
	}
}

func partsHaveTokens(t *trial) {
	names := t.names(2)
	locks, others := t.locks(), t.locks()
	for range 2 { // tokens rise part by part
		before := []*holdfast.Hold{t.try(others, names[0]), t.try(others, names[1])}
		t.unlock(before[0])
		t.unlock(before[1])
		hold := t.take(t.ctx, t.multiOf(locks, names...))
		ctx := hold.Context(t.ctx)
		parts := hold.Parts()
		if len(parts) != 2 {
			t.Fatalf("a Multi of two locks has %d parts", len(parts))
		}
		for i, part := range parts {
			if part.Token() != 0 && part.Token() <= before[i].Token() {
				t.Errorf("part %q has token %d; token %d was granted before", part.Name(), part.Token(), before[i].Token())
			}
			if token, err := part.FenceToken(); err != nil || token != part.Token() {
				t.Errorf("FenceToken of a part: %d, %v; it is %d", token, err, part.Token())
			}
			if found, ok := locks.Held(ctx, names[i]); !ok || found.Token() != part.Token() {
				t.Errorf("Held finds %v, %v; the context carries the part with token %d", found, ok, part.Token())
			}
		}
		if _, err := hold.FenceToken(); hold.Token() != 0 || holdfast.Token(ctx) != 0 || !errors.Is(err, holdfast.ErrUnsupported) {
			t.Errorf("a Multi has token %d, its context %d, and FenceToken says %v; only its parts have tokens",
				hold.Token(), holdfast.Token(ctx), err)
		}
		t.unlock(hold)
	}
}

func multiUnlocksOnce(t *trial) {
	names := t.names(3)
	locks, others := t.locks(), t.locks()
	hold := t.take(t.ctx, t.multiOf(locks, names...))
	ctx := hold.Context(t.ctx)
	t.unlock(hold)
	if cause := context.Cause(ctx); ctx.Err() == nil || !errors.Is(cause, holdfast.ErrReleased) {
		t.Errorf("after Unlock the context of a Multi has ended with %v; it must be ErrReleased", cause)
	}
	t.allFree(others, names...)
	theirs := t.try(others, names[1])
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("Unlock, again: %v; it must be ErrReleased", err)
	}
	t.heldByOther(locks, names[1])
	t.unlock(theirs)
	own := errors.New("what the function returned")
	err := holdfast.Do(t.ctx, t.multiOf(locks, names...), func(context.Context) error {
		for _, name := range names {
			t.heldByOther(others, name)
		}
		return own
	})
	if !errors.Is(err, own) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Do with a Multi returned %v; it must be what its function returned", err)
	}
	t.allFree(others, names...)
}
