package control

import (
	"sync"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n16: the client counts its validity by a clock that stands still while its machine is suspended, as time.Now and all timers of a Go
// program do (CLOCK_MONOTONIC). A laptop is closed, a virtual machine is saved and restored. The server's clock goes on, the hold runs
// out there, and another one gets the lock. On waking nothing has happened by the client's clock: it believes that it holds.
//
// A machine cannot be suspended in a test, so a process is stopped, and gets a clock that does not count the time in which it was: still.
// To the lock the two are the same: no code runs, no packet is read or sent, and afterwards the clock shows what it showed before. It
// is a little milder: the worker's own pauses have passed on waking, so that it leaves soon.
func n16() Control {
	return Control{
		Name: "N16", Title: "validity by a clock that stops in suspend",
		Wrong:  "The holder counts by a clock that stands still in suspend, and believes on waking in what the server has given away.",
		Right:  "The holder counts by CLOCK_BOOTTIME, and knows on waking that its hold is over.",
		Caught: []string{"windows", "told", "linear"},
		TTL:    300 * time.Millisecond, Duration: 1700 * time.Millisecond,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 80 * time.Millisecond},
		Steps: every(100*time.Millisecond, 550*time.Millisecond, 3, Step{Do: StopInside, For: 500 * time.Millisecond}),
		change: func(s *store, o Options) {
			if o.Broken {
				clock := newStill(driver.Boot().Now)
				s.clock = clock
				s.closing = append(s.closing, clock.end)
			}
		},
	}
}

const (
	tick    = 5 * time.Millisecond  // how often a still looks at the clock
	longest = 20 * time.Millisecond // what it counts of the time between two looks: all that is more was suspended
)

// A still is a clock that counts the time in which its process runs. It looks at the real one every few milliseconds; when it finds
// that much more has passed, the process stood still. (On a machine so busy that the process did not get to run for so long that is
// an error, and makes the clock no better.)
type still struct {
	real  func() driver.Instant
	begin func() // starts the ticking
	stop  chan struct{}
	once  sync.Once
	ends  sync.WaitGroup

	mu     sync.Mutex
	seen   driver.Instant // the real clock, when it was looked at
	now    driver.Instant // what has passed, without the time in which the process stood still
	alarms driver.Agenda[func()]
}

func newStill(real func() driver.Instant) *still {
	c := &still{real: real, stop: make(chan struct{}), seen: real(), now: 1}
	c.begin = sync.OnceFunc(func() { c.ends.Go(c.run) })
	return c
}

// Now looks at the clock.
func (c *still) Now() driver.Instant {
	c.begin()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.look()
}

// look counts what has passed. c.mu is held.
func (c *still) look() driver.Instant {
	seen := c.real()
	c.now = c.now.Add(min(seen.Sub(c.seen), longest))
	c.seen = seen
	return c.now
}

// At rings at the first tick that finds t passed.
func (c *still) At(t driver.Instant, f func()) (stop func() bool) {
	c.begin()
	e := &driver.Entry[func()]{What: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t != driver.Never {
		c.alarms.Set(e, t)
	}
	var stopped bool
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		kept := !stopped && (e.IsSet() || t == driver.Never)
		c.alarms.Clear(e)
		stopped = true
		return kept
	}
}

func (c *still) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.ring()
		case <-c.stop:
			return
		}
	}
}

// ring rings what is due.
func (c *still) ring() {
	c.mu.Lock()
	now := c.look()
	var due []func()
	for e := c.alarms.Due(now); e != nil; e = c.alarms.Due(now) {
		due = append(due, e.What)
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

// end stops the ticking.
func (c *still) end() {
	c.once.Do(func() { close(c.stop) })
	c.begin() // or a late look would start it
	c.ends.Wait()
}
