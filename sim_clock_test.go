package holdfast

import (
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A simClock is a clock of the simulation: it may run a little fast or slow, and jump. Its timers wait while its owner is paused.
type simClock struct {
	base  time.Time
	rate  float64
	awake func() // returns once the owner is not paused

	mu      sync.Mutex
	offset  time.Duration
	pending map[*simTimer]struct{}
}

type simTimer struct {
	at    driver.Instant
	f     func()
	timer *time.Timer
}

func newSimClock(rate float64, awake func()) *simClock {
	return &simClock{base: time.Now(), rate: rate, awake: awake, pending: make(map[*simTimer]struct{})}
}

func (c *simClock) Now() driver.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *simClock) now() driver.Instant {
	return driver.Instant(float64(time.Since(c.base))*c.rate) + driver.Instant(c.offset)
}

func (c *simClock) At(t driver.Instant, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &simTimer{at: t, f: f}
	c.pending[timer] = struct{}{}
	timer.timer = time.AfterFunc(c.until(t), func() { c.fire(timer) })
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.pending[timer]
		delete(c.pending, timer)
		timer.timer.Stop()
		return waits
	}
}

// until is the true time until t.
func (c *simClock) until(t driver.Instant) time.Duration {
	return max(0, time.Duration(float64(t.Sub(c.now()))/c.rate)+1)
}

func (c *simClock) fire(timer *simTimer) {
	c.mu.Lock()
	if _, waits := c.pending[timer]; !waits {
		c.mu.Unlock()
		return
	}
	if c.now().Before(timer.at) {
		timer.timer.Reset(c.until(timer.at))
		c.mu.Unlock()
		return
	}
	delete(c.pending, timer)
	c.mu.Unlock()
	c.awake()
	timer.f()
}

// jump moves the clock by d; forward, timers that this makes due ring at once, as on waking from a suspend.
func (c *simClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
	for timer := range c.pending {
		timer.timer.Reset(c.until(timer.at))
	}
}
