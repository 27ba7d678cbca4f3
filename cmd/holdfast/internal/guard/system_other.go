//go:build unix && !linux

package guard

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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

// socketPair makes a line, of which our end never blocks.
func socketPair() (ours, its int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	if err := unix.SetNonblock(pair[0], true); err != nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
		return -1, -1, err
	}
	return pair[0], pair[1], nil
}

// sendFlags: no waiting.
const sendFlags = unix.MSG_DONTWAIT

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
