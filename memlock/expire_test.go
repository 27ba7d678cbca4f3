package memlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A hold that nobody renews ends after its TTL, not before; its owner is told and the next one served at that very moment.
func TestExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		start := time.Now()
		grant := take(t, st, ask("x", driver.Exclusive, losing(lost.lost)))
		next := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(ttl - 1)
		next.waits(t)
		equal(t, "told early", len(lost.heard()), 0)

		time.Sleep(time.Nanosecond)
		after := next.granted(t)
		equal(t, "asked", after.Asked, grant.Asked.Add(ttl))
		synctest.Wait()
		if heard := lost.heard(); len(heard) != 1 || heard[0] != driver.ErrGone {
			t.Fatalf("told %v", heard)
		}
		equal(t, "told after", lost.at.Sub(start), ttl)
		_, err := grant.Lease.Renew(background, ttl)
		wantError(t, err, driver.ErrGone)
	})
}

// Loss is reported on time also when nobody waits and nobody asks.
func TestExpiryUnasked(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var first, second hearing
		start := time.Now()
		take(t, st, ask("long", driver.Exclusive, lasting(time.Hour), losing(first.lost)))
		take(t, st, ask("short", driver.Exclusive, lasting(time.Second), losing(second.lost))) // the alarm must move forward
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		equal(t, "long", first.at.Sub(start), time.Hour)
		equal(t, "short", second.at.Sub(start), time.Second)
	})
}

func TestRenew(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		grant := take(t, st, ask("x", driver.Exclusive, losing(lost.lost)))
		next := queue(t, st, ask("x", driver.Exclusive))
		for range 100 { // over many TTLs
			time.Sleep(ttl - 1)
			left, err := grant.Lease.Renew(background, ttl)
			if err != nil || left != ttl {
				t.Fatalf("Renew: %v, %v", left, err)
			}
		}
		next.waits(t)
		equal(t, "told", len(lost.heard()), 0)

		// L1: it never shortens, and with 0 it only asks.
		time.Sleep(time.Second)
		for _, shorter := range []time.Duration{0, time.Second, -time.Hour} {
			if left, err := grant.Lease.Renew(background, shorter); err != nil || left != ttl-time.Second {
				t.Fatalf("Renew(%v): %v, %v", shorter, left, err)
			}
		}
		if left, err := grant.Lease.Renew(background, 48*time.Hour); err != nil || left != memlock.MaxTTL {
			t.Fatalf("Renew: %v, %v", left, err)
		}
		time.Sleep(memlock.MaxTTL - 1)
		next.waits(t)
		time.Sleep(time.Nanosecond)
		next.granted(t)
	})
}

// TTLs out of bounds are wishes; the grant tells what is.
func TestBoundsOfTTL(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		equal(t, "short", take(t, st, ask("x", driver.Exclusive, lasting(1))).TTL, memlock.MinTTL)
		equal(t, "long", take(t, st, ask("y", driver.Exclusive, lasting(100*time.Hour))).TTL, memlock.MaxTTL)
		time.Sleep(memlock.MinTTL - 1)
		refused(t, st, ask("x", driver.Exclusive))
		time.Sleep(time.Nanosecond)
		take(t, st, ask("x", driver.Exclusive))
	})
}

// However late the alarm rings: what has run out is not renewed, not repeated, not released, and keeps nobody out.
func TestLateAlarm(t *testing.T) {
	clock := new(stillClock)
	st := memlock.NewServer(memlock.WithClock(clock)).Connect()
	var lost hearing
	acquire := func(r *driver.Request) *driver.Grant {
		t.Helper()
		grant, err := st.Acquire(background, r)
		if err != nil {
			t.Fatal(err)
		}
		return grant
	}
	r := ask("x", driver.Exclusive, losing(lost.lost), noWait)
	grant := acquire(r)
	clock.move(ttl)
	_, err := grant.Lease.Renew(background, ttl)
	wantError(t, err, driver.ErrGone)
	equal(t, "told", len(lost.heard()), 1)

	again := acquire(r)
	if again.Token <= grant.Token {
		t.Errorf("after its end it was granted again with token %d, before %d", again.Token, grant.Token)
	}
	clock.move(ttl)
	wantError(t, st.Release(background, r), driver.ErrGone)

	acquire(ask("x", driver.Exclusive, noWait))
	clock.move(ttl)
	equal(t, "holders", len(look(t, st, "x", driver.Exclusive).Holders), 0)
	last := acquire(ask("x", driver.Exclusive, noWait))
	clock.move(ttl)
	wantError(t, st.Break(background, &driver.BreakRequest{Name: "x", Token: last.Token}), driver.ErrGone)
}

// An alarm that rings too early, or twice, or that was taken back too late, does nothing, and is set again.
func TestEarlyAlarm(t *testing.T) {
	clock := new(stillClock)
	st := memlock.NewServer(memlock.WithClock(clock)).Connect()
	var lost hearing
	for _, d := range []time.Duration{time.Hour, time.Minute, ttl} { // each sets an earlier alarm; the others stay in the clock
		if _, err := st.Acquire(background, ask("x", driver.Shared, lasting(d), losing(lost.lost))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		clock.ring()
		equal(t, "told early", len(lost.heard()), 0)
		equal(t, "alarms that are set", len(clock.alarms), 1)
	}
	for i, d := range []time.Duration{ttl, time.Minute - ttl, time.Hour - time.Minute} {
		clock.move(d)
		clock.ring()
		equal(t, "told", len(lost.heard()), i+1)
	}
	equal(t, "remains", st.Server().Remains(), "")
	clock.ring()
	equal(t, "alarms at rest", len(clock.alarms), 0)
}

// Asked is the clock before the question, for a direct grant; and the hold lasts for the TTL from then on, at least.
func TestAskedOfADirectGrant(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		time.Sleep(time.Minute)
		now := st.Clock().Now()
		grant := take(t, st, ask("x", driver.Exclusive))
		equal(t, "asked", grant.Asked, now)
		equal(t, "TTL", grant.TTL, ttl)
	})
}

// A slowClock moves on by a second whenever it is asked.
type slowClock struct{ stillClock }

func (c *slowClock) Now() driver.Instant {
	c.move(time.Second)
	return c.stillClock.Now()
}

// Between the question and the decision time passes: Asked is the time before it, and the hold lasts longer rather than shorter.
func TestAskedIsBeforeTheDecision(t *testing.T) {
	clock := new(slowClock)
	st := memlock.NewServer(memlock.WithClock(clock)).Connect()
	r := ask("x", driver.Exclusive)
	for range 2 { // the first time, and repeated
		before := clock.stillClock.Now()
		grant, err := st.Acquire(background, r)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "asked", grant.Asked, before.Add(time.Second))
		left, err := grant.Lease.Renew(background, 0)
		end := clock.stillClock.Now().Add(left)
		if err != nil || end.Before(grant.Asked.Add(grant.TTL)) {
			t.Fatalf("asked %v, TTL %v, but it ends at %v; %v", grant.Asked, grant.TTL, end, err)
		}
	}
}
