package memlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Close ends what waits in this connection, and only there.
func TestCloseEndsWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		first := ask("x", driver.Exclusive)
		take(t, other, first)
		a := queue(t, st, ask("x", driver.Exclusive))
		b := queue(t, other, ask("x", driver.Exclusive))
		c := queue(t, st, ask("x", driver.Exclusive))
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		for _, closed := range []*call{a, c} {
			if err := closed.failed(t, driver.ErrClosed); driver.Answered(err) {
				t.Error("it is called an answer, but its place is still there")
			}
		}
		b.waits(t)
		release(t, other, first)
		b.granted(t)
	})
}

// Whoever waits in a closed connection is not served, not even by the room that the closing itself makes.
func TestCloseServesOthers(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		take(t, other, ask("x", driver.Shared, lasting(time.Hour)))
		var closed []*call
		for range 20 { // the first writer's leaving lets the readers behind it in
			closed = append(closed, queue(t, st, ask("x", driver.Exclusive)), queue(t, st, ask("x", driver.Shared)))
		}
		reader := queue(t, other, ask("x", driver.Shared))
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range closed {
			c.failed(t, driver.ErrClosed)
		}
		reader.granted(t)
		equal(t, "holders", len(look(t, other, "x", driver.Shared).Holders), 2)
	})
}

// Close is not Release: holds stay until they run out, and can be released by another connection. The closed one hears nothing.
func TestCloseKeepsHolds(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		var lost hearing
		stays, released := ask("x", driver.Exclusive, losing(lost.lost)), ask("y", driver.Exclusive)
		grant := take(t, st, stays)
		take(t, st, released)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := grant.Lease.Renew(background, ttl)
		wantError(t, err, driver.ErrClosed)
		if driver.Answered(err) {
			t.Error("it is called an answer, but it still holds")
		}
		next := queue(t, other, ask("x", driver.Exclusive))
		release(t, other, released)
		time.Sleep(ttl - 1)
		next.waits(t)
		time.Sleep(time.Nanosecond)
		next.granted(t)
		synctest.Wait()
		equal(t, "told", len(lost.heard()), 0)
	})
}

// A hold that another connection has asked for again is that one's.
func TestHoldMovesToAnotherConnection(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		var lost hearing
		r := ask("x", driver.Exclusive, losing(lost.lost))
		take(t, st, r)
		grant := take(t, other, r)
		st.Close()
		if _, err := grant.Lease.Renew(background, ttl); err != nil {
			t.Errorf("Renew: %v", err)
		}
		time.Sleep(ttl)
		synctest.Wait()
		equal(t, "told", len(lost.heard()), 1)
	})
}

// A waiter that asks in two connections waits on in the other one.
func TestWaiterInTwoConnections(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		first := ask("x", driver.Exclusive)
		take(t, other, first)
		r := ask("x", driver.Exclusive)
		stays := queue(t, other, r)
		ends := queue(t, st, r)
		st.Close()
		ends.failed(t, driver.ErrClosed)
		stays.waits(t)
		release(t, other, first)
		stays.granted(t)
	})
}

// A call that is slow to notice that its connection was closed does no harm, whatever has become of its attempt.
func TestSlowCallOfAClosedConnection(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		take(t, other, ask("x", driver.Exclusive, lasting(time.Hour)))
		r := ask("x", driver.Exclusive)
		c, look := slow(t, st, r)
		st.Close()
		refused(t, other, r) // gives its place up
		next := queue(t, other, ask("x", driver.Exclusive))
		look()
		c.failed(t, driver.ErrClosed)
		next.waits(t)
		equal(t, "waiters", func() int { i, _ := other.Inspect(background, "x", driver.Exclusive); return len(i.Waiters) }(), 1)
	})
}

func TestUseAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		take(t, st, r)
		for range 2 { // closing twice is harmless
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}
		begin(background, t, st, ask("y", driver.Exclusive)).failed(t, driver.ErrClosed)
		wantError(t, st.Release(background, r), driver.ErrClosed)
		wantError(t, st.Break(background, &driver.BreakRequest{Name: "x", Token: 1}), driver.ErrClosed)
		_, err := st.Inspect(background, "x", driver.Exclusive)
		wantError(t, err, driver.ErrClosed)
		for _, err = range st.List(background, "") {
			wantError(t, err, driver.ErrClosed)
		}
		_, err = st.Guarantees(background)
		wantError(t, err, driver.ErrClosed)
		_, err = st.Identity(background)
		wantError(t, err, driver.ErrClosed)
		equal(t, "string", st.String(), "mem://")
		equal(t, "clock", st.Clock(), st.Server().Connect().Clock())
	})
}
