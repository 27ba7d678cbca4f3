package memlock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		var calls []*call
		for range 20 {
			calls = append(calls, queue(t, st, ask("x", driver.Exclusive)))
		}
		// Those in the middle and at the ends that leave change nothing for the others.
		for _, i := range []int{19, 10, 0} {
			release(t, st, calls[i].r)
			calls[i].failed(t, driver.ErrGone)
			calls = slices.Delete(calls, i, i+1)
		}
		release(t, st, first)
		for i, c := range calls {
			c.granted(t)
			if i+1 < len(calls) {
				calls[i+1].waits(t)
			}
			release(t, st, c.r)
		}
	})
}

// A hand-over is direct: the next one holds as soon as Release has returned, before its goroutine has even run, and nobody gets in
// between. Nobody but it is woken.
func TestHandOverIsDirect(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		holder := ask("x", driver.Exclusive)
		take(t, st, holder)
		var calls []*call
		for i := range 50 {
			calls = append(calls, queue(t, st, ask("x", driver.Exclusive, label(fmt.Sprint(i)))))
		}
		for i, next := range calls {
			release(t, st, holder)
			held := refused(t, st, ask("x", driver.Exclusive))
			equal(t, "holder", held.Holders[0].Label, fmt.Sprint(i))
			equal(t, "token", next.granted(t).Token, held.Holders[0].Token)
			if i+1 < len(calls) {
				calls[i+1].waits(t)
			}
			holder = next.r
		}
	})
}

// waitsAway queues an attempt whose caller then goes away.
func waitsAway(t *testing.T, st *memlock.Store, r *driver.Request) {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	c := begin(ctx, t, st, r)
	c.waits(t)
	cancel()
	c.failed(t, context.Canceled)
}

// A waiter whose caller went away is passed over.
func TestAbsentWaiterIsPassedOver(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		absent := ask("x", driver.Exclusive, label("absent"))
		waitsAway(t, st, absent)
		next := queue(t, st, ask("x", driver.Exclusive))
		release(t, st, first)
		next.granted(t)
		waiters := look(t, st, "x", driver.Exclusive).Waiters
		if len(waiters) != 1 || waiters[0].Label != "absent" {
			t.Errorf("its place is not shown: %+v", waiters)
		}
		release(t, st, next.r)
		take(t, st, ask("x", driver.Exclusive)) // nobody who is there waits
	})
}

// It keeps its place for its TTL: one that comes back in time stands where it stood.
func TestAbsentWaiterComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive, lasting(time.Minute))
		take(t, st, first)
		a := queue(t, st, ask("x", driver.Exclusive))
		back := ask("x", driver.Exclusive)
		waitsAway(t, st, back)
		b := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(ttl - 1)
		returned := queue(t, st, back)

		release(t, st, first)
		a.granted(t)
		release(t, st, a.r)
		returned.granted(t)
		b.waits(t)
		release(t, st, back)
		b.granted(t)
	})
}

// After its TTL the place is lost, and it begins at the end like everybody else.
func TestAbsentWaiterIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive, lasting(time.Minute))
		take(t, st, first)
		late := ask("x", driver.Exclusive)
		waitsAway(t, st, late)
		b := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(ttl)
		synctest.Wait()
		equal(t, "waiters", len(look(t, st, "x", driver.Exclusive).Waiters), 1)
		returned := queue(t, st, late)
		release(t, st, first)
		b.granted(t)
		returned.waits(t)
	})
}

// The TTL of its place counts from when the last caller went away, not from when it began to wait.
func TestAbsenceBeginsWithTheLastCaller(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive, lasting(time.Hour))
		take(t, st, first)
		r := ask("x", driver.Exclusive)
		ctx, cancel := context.WithCancel(background)
		one := begin(ctx, t, st, r)
		two := queue(t, st, r)
		time.Sleep(2 * ttl)
		cancel()
		one.failed(t, context.Canceled)
		time.Sleep(2 * ttl)
		two.waits(t)
		release(t, st, first)
		two.granted(t) // it was there all the time
	})
}

// One that comes back to the head of a queue that can move on is served at once.
func TestAbsentWaiterComesBackToTheHead(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Permits, permits(3, 5), lasting(time.Hour)))
		absent := ask("x", driver.Permits, permits(3, 5)) // waits
		small := ask("x", driver.Permits, permits(1, 5))
		ctx, cancel := context.WithCancel(background)
		c := begin(ctx, t, st, absent)
		c.waits(t)
		waitsAway(t, st, small) // behind it, absent too
		big := queue(t, st, ask("x", driver.Permits, permits(5, 5)))
		cancel()
		c.failed(t, context.Canceled)
		take(t, st, small) // has its place before big, and fits
		big.waits(t)
	})
}

// With NoWait an absent attempt gives its place up: the answer Held says that it does not wait.
func TestAbsentWaiterAsksWithoutWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive))
		r := ask("x", driver.Exclusive)
		waitsAway(t, st, r)
		refused(t, st, r)
		equal(t, "waiters", len(look(t, st, "x", driver.Exclusive).Waiters), 0)
	})
}
