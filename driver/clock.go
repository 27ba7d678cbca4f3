package driver

import (
	"math"
	"time"
)

// An Instant is a moment on a store's Clock, in nanoseconds since a beginning that is the clock's own. Instants of different
// clocks cannot be compared. It is not a wall time: nobody can set it.
type Instant int64

// Never is later than every other Instant.
const Never Instant = math.MaxInt64

// Add returns the instant d later; Never stays Never, and nothing overflows.
func (i Instant) Add(d time.Duration) Instant {
	switch {
	case i == Never || (d > 0 && i > Never-Instant(d)):
		return Never
	case d < 0 && i < math.MinInt64-Instant(d):
		return math.MinInt64
	}
	return i + Instant(d)
}

// Sub returns the time from j to i. It is Forever to Never, and nothing overflows.
func (i Instant) Sub(j Instant) time.Duration {
	d := time.Duration(i - j)
	switch {
	case i > j && (i == Never || d < 0):
		return Forever
	case i < j && d > 0:
		return math.MinInt64
	}
	return d
}

// Before reports whether i is earlier than j.
func (i Instant) Before(j Instant) bool { return i < j }

// A Clock measures how long a store's grants are valid, and rings when they no longer are.
//
// Go's own clock and timers stand still while the machine is suspended, but the store's do not: a hold would seem valid on
// waking. So the store names its clock: Boot for everything outside this process, Local for what is inside it.
type Clock interface {
	Now() Instant

	// At calls f once, at t or as soon as possible after it, also on waking from a suspend that covered t; never for Never. stop
	// reports whether it kept f from being called: false if f runs or has run, and from the second time on. f runs on a
	// goroutine that others wait for: it never blocks. At returns before f is called, and no mutex of the clock's is held while
	// f runs: whoever calls At may hold one that f takes.
	At(t Instant, f func()) (stop func() bool)
}

// Margin is what a client gives away of a TTL because clocks do not run alike: a hundredth, 2 ms at least.
func Margin(ttl time.Duration) time.Duration { return max(2*time.Millisecond, ttl/100) }
