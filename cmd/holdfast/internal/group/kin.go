//go:build unix

package group

import (
	"syscall"
	"time"

	"holdfast.dev/driver"
)

// A Kin is everything that belongs to a command, and must have ended before its lock is somebody else's:
//
//   - its process group;
//   - what has left the group but not the session, as the jobs of an interactive shell do, and of a script with set -m: known by the
//     mark in its environment;
//   - what has left the session too, for as long as the command, or one of these, is its parent and so may be waiting for it: su does
//     that to its command.
//
// A process that is in another session and whose parent has ended, a daemon, does not belong to it. Only the group is known without
// looking at all processes of the machine, and to the kernel, which signals it at once: so that is what a command that just ends is
// awaited by, and what signals are passed on to.
type Kin struct {
	Group   int    // 0: not known
	Session int    // of the program
	Mark    string // of the run, in MarkVariable
}

// Signal sends a signal to all of it.
func (k Kin) Signal(s syscall.Signal) {
	Signal(k.Group, s)
	outside, _ := k.outside()
	for _, pid := range outside {
		syscall.Kill(pid, s)
	}
}

// becoming is how long a process may take to be replaced by another program, on a machine that has much else to do. Meanwhile it
// shows no environment.
const becoming = 2 * time.Second

// Kill kills all of it, and returns when nothing of it runs any more.
func (k Kin) Kill() {
	begun := driver.Boot().Now()
	for clean, pause := 0, firstPause; clean < 2; pause = min(2*pause, 50*time.Millisecond) {
		// The tree is looked at before any of it is killed: what outlives its parent is nobody's child.
		outside, unclear := k.outside()
		Signal(k.Group, syscall.SIGKILL)
		for _, pid := range outside {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		pid, running := 0, false
		if k.Group > 1 {
			pid, running = member(k.Group)
		}
		if running || len(outside) > 0 || unclear && driver.Boot().Now().Sub(begun) < becoming {
			clean = 0
		} else {
			clean++ // twice: a process that was just being made is seen the second time
		}
		if clean < 2 {
			awaitEnd(pid, pause)
		}
	}
}
