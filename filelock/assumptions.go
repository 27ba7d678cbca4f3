package filelock

import "holdfast.dev/driver"

// Assumptions is what the torture test holds this store to. Holds live as long as their processes, by the kernel's count of open
// files: there is no server, no network and no clock that could go wrong.
func Assumptions() []driver.Assumption {
	return []driver.Assumption{
		{Fault: driver.WorkerStop, Class: driver.Within,
			Why: "a process that stands still keeps its locks: nothing runs out"},
		{Fault: driver.WorkerStopInside, Class: driver.Within,
			Why: "the same; others wait until it goes on"},
		{Fault: driver.WorkerKill, Class: driver.Within,
			Why: "the kernel lets go of its files, and whoever waits for them wakes"},
		{Fault: driver.Starve, Class: driver.Within,
			Why: "no step has a deadline"},
		{Fault: driver.BreakNow, Class: driver.Beyond,
			Why: "the lock is free at once; its holder is told, but may be in the middle of something"},
		{Fault: driver.Unlink, Class: driver.Beyond,
			Why: "the queue is gone with it. Whoever asks next is refused while a client that lives claims to hold the lock, and so nobody " +
				"has been seen to hold it together with the first; but it is not what the protocol is built on"},
	}
}
