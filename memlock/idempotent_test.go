package memlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A1: a holder that asks again has the same hold, its TTL begun anew.
func TestRepeatedWhileHolding(t *testing.T) {
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared, driver.Permits} {
		t.Run(mode.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, st *memlock.Store) {
				r := ask("x", mode, reserving(3))
				if mode == driver.Permits {
					r.N, r.Limit = 2, 3
				}
				first := take(t, st, r)
				time.Sleep(6 * time.Second)
				now := st.Clock().Now()
				again := take(t, st, r)
				equal(t, "token", again.Token, first.Token)
				equal(t, "spare", again.Spare, first.Spare)
				equal(t, "asked", again.Asked, now)
				equal(t, "TTL", again.TTL, ttl)
				equal(t, "lease", again.Lease, first.Lease)
				equal(t, "holders", len(look(t, st, "x", mode).Holders), 1)

				time.Sleep(ttl - 1)
				if left, err := again.Lease.Renew(background, 0); err != nil || left != 1 {
					t.Fatalf("Renew: %v, %v", left, err)
				}
			})
		})
	}
}

// It never shortens.
func TestRepeatedWithAShorterTTL(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, lasting(time.Minute))
		take(t, st, r)
		time.Sleep(time.Second)
		shorter := *r
		shorter.TTL = time.Second
		equal(t, "TTL", take(t, st, &shorter).TTL, 59*time.Second)
	})
}

// A1: a waiter that asks again keeps its place, and all its calls get the answer.
func TestRepeatedWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		r := ask("x", driver.Exclusive)
		one := queue(t, st, r)
		next := queue(t, st, ask("x", driver.Exclusive))
		two := queue(t, st, r)
		three := queue(t, other, r)
		equal(t, "waiters", len(look(t, st, "x", driver.Exclusive).Waiters), 2)

		time.Sleep(time.Second)
		now := st.Clock().Now()
		release(t, st, first)
		for _, c := range []*call{one, two, three} {
			grant := c.granted(t)
			equal(t, "token", grant.Token, 2)
			equal(t, "asked", grant.Asked, now)
			equal(t, "TTL", grant.TTL, ttl)
		}
		next.waits(t)
	})
}

// One of several calls that goes away leaves the others in their place.
func TestOneOfSeveralCallsGoesAway(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		r := ask("x", driver.Exclusive)
		ctx, cancel := context.WithCancel(background)
		one := begin(ctx, t, st, r)
		two := queue(t, st, r)
		next := queue(t, st, ask("x", driver.Exclusive))
		cancel()
		one.failed(t, context.Canceled)
		release(t, st, first)
		two.granted(t)
		next.waits(t)
	})
}

// One call that does not want to wait does not end the waiting of another.
func TestRepeatedWithoutWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		r := ask("x", driver.Exclusive)
		one := queue(t, st, r)
		refused(t, st, r)
		one.waits(t)
		release(t, st, first)
		one.granted(t)
	})
}

// The lost answer: the grant came, but its caller had gone. Asked again, it is the same hold.
func TestLostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		lost := take(t, st, r)
		queue(t, st, ask("x", driver.Exclusive))
		equal(t, "token", take(t, st, r).Token, lost.Token)
	})
}

// A repeated attempt that has run out begins anew, behind those who wait, with a greater token.
func TestRepeatedAfterExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		first := take(t, st, r)
		next := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(ttl)
		next.granted(t)
		again := queue(t, st, r)
		release(t, st, next.r)
		if second := again.granted(t); second.Token <= first.Token || second.Lease == first.Lease {
			t.Errorf("first %+v, then %+v", first, second)
		}
	})
}

// A hold that is asked for again is reported lost once, to the one who asked last.
func TestRepeatedIsLostOnce(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var first, second hearing
		r := ask("x", driver.Exclusive, losing(first.lost))
		take(t, st, r)
		again := *r
		again.Lost = second.lost
		take(t, st, &again)
		time.Sleep(ttl)
		synctest.Wait()
		equal(t, "first", len(first.heard()), 0)
		equal(t, "second", len(second.heard()), 1)
	})
}
