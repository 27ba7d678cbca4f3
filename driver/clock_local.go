package driver

import (
	"sync/atomic"
	"time"
)

// Local returns a new clock of package time, for a store that lives inside this process: when the machine is suspended such a store
// stands still together with those who use it. It begins at zero.
//
// A clock that is made inside a bubble of testing/synctest keeps the bubble's time; use it inside that bubble only.
//
// Now costs what time.Now costs; At costs a time.AfterFunc, and every f runs on a goroutine of its own.
func Local() Clock { return &localClock{base: time.Now()} }

type localClock struct {
	base time.Time // with a monotonic reading: setting the wall clock changes nothing
}

func (c *localClock) Now() Instant { return Instant(time.Since(c.base)) }

func (c *localClock) At(t Instant, f func()) (stop func() bool) {
	if t == Never {
		return neverRings()
	}
	return time.AfterFunc(t.Sub(c.Now()), f).Stop
}

// neverRings is the stop function of a deadline at Never. There is no timer: in a bubble one would let time jump to its end as
// soon as everybody waits, instead of showing the deadlock.
func neverRings() (stop func() bool) {
	var stopped atomic.Bool
	return func() bool { return !stopped.Swap(true) }
}
