package memlock_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Nothing of a lock stays once nobody holds, waits, keeps it, or is entombed: at once, not only after some time.
func TestNothingStays(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		for i := range 100 {
			name := fmt.Sprint("lock/", i)
			a, b, c := ask(name, driver.Exclusive), ask(name, driver.Shared, telling(func(driver.Progress) {})), ask(name, driver.Exclusive)
			p := ask(name, driver.Permits, permits(1, 2))
			take(t, st, p)
			take(t, st, a)
			reader := queue(t, st, b)
			waitsAway(t, st, c)
			release(t, st, a)
			reader.granted(t)
			release(t, st, c)
			release(t, st, b)
			release(t, st, p)
			equal(t, "remains", st.Server().Remains(), "")
		}
	})
}

// What ends by itself goes by itself: nobody has to ask.
func TestNothingStaysAfterItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		kept := ask("kept", driver.Exclusive, keeping(2*ttl))
		take(t, st, kept)
		release(t, st, kept)
		take(t, st, ask("expires", driver.Shared))
		take(t, st, ask("held", driver.Permits, permits(1, 1), lasting(time.Second)))
		waitsAway(t, st, ask("expires", driver.Exclusive, lasting(3*ttl)))
		wantError(t, st.Release(background, ask("entombed", driver.Exclusive)), driver.ErrGone)
		time.Sleep(3*ttl - 1)
		synctest.Wait()
		equal(t, "remains", st.Server().Remains(), "1 locks, 1 claims, 0 tombs, 1 deadlines, 0 losses")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		equal(t, "remains", st.Server().Remains(), "")
	})
}

// Ten thousand holds that are renewed need one alarm, and that is not set anew by every renewal.
func TestOneAlarm(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var leases []driver.Lease
		for i := range 10_000 {
			grant, err := st.Acquire(background, ask(fmt.Sprint(i), driver.Exclusive))
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, grant.Lease)
		}
		equal(t, "alarms after the first", st.Server().Alarms(), 1)
		for range 10 {
			time.Sleep(ttl / 2)
			for _, lease := range leases {
				if _, err := lease.Renew(background, ttl); err != nil {
					t.Fatal(err)
				}
			}
		}
		if alarms := st.Server().Alarms(); alarms > 20 {
			t.Errorf("%d alarms were set for ten rounds of renewals", alarms)
		}
	})
}

// A lock that is taken and released all the time sets one alarm in each TTL, not one for each hold.
func TestAlarmsOfABusyLock(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		for range 1000 {
			r := ask("x", driver.Exclusive)
			take(t, st, r)
			release(t, st, r)
			time.Sleep(10 * time.Millisecond)
		}
		equal(t, "alarms", st.Server().Alarms(), 1)
	})
}

// An earlier alarm replaces a later one.
func TestAlarmIsReplaced(t *testing.T) {
	clock := &countingClock{Clock: driver.Local()}
	st := memlock.NewServer(memlock.WithClock(clock)).Connect()
	for _, d := range []time.Duration{time.Hour, 2 * time.Hour, 30 * time.Minute} {
		if _, err := st.Acquire(background, ask("x", driver.Shared, lasting(d))); err != nil {
			t.Fatal(err)
		}
		equal(t, "alarms that are set", clock.set, 1)
	}
}

// A server that nobody is connected to and that holds nothing has no alarm left that would keep it in memory.
func TestNoAlarmAfterClose(t *testing.T) {
	clock := &countingClock{Clock: driver.Local()}
	st := memlock.NewServer(memlock.WithClock(clock)).Connect()
	r := ask("x", driver.Exclusive)
	for range 2 {
		if _, err := st.Acquire(background, r); err != nil {
			t.Fatal(err)
		}
		equal(t, "alarms while it holds", clock.set, 1)
		if err := st.Release(background, r); err != nil {
			t.Fatal(err)
		}
		server := st.Server()
		st.Close()
		equal(t, "alarms afterwards", clock.set, 0)
		st = server.Connect() // a later hold sets it again
	}
}

// A countingClock counts the alarms that are set. It is for one goroutine.
type countingClock struct {
	driver.Clock
	set int
}

func (c *countingClock) At(t driver.Instant, f func()) (stop func() bool) {
	c.set++
	inner := c.Clock.At(t, f)
	return func() bool {
		c.set--
		return inner()
	}
}
