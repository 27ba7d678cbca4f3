//go:build unix

package job

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/group"
)

// A terminal is the one that controls this program. A nil one is of nobody.
type terminal struct {
	file *os.File
	own  int // our group
}

func openTerminal() *terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	return &terminal{f, syscall.Getpgrp()}
}

// InForeground reports whether we have a terminal, and what is typed there comes to our group.
func InForeground() bool {
	t := openTerminal()
	defer t.close()
	return t.isOurs()
}

func (t *terminal) close() {
	if t != nil {
		t.file.Close()
	}
}

// isOf reports whether a group is in the foreground.
func (t *terminal) isOf(group int) bool {
	if t == nil {
		return false
	}
	foreground, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == group
}

func (t *terminal) isOurs() bool { return t != nil && t.isOf(t.own) }

// isOfAncestor reports whether the group of whoever started us, or of one further up, is in the foreground.
func (t *terminal) isOfAncestor() bool {
	for pid, known := syscall.Getppid(), true; known && pid > 1; pid, known = parentOf(pid) {
		if its, err := syscall.Getpgid(pid); err == nil && t.isOf(its) {
			return true
		}
	}
	return false
}

// InScript reports whether whoever started us is in our own group: a script, which does not continue what is stopped.
func InScript() bool {
	its, err := syscall.Getpgid(syscall.Getppid())
	return err == nil && its == syscall.Getpgrp()
}

// give puts a group into the foreground. We may be in the background ourselves, where that would stop us, and so could a message
// for the terminal: from the start of the command on, which must not inherit it, SIGTTOU is ignored.
func (t *terminal) give(group int) {
	unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group)
}

// isPipe reports whether one of our standard files is a pipe or a socket: then we are part of something bigger.
func isPipe(fd int) bool {
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil {
		return false
	}
	kind := stat.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// parentOf is the parent of a process, where that can be seen. Elsewhere a script around us counts as what continues us.
func parentOf(pid int) (parent int, known bool) {
	p, err := group.Look(pid)
	return p.Parent, err == nil
}

// orphaned reports whether our group is: no ancestor in it has a parent that is of our session but not of our group, such as a
// shell, which could continue us.
func orphaned() bool {
	own, session := syscall.Getpgrp(), sessionOf(0)
	for pid, known := syscall.Getppid(), true; known; pid, known = parentOf(pid) {
		if pid <= 1 || sessionOf(pid) != session {
			return true
		}
		if its, err := syscall.Getpgid(pid); err != nil || its != own {
			return err != nil
		}
	}
	return false
}

func sessionOf(pid int) int {
	session, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return session
}
