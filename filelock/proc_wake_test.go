//go:build linux

package filelock_test

import (
	"testing"
	"time"
)

// Waiters are told. They also look for themselves after a second or more, to tell people how things stand: that must not be what
// wakes them. If it were, these tests would take well over a second for each step, and more than a minute in all; they take less
// than a second in all, on a machine that has nothing else to do.

const steps = 90

// soon returns a check, for each step, that fails once the steps take as long as they would if nobody was told.
func soon(t *testing.T) (check func()) {
	began := time.Now()
	return func() {
		t.Helper()
		if took := time.Since(began); took > patience {
			t.Fatalf("%d steps take more than %v: waiters are not told, they find out", steps, took)
		}
	}
}

// TestHandOversAreTold: two processes hand a lock to each other; and one hands permits and a read lock to the other.
func TestHandOversAreTold(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*order){
		"exclusive": func(*order) {}, "shared": shared, "permits": permits(2, 3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			pair := []*party{there(t, dir), there(t, dir)}
			block := func(o *order) {
				if how(o); name == "shared" {
					o.Mode = 0 // readers do not wait for readers
				}
			}
			pair[0].holds("lock", "lock", block)
			check := soon(t)
			for i := range steps {
				check()
				from, to := pair[i%2], pair[(i+1)%2]
				if name != "shared" {
					to.queues("lock", "lock", how)
					to.grantedSince("lock", from.unlocks("lock"))
					continue
				}
				pair[1].queues("lock", "lock", shared)
				pair[1].grantedSince("lock", pair[0].unlocks("lock"))
				pair[0].queues("lock", "lock", block)
				pair[0].grantedSince("lock", pair[1].unlocks("lock"))
			}
		})
	}
}

// TestTakeOversAreNoticed: processes wait in a queue, and each is killed as soon as it holds.
func TestTakeOversAreNoticed(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder := there(t, dir)
	holder.holds("lock", "lock")
	var queue []*party
	for range steps {
		p := there(t, dir)
		p.queues("lock", "lock")
		queue = append(queue, p)
	}
	check := soon(t)
	for _, next := range queue {
		check()
		next.grantedSince("lock", holder.dies())
		holder = next
	}
}

// TestBreaksAreTold: a holder whose hold is broken hears of it, though it asks for nothing.
func TestBreaksAreTold(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, locks := there(t, dir), open(t, dir)
	check := soon(t)
	for range steps {
		check()
		held := holder.holds("lock", "lock")
		if err := locks.Break(t.Context(), "lock", held.Token); err != nil {
			t.Fatalf("breaking: %v", err)
		}
		holder.hears("lost", "lock")
		holder.tell(order{Do: "unlock", ID: "lock"})
		holder.hears("unlocked", "lock")
	}
}
