package locktest

import (
	"errors"

	"holdfast.dev"
)

// Losing one part of a Multi is losing it.

func brokenPartIsLoss(t *trial) {
	names := t.names(3)
	mine, others := t.locks(), t.locks()
	for i, name := range names {
		var parts []holdfast.Locker
		for _, each := range names {
			parts = append(parts, t.mutexOf(mine, each, holdfast.TTL(t.promptTTL())))
		}
		hold := t.take(t.ctx, holdfast.Multi(parts...))
		ctx := hold.Context(t.ctx)
		if err := others.Break(t.ctx, name, hold.Parts()[i].Token(), holdfast.Now()); err != nil {
			t.Fatalf("Break of a part: %v", err)
		}
		theirs := t.try(others, name)
		t.lostFor(hold, ctx, holdfast.ReasonBroken)
		var lost *holdfast.LostError
		if err := hold.Err(); !errors.As(err, &lost) || lost.Name != name {
			t.Errorf("Err says %v; what was lost is %q", err, name)
		}
		if left := hold.Left(); left != 0 {
			t.Errorf("%v are said to be left of a Multi of which a part was lost", left)
		}
		for j, other := range names {
			if j != i {
				t.heldByOther(others, other) // until its Unlock
			}
		}
		if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Unlock of a Multi of which a part was lost: %v; it must be ErrLost", err)
		}
		t.heldByOther(mine, name) // whoever has it now is not touched
		t.unlock(theirs)
		t.allFree(others, names...)
	}
}

func cutOffPartIsLoss(t *trial) {
	names := t.names(2)
	cutOff, faults := t.linkedLocks()
	mine, others := t.locks(), t.locks()
	hold := t.take(t.ctx, holdfast.Multi(t.mutexOf(cutOff, names[0], holdfast.TTL(t.ttl)), t.mutexOf(mine, names[1])))
	ctx := hold.Context(t.ctx)
	faults.HoldRequests()
	theirs := t.lock(others, names[0])
	t.notBelieved(hold)
	t.lostFor(hold, ctx, ranOut...)
	if err := hold.Parts()[1].Err(); err != nil {
		t.Errorf("the part that was not lost says %v; it is held until Unlock", err)
	}
	t.heldByOther(others, names[1])
	faults.Resume()
	if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a Multi of which a part was lost: %v; it must be ErrLost", err)
	}
	t.allFree(others, names[1])
	t.unlock(theirs)
}

func lossWhileWaiting(t *trial) {
	names := t.names(3)
	cutOff, faults := t.linkedLocks()
	others := t.locks()
	held := t.try(others, names[2])
	waiting := t.queue(func(locks *holdfast.Client) holdfast.Locker {
		return holdfast.Multi(t.mutexOf(cutOff, names[0], holdfast.TTL(t.ttl)), t.multiOf(locks, names[1], names[2]))
	})
	faults.HoldRequests()
	in(t, "the end of a wait during which a part was lost", waiting.done)
	if !errors.Is(waiting.err, holdfast.ErrLost) {
		t.Errorf("Lock of a Multi that lost a part while it waited for another: %v, %v; it must be ErrLost", waiting.hold, waiting.err)
	}
	faults.Resume()
	t.unlock(t.lock(others, names[0]))
	t.unlock(t.lock(others, names[1]))
	t.unlock(held)
	t.unlock(t.lock(others, names[2])) // nobody waits for it any more
}
