//go:build unix

// Package group looks after process groups: a command and everything that it started and that has not left its group.
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
	if syscall.Kill(-group, 0) == syscall.ESRCH { // the usual end, for one system call
		return false
	}
	return runs(group)
}

// pauses between two looks at a group: short at first, because most end at once.
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// Await calls again, if it is not nil, and looks whether the group still runs, until it does not. No event tells the end of
// somebody else's child, or that it went into a group of its own.
func Await(group int, again func()) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if again != nil {
			again()
		}
		if !Running(group) {
			return
		}
		time.Sleep(pause)
	}
}
