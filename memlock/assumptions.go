package memlock

import "holdfast.dev/driver"

// Assumptions is what the torture test holds this store to. It is inside one process: its clients stand still together with it, and
// when that process ends nobody is left who could hold anything.
func Assumptions() []driver.Assumption {
	return []driver.Assumption{
		{Fault: driver.WorkerStop, Class: driver.Within,
			Why: "clock and clients stand still together, or both see the time that has passed"},
		{Fault: driver.WorkerStopInside, Class: driver.Within,
			Why: "on waking the hold has ended for its holder and for the store by the same clock; what is already on its way the fence stops"},
		{Fault: driver.Starve, Class: driver.Within,
			Why: "validity is counted from before the request, so late goroutines lose time and nothing else"},
		{Fault: driver.BreakNow, Class: driver.Beyond,
			Why: "the lock is free at once; its holder is told at once, but may be in the middle of something"},
	}
}
