package redislock_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// TestOracleInTime is TestOracle in a world where time passes, in steps, by the clocks of both sides at once: holds run out, minimum holds
// and tombstones end.
func TestOracleInTime(t *testing.T) {
	t.Parallel()
	eachSeed(t, *oracleSeeds/3, func(t *testing.T, seed uint64) {
		server := startRedis(t, servers.RedisClock())
		clock := &fakeTimes{begun: time.Now(), server: server}
		w := newTwins(t, seed, clock, dial(t, server.Addr(), "guard=0&claim=30s"), dial(t, server.Addr(), "guard=0&claim=30s"))
		w.time = clock
		w.run()
	})
}

// fakeTimes is the model's clock, and sets the server's. It runs as all clocks do, and can be stepped.
type fakeTimes struct {
	begun  time.Time
	ahead  atomic.Int64 // it is read by calls that wait
	server *servers.Redis
}

// Now is when memlock looks at it before everything that it does: so it needs no alarm.
func (c *fakeTimes) Now() driver.Instant {
	return driver.Instant(int64(time.Since(c.begun)) + c.ahead.Load())
}

// At never rings.
func (c *fakeTimes) At(driver.Instant, func()) (stop func() bool) { return func() bool { return true } }

// apartBy is how far from the end of a hold a step ends, at least: what happens in the time between that both sides take to get there is
// not compared.
const apartBy = 30 * time.Second

// mostAtOnce is less than one and a half of the shortest TTL: who waits and does not ask for so long loses its place.
const mostAtOnce = 85 * time.Minute

// pass lets time pass: until a hold has run out, or for a part of what it has left.
func (w *twins) pass() {
	var ends []time.Duration
	for _, lock := range locksOfTwins {
		info := w.modelOf(lock.name, lock.permits)
		for _, h := range info.Holders {
			ends = append(ends, h.Left)
		}
	}
	slices.Sort(ends)
	step := time.Duration(1+w.random.IntN(20)) * time.Minute
	if len(ends) > 0 && w.random.IntN(3) > 0 {
		step = ends[0] + apartBy
	}
	for _, end := range ends { // not within apartBy of any of them
		if end > step-apartBy && end < step+apartBy {
			step = end + apartBy
		}
	}
	if step > mostAtOnce {
		step = mostAtOnce
		for _, end := range slices.Backward(ends) {
			if end > step-apartBy && end < step+apartBy {
				step = end - apartBy
			}
		}
	}
	w.note("%v pass", step)
	if err := w.time.server.StepClock(step); err != nil {
		w.Skip(err)
	}
	w.time.ahead.Add(int64(step))
	w.lookAround()
}

func (w *twins) modelOf(name string, permits bool) *driver.Info {
	mode := driver.Exclusive
	if permits {
		mode = driver.Permits
	}
	info, err := w.model[0].(driver.Inspector).Inspect(w.Context(), name, mode)
	if err != nil {
		w.failf("Inspect: %v", err)
	}
	return info
}

// lookAround makes somebody look at every lock, and everybody who waits ask again: by itself the server does not notice what has run out,
// and forgets who does not ask.
func (w *twins) lookAround() {
	for _, lock := range locksOfTwins {
		w.lookAt(lock.name, lock.permits)
	}
	w.compare()
	for _, x := range w.tries {
		if len(x.calls) > 0 {
			as := x.calls[0].change
			w.call("look", x, func(r *driver.Request) { as(r); r.NoWait = true })
			w.compare()
		}
	}
}

// lookAt is somebody who comes, looks and goes.
func (w *twins) lookAt(name string, permits bool) {
	r := driver.Request{Name: name, Attempt: attempts.Next(), Label: fmt.Sprintf("#%d", len(w.tries)), Mode: driver.Exclusive, TTL: w.span(), NoWait: true}
	if permits {
		r.Mode, r.N, r.Limit = driver.Permits, 4, 4
	}
	x := w.add(r)
	w.call("look", x, func(*driver.Request) {})
	w.release(x, false)
}

// claim renews what was granted, at once: what was pushed would not live to see the next step.
func (w *twins) claim(x *try) {
	w.both(x, "Renew", func(_ driver.Store, s *side) error {
		left, err := s.lease.Renew(w.Context(), s.r.TTL)
		if err == nil && left < s.r.TTL-time.Minute {
			w.failf("%s is claimed for %v", x.label, left)
		}
		if err != nil && x.freed {
			return driver.ErrGone
		}
		return err
	})
}
