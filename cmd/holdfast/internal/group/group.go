//go:build unix

package group

import (
	"syscall"
	"time"
)

// Signal sends a signal to all processes of a group. That there are none is no error: they may end at any moment.
func Signal(group int, s syscall.Signal) error {
	if group <= 1 { // -1 would be everybody, 0 ourselves
		return syscall.EINVAL
	}
	err := syscall.Kill(-group, s)
	if err == syscall.ESRCH {
		return nil
	}
	return err
}

// Running reports whether anything of a group can still do something. Zombies cannot: they are over, and only wait for a parent
// that looks, which some containers lack.
func Running(group int) bool {
	_, running := member(group)
	return running
}

// exists reports whether a group has members, zombies too, and also those that may not be signalled.
func exists(group int) bool { return syscall.Kill(-group, 0) != syscall.ESRCH }

// pauses between two looks at a group: short at first, because most end at once, or leave it as daemons do. Later the end of the
// process that was found wakes us where the system can.
const (
	firstPause = time.Millisecond
	lastPause  = time.Second
)

// Await calls again, if it is not nil, and looks whether the group still runs, until it does not.
func Await(group int, again func()) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if again != nil {
			again()
		}
		pid, running := member(group)
		if !running {
			return
		}
		awaitEnd(pid, pause)
	}
}
