package driver

import "time"

// jump is by how much the wall clock must get ahead of the monotonic one from one reading to the next to count as a jump: more
// than the coarsest tick of a wall clock in use (15.6 ms), and more than what adjusting it gently does between ordinary readings.
const jump = 20 * time.Millisecond

// An elapsed counts time on systems whose monotonic clock may stand still in a suspend. Between two readings as much time has
// passed as the larger of monotonic and wall elapsed; so the result is monotonic time plus the sum of the wall clock's jumps ahead.
//
//   - suspend: the monotonic clock stood still, the wall clock did not: a jump ahead, counted.
//   - wall clock set forward: looks the same, counted. That is the safe mistake: holds end too early.
//   - wall clock set back: not counted, and its way back forward is a jump again.
//   - gentle adjustment, jitter of the two readings, coarse ticks: below the threshold each time, and forgotten each time, so that
//     they do not add up however often the clock is read. Only if nobody reads it for long (40 s of the 500 ppm that kernels
//     allow) an adjustment is large enough to count: the larger of both, as it should be.
//
// It is a pure sum over readings; the zero value begins at the first one. It never goes back.
type elapsed struct {
	begun  bool
	ahead  time.Duration // wall minus monotonic at the last reading of both
	jumped time.Duration // sum of the jumps ahead
	last   Instant
}

// both counts a reading of both clocks.
func (e *elapsed) both(mono, wall time.Duration) Instant {
	ahead := wall - mono
	if e.begun && ahead-e.ahead > jump {
		e.jumped += ahead - e.ahead
	}
	e.ahead, e.begun = ahead, true
	return e.monotonic(mono)
}

// monotonic counts a reading of the monotonic clock alone. A jump meanwhile is seen by the next reading of both.
func (e *elapsed) monotonic(mono time.Duration) Instant {
	e.last = max(e.last, Instant(mono+e.jumped))
	return e.last
}
