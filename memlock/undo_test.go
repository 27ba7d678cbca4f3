package memlock_test

import (
	"context"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// R1: a release of a waiting attempt ends all its calls, and it is gone from the queue.
func TestReleaseWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		r := ask("x", driver.Exclusive)
		one, two := queue(t, st, r), queue(t, st, r)
		release(t, st, r)
		one.failed(t, driver.ErrGone)
		two.failed(t, driver.ErrGone)
		equal(t, "waiters", len(look(t, st, "x", driver.Exclusive).Waiters), 0)
		release(t, st, first)
		equal(t, "remains", st.Server().Remains(), "")
	})
}

// The undo of a wait that was cut off: the caller is away, its place goes too.
func TestReleaseAfterCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		r := ask("x", driver.Exclusive)
		waitsAway(t, st, r)
		release(t, st, r)
		equal(t, "waiters", len(look(t, st, "x", driver.Exclusive).Waiters), 0)
		release(t, st, first)
		equal(t, "remains", st.Server().Remains(), "")
	})
}

// R2, the late request: Release overtakes the Acquire that it undoes, which then is not granted for as long as its TTL.
func TestAcquireAfterItsUndo(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		wantError(t, st.Release(background, r), driver.ErrGone)
		begin(background, t, st, r).failed(t, driver.ErrGone)
		take(t, st, ask("x", driver.Exclusive, lasting(time.Millisecond))) // nobody else is kept out
		time.Sleep(ttl - 1)
		err := begin(background, t, st, r).failed(t, driver.ErrGone)
		if !driver.Answered(err) {
			t.Errorf("%v is no answer", err)
		}
		time.Sleep(time.Nanosecond)
		take(t, st, r)
	})
}

// Every further Release counts from its own time.
func TestUndoTwice(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		wantError(t, st.Release(background, r), driver.ErrGone)
		time.Sleep(ttl / 2)
		wantError(t, st.Release(background, r), driver.ErrGone)
		shorter := *r
		shorter.TTL = time.Millisecond
		wantError(t, st.Release(background, &shorter), driver.ErrGone) // does not shorten it
		time.Sleep(ttl - 1)
		begin(background, t, st, r).failed(t, driver.ErrGone)
		time.Sleep(time.Nanosecond)
		take(t, st, r)
	})
}

// slow queues r, but keeps the goroutine of its Acquire from looking at the answer until look is called.
func slow(t *testing.T, st *memlock.Store, r *driver.Request) (c *call, look func()) {
	t.Helper()
	gate, open := context.WithCancel(background)
	t.Cleanup(open)
	r.Waiting = func(driver.Progress) { <-gate.Done() }
	return queue(t, st, r), open
}

// The crossing: released after it was granted, but before Acquire has returned. It does not hold, and says so.
func TestReleaseCrossesGrant(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first, r := ask("x", driver.Exclusive), ask("x", driver.Exclusive)
		take(t, st, first)
		second, look := slow(t, st, r)
		release(t, st, first) // r holds from here on
		release(t, st, r)
		look()
		second.failed(t, driver.ErrGone)
		equal(t, "remains", st.Server().Remains(), "")
	})
}

// The same without a say in who is faster.
func TestReleaseRacesGrant(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		for range 100 {
			first, r := ask("x", driver.Exclusive), ask("x", driver.Exclusive)
			take(t, st, first)
			second := queue(t, st, r)
			release(t, st, first)
			release(t, st, r)
			if !second.ended() || (second.err != nil && second.err != driver.ErrGone) {
				t.Fatalf("Acquire: %v", second.err)
			}
			equal(t, "remains", st.Server().Remains(), "")
		}
	})
}

// Granted, and run out before Acquire has returned: the grant tells by its Asked and TTL that it is over, and Lost has told too.
func TestExpiryCrossesGrant(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		first, r := ask("x", driver.Exclusive), ask("x", driver.Exclusive, losing(lost.lost))
		take(t, st, first)
		second, look := slow(t, st, r)
		handedOver := st.Clock().Now()
		release(t, st, first)
		time.Sleep(2 * ttl)
		look()
		grant := second.granted(t)
		equal(t, "asked", grant.Asked, handedOver)
		equal(t, "TTL", grant.TTL, ttl)
		equal(t, "told", len(lost.heard()), 1)
		_, err := grant.Lease.Renew(background, ttl)
		wantError(t, err, driver.ErrGone)
	})
}

// Release needs neither the grant nor the connection that acquired, and not the same request: an equal one will do.
func TestReleaseByAnEqualRequest(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Shared)
		take(t, st, r)
		equalOne := driver.Request{Name: r.Name, Attempt: r.Attempt, Mode: r.Mode, TTL: r.TTL}
		release(t, st.Server().Connect(), &equalOne)
		equal(t, "remains", st.Server().Remains(), "")
	})
}

// A released hold is not renewed, and its Lost is not called.
func TestReleasedHoldIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		r := ask("x", driver.Exclusive, losing(lost.lost))
		grant := take(t, st, r)
		release(t, st, r)
		_, err := grant.Lease.Renew(background, ttl)
		wantError(t, err, driver.ErrGone)
		time.Sleep(2 * ttl)
		equal(t, "told", len(lost.heard()), 0)
	})
}

// A release that nobody can carry out, because its context is done, changes nothing.
func TestReleaseWithEndedContext(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		take(t, st, r)
		ctx, cancel := context.WithCancel(background)
		cancel()
		err := st.Release(ctx, r)
		wantError(t, err, context.Canceled)
		if driver.Answered(err) {
			t.Error("it is called an answer")
		}
		refused(t, st, ask("x", driver.Exclusive))
	})
}
