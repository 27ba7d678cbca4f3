package filelock

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// both runs a test with clients that are woken, that poll, and that work as on a network file system.
func both(t *testing.T, test func(t *testing.T, c config)) {
	boot := systemBoot()
	for name, c := range map[string]config{"woken": {boot: boot}, "polling": {boot: boot, poll: true}, "network": {network: true}} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// Whoever is killed makes room for the next, of whatever kind, in order.
func TestKilledHolders(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b, d := opened(t, dir, c), opened(t, dir, c), opened(t, dir, c)
		take(t, a, ask("x", driver.Shared))
		take(t, b, ask("x", driver.Shared))
		writer := queue(t, d, ask("x", driver.Exclusive))
		reader := queue(t, d, ask("x", driver.Shared))
		kill(a)
		kill(b)
		first := writer.granted()
		reader.waits()
		free(t, d, writer.r)
		if second := reader.granted(); second.Token <= first.Token {
			t.Errorf("token %d after %d", second.Token, first.Token)
		}
	})
}

// Permits: the head needs many, and those who have them die one after the other.
func TestKilledPermits(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		d := opened(t, dir, c)
		var holders []*Store
		for range 4 {
			st := opened(t, dir, c)
			take(t, st, ask("s", driver.Permits, permits(1, 4)))
			holders = append(holders, st)
		}
		many := queue(t, d, ask("s", driver.Permits, permits(3, 4)))
		for _, i := range []int{2, 0, 3} {
			many.waits()
			kill(holders[i])
		}
		many.granted()
	})
}

// A waiter that is killed in the middle of the queue, and the head, do not keep the others waiting.
func TestKilledWaiters(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a := opened(t, dir, c)
		r := ask("x", driver.Exclusive)
		take(t, a, r)
		var waiters []*pending
		var stores []*Store
		for range 4 {
			st := opened(t, dir, c)
			stores = append(stores, st)
			waiters = append(waiters, queue(t, st, ask("x", driver.Exclusive)))
		}
		kill(stores[0])
		kill(stores[2])
		free(t, a, r)
		waiters[1].granted()
		waiters[3].waits()
		kill(stores[1])
		waiters[3].granted()
	})
}

// The minimum hold of somebody who was killed is kept, for those who wait already and for those who come later.
func TestKilledWithKeep(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		const keep = 300 * time.Millisecond
		g := take(t, a, ask("x", driver.Exclusive, keeping(keep)))
		w := queue(t, b, ask("x", driver.Exclusive))
		kill(a)
		next := w.granted()
		if early := g.Asked.Add(keep).Sub(b.Clock().Now()); early > 0 {
			t.Errorf("granted %v before the minimum hold was over", early)
		}
		if next.Token <= g.Token {
			t.Errorf("token %d after %d", next.Token, g.Token)
		}
	})
}

// Killed between bell and write: nothing has changed, and those who were rung see that, and see the end of the ringer.
func TestKilledBetweenBellAndWrite(t *testing.T) {
	dir := newDir(t)
	a, b, d := opened(t, dir), opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive))
	first, second := queue(t, b, ask("x", driver.Exclusive)), queue(t, d, ask("x", driver.Exclusive))
	lk := a.locks[keyOf("x", driver.Exclusive)]
	file, _, err := lk.take(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	a.ring(b.id, lk.sum)
	kill(a)
	first.waits() // it waits for the guard
	file.Close()
	first.granted()
	second.waits()
	kill(b)
	second.granted()
}

// Everybody is killed: the next Open sweeps, and nothing is left.
func TestSweep(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		var stores []*Store
		for range 3 {
			st := opened(t, dir, c)
			take(t, st, ask("x", driver.Shared))
			r := ask("idle", driver.Shared)
			take(t, st, r)
			free(t, st, r)
			stores = append(stores, st)
		}
		living := opened(t, dir, c)
		w := queue(t, living, ask("x", driver.Exclusive))
		for _, st := range stores {
			kill(st)
		}
		w.granted()
		opened(t, dir, c).Close()
		if seen, err := living.count(); err != nil || len(seen.dead) != 0 || seen.living != 1 {
			t.Errorf("after a sweep there are %+v, %v; want one, alive", seen, err)
		}
		kill(living)
		opened(t, dir, c).Close()
		isEmpty(t, dir)
	})
}

// What is shown does not contain the dead, and showing changes nothing.
func TestInspectHidesTheDead(t *testing.T) {
	dir := newDir(t)
	a, b, d := opened(t, dir), opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive, keeping(time.Hour)))
	queue(t, b, ask("x", driver.Exclusive))
	kill(b)
	kill(a)
	for range 2 {
		info := look(t, d, "x")
		if len(info.Waiters) != 0 || len(info.Holders) != 1 || !info.Holders[0].Kept {
			t.Fatalf("%+v; want one that is kept, and nobody who waits", info)
		}
	}
}

// A semaphore that only the dead use takes another limit; one that is in use does not.
func TestLimitOfTheDead(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	take(t, a, ask("s", driver.Permits, permits(1, 3)))
	_, err := b.Acquire(t.Context(), ask("s", driver.Permits, permits(1, 5), noWait))
	if limit, ok := errors.AsType[*driver.LimitError](err); !ok || limit.Have != 3 || limit.Want != 5 {
		t.Errorf("another limit: %v; want both named", err)
	}
	kill(a)
	take(t, b, ask("s", driver.Permits, permits(5, 5), noWait))
}
