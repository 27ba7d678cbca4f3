package driver

import (
	"sync"
	"time"
)

// Boot returns the clock of this machine since it was started, suspend included. There is one for the whole process, because its
// readings must be comparable and its deadlines share one goroutine.
//
//   - Linux: CLOCK_BOOTTIME, and a timerfd of the same clock for the deadlines, which rings on waking from a suspend.
//   - Elsewhere, and on a Linux that refuses CLOCK_BOOTTIME: monotonic time, plus what the wall clock jumped ahead of it. Setting
//     the wall clock forward then lets holds end early; setting it back changes nothing. Deadlines are looked at once a second
//     at least, so one that a suspend covered rings within about a second of waking.
//   - A Linux that has CLOCK_BOOTTIME but no timerfd, or no free file descriptor, reads the one and looks once a second as well.
//
// Costs on Linux: Now is one system call, 0.1 to 0.3 µs, and allocates nothing. At with its stop is two small allocations and two
// operations on a heap under one mutex; it makes a system call only when it becomes the earliest deadline. While deadlines are
// pending there is one goroutine and one file descriptor, however many they are; both go about 0.1 s after the last one.
//
// All callbacks run one after the other on that goroutine. They may call At and stop; they must not block.
//
// Boot does not know the time of a testing/synctest bubble: use [Local] there.
func Boot() Clock { return boot() }

var boot = sync.OnceValue(newBootClock)

const (
	// linger is how long the goroutine and its alarm outlive the last deadline, so that a program that locks and unlocks in a
	// loop does not make them anew each time.
	linger = 100 * time.Millisecond

	// recheck is how often deadlines are looked at when the alarm does not count suspended time.
	recheck = time.Second
)

// newElapsedClock is the clock for systems without CLOCK_BOOTTIME.
func newElapsedClock(read func() (mono, wall time.Duration, exact bool)) *ringer {
	clock := &elapsedClock{read: read}
	return &ringer{now: clock.now, open: func() alarm { return newTicker(clock.now) }}
}

// An elapsedClock counts with a shared elapsed.
type elapsedClock struct {
	read func() (mono, wall time.Duration, exact bool)
	mu   sync.Mutex
	sum  elapsed
}

func (c *elapsedClock) now() Instant {
	c.mu.Lock() // around the reading too: readings must be counted in the order in which they were taken
	defer c.mu.Unlock()
	mono, wall, exact := c.read()
	if !exact {
		return c.sum.monotonic(mono)
	}
	return c.sum.both(mono, wall)
}

// readTime returns a function that reads how long monotonic and wall clock have run. The two cannot be read at once, and a thread
// that is taken off its processor between them would see the wall clock jump. So they are read again if it took long, and the
// reading is not exact if it took long each time: then mono alone is to be used.
func readTime() func() (mono, wall time.Duration, exact bool) {
	const long = time.Millisecond
	base := time.Now()
	return func() (mono, wall time.Duration, exact bool) {
		for range 5 {
			before := time.Since(base)
			t := time.Now()
			after := time.Since(base)
			mono, wall = t.Sub(base), time.Duration(t.UnixNano()-base.UnixNano())
			if after-before < long {
				return mono, wall, true
			}
		}
		return mono, wall, false
	}
}
