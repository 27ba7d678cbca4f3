package locktest

import (
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// How processes end, or do not, and what becomes of what they held.

// stopped starts a process that holds the lock, and stops it.
func (t *trial) stopped(todo task) *child {
	t.Helper()
	todo.Do = "hold"
	holder := t.child(todo)
	holder.hears("granted")
	if err := holder.stop(); err != nil {
		t.Fatalf("stopping the child: %v", err)
	}
	return holder
}

func stoppedHolderKeeps(t *trial) {
	name := t.name("lock")
	here, clock := t.locks(), t.open()
	holder := t.stopped(task{Name: name, TTL: t.ttl})
	from := clock.Clock().Now()
	for passed := range 4 { // long after it would have been lost if something ran out
		clock.pass(from, time.Duration(passed)*t.ttl)
		t.heldByOther(here, name)
	}
	if err := holder.goOn(); err != nil {
		t.Fatalf("letting the child go on: %v", err)
	}
	holder.tell("state")
	if state := holder.hears("state"); state.Reason != "" || state.Left != driver.Forever {
		t.Errorf("the process that was stopped says reason %q, and that %v are left; it holds, for ever", state.Reason, state.Left)
	}
	t.heldByOther(here, name)
	waiting := t.locking(t.ctx, here, name)
	holder.tell("unlock")
	if w := holder.hears("unlocked"); w.Error != "" {
		t.Errorf("Unlock in the process that was stopped: %s", w.Error)
	}
	t.unlock(waiting.granted())
}

func killedWhileStopped(t *trial) {
	name := t.name("lock")
	here := t.locks()
	holder := t.stopped(task{Name: name, TTL: t.long})
	waiting := t.locking(t.ctx, here, name)
	t.heldByOther(here, name)
	holder.kill()
	t.unlock(waiting.granted())
}

func killedReader(t *trial) {
	name := t.name("lock")
	here := t.locks()
	reads := t.child(task{Do: "hold", Mode: holdfast.Shared, Name: name, TTL: t.ttl})
	reads.hears("granted")
	beside := t.takeNow(t.ctx, t.readerOf(here, name))
	writer := t.queue(func(locks *holdfast.Client) holdfast.Locker { return t.rwmutexOf(locks, name) })
	reads.kill()
	writer.waits() // a reader is left
	t.unlock(beside)
	t.unlock(writer.granted())
}

func killedPermits(t *trial) {
	name := t.name("permits")
	sem := t.semaphoreOf(t.locks(), name, 3)
	holder := t.child(task{Do: "hold", Mode: holdfast.Permits, N: 2, Limit: 3, Name: name, TTL: t.ttl})
	holder.hears("granted")
	mine := t.takeNow(t.ctx, sem.Permits(1))
	t.refused(t.ctx, sem.Permits(1))
	waiting := t.pend(t.ctx, sem.Permits(2))
	holder.kill()
	theirs := waiting.granted()
	t.refused(t.ctx, sem.Permits(1)) // no more than were held
	t.unlock(mine)
	t.unlock(theirs)
	t.unlock(t.takeNow(t.ctx, sem.Permits(3)))
}

func keptAfterKill(t *trial) {
	name := t.name("lock")
	here, clock := t.locks(), t.open().Clock()
	minHold := t.keepFor() + 2*t.ttl // longer than its TTL
	holder := t.child(task{Do: "hold", Name: name, TTL: t.ttl, MinHold: minHold, Ordered: true})
	holder.hears("ready")
	from := clock.Now() // before the grant, and not long before
	holder.tell("lock")
	holder.hears("granted")
	holder.kill()
	next := t.lock(here, name)
	if early := from.Add(minHold).Sub(clock.Now()); early > 0 {
		t.Errorf("the lock of a killed process was granted to another %v before its MinHold of %v was over", early, minHold)
	}
	t.unlock(next)
}
