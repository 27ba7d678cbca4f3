//go:build unix

package group

import (
	"errors"
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
// awaited by, and what signals are passed on to. Its methods are for one goroutine at a time.
type Kin struct {
	Group   int    // 0: not known
	Session int    // of the program
	Mark    string // of the run, in MarkVariable
	Denied  func() // called once if something of it may not be signalled; may be nil
	Orphans bool   // the command may be dead already, and its children nobody's: then those that have left the session do not count

	// What was found outside of the group. Who has lost its parent cannot be found again, but is not dead for that.
	known map[Process]bool
	blind bool // the last look could not see everything, for want of descriptors or memory
}

// look finds what is outside of the group. It is called before anything is signalled, which may end parents.
func (k *Kin) look() (unclear bool) {
	if k.known == nil {
		k.known = make(map[Process]bool)
	}
	k.blind = false
	outside, unclear := k.outside()
	for _, p := range outside {
		k.known[p.identity()] = true
	}
	return unclear
}

// scarce reports whether something could not be looked at for want of a descriptor or of memory: that says nothing about it.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// signal sends a signal to all that is known, and returns one that still runs.
func (k *Kin) signal(s syscall.Signal) (pid int, running bool) {
	err := error(nil)
	if k.Group > 1 && !exists(k.Group) {
		k.Group = 0 // for good: its number may be somebody else's by now
	}
	if k.Group > 1 {
		err = Signal(k.Group, s)
	}
	pid, running = k.member()
	for p := range k.known {
		if p.isOver() {
			delete(k.known, p)
			continue
		}
		if syscall.Kill(p.Pid, s) == syscall.EPERM {
			err = syscall.EPERM
		}
		pid, running = p.Pid, true
	}
	if err == syscall.EPERM && k.Denied != nil {
		k.Denied()
		k.Denied = nil
	}
	return pid, running
}

// Signal sends a signal to all of it.
func (k *Kin) Signal(s syscall.Signal) {
	k.look()
	k.signal(s)
}

// Runs reports whether anything of it does.
func (k *Kin) Runs() bool {
	unclear := k.look()
	_, running := k.member()
	for p := range k.known {
		running = running || !p.isOver()
	}
	return running || unclear || k.blind
}

// Await waits until nothing of it runs any more, or for so long.
func (k *Kin) Await(limit time.Duration) {
	begun := driver.Boot().Now()
	for pause := firstPause; driver.Boot().Now().Sub(begun) < limit; pause = min(2*pause, 50*time.Millisecond) {
		outside, _ := k.outside()
		pid, running := k.member()
		if len(outside) > 0 {
			pid, running = outside[0].Pid, true
		}
		if !running {
			return
		}
		awaitEnd(pid, pause)
	}
}

// becoming is how long a process may take to be replaced by another program, on a machine that has much else to do. Meanwhile it
// shows neither its environment nor its arguments.
const becoming = 2 * time.Second

// Kill kills all of it, and returns when nothing of it runs any more.
func (k *Kin) Kill() {
	begun := driver.Boot().Now()
	for clean, pause := 0, firstPause; ; pause = min(2*pause, 50*time.Millisecond) {
		unclear := k.look()
		pid, running := k.signal(syscall.SIGKILL)
		clean++
		if running || k.blind || unclear && driver.Boot().Now().Sub(begun) < becoming {
			clean = 0
		}
		if clean == 2 { // a process that was just being made is seen the second time
			return
		}
		awaitEnd(pid, pause)
	}
}

// member returns a process of the group, if that is known.
func (k *Kin) member() (pid int, running bool) {
	if k.Group <= 1 {
		return 0, false
	}
	return member(k.Group)
}
