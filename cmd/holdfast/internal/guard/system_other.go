//go:build unix && !linux

package guard

import (
	"os"
	"syscall"
	"time"

	"holdfast.dev/driver"
)

// Now is the wall clock: the only one that all processes share here. Who sets it forward ends commands early, who sets it back
// leaves them to the program alone.
func Now() driver.Instant { return driver.Instant(time.Now().UnixNano()) }

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func showName() {}

func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	copied, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(copied)
	}
	return copied, err
}

// An alarm looks at the clock once a second at least: nothing here wakes a process at a wall time.
type alarm struct{}

func newAlarm() alarm { return alarm{} }

func (alarm) wait(t driver.Instant) {
	if t == driver.Never {
		poll(-1)
		return
	}
	poll(max(0, min(t.Sub(Now()), time.Second)))
}

// findGroup: nobody else's environment can be read here. The parent-death signal is missing too, so that a program which is killed
// in the microseconds after it started its command leaves that behind.
func findGroup(ID, int) int { return 0 }

// AwaitInner cannot see inner guards here.
func AwaitInner(ID) {}
