//go:build unix

package guard

import (
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/driver"
)

// Main is the guard process. It returns the code to end with.
func Main() int {
	// It ends when the program says so or has ended, and not because somebody signals everything that is called holdfast.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE)
	showName()
	w := watcher{until: driver.Never, session: -1, alarm: newAlarm()}
	w.watch()
	if !w.left && (w.begun || w.group != 0) {
		kin := group.Kin{Group: w.group, Session: w.session, Mark: w.id.String(), Orphans: w.ended}
		kin.Kill()
	}
	return 0
}

const input = 0

// A watcher is what the guard knows.
type watcher struct {
	alarm   alarm
	until   driver.Instant
	id      ID
	begun   bool
	session int // the program's
	left    bool
	group   int
	ended   bool // the line
	rest    []byte
	paused  int // the program, which is stopped because the command is; 0: it goes on
}

// watch returns when it is time to act.
func (w *watcher) watch() {
	for {
		// First what was said, then the clock: what was said may have moved the end.
		w.read()
		if w.ended || w.left || !Now().Before(w.until) {
			return
		}
		w.alarm.wait(min(w.until, w.wake()))
	}
}

// looks is how often a stopped command is looked at.
const looks = 200 * time.Millisecond

// wake continues a program that is stopped although its command is not, and returns when to look again.
func (w *watcher) wake() driver.Instant {
	if w.paused == 0 {
		return driver.Never
	}
	if command, err := group.Look(w.group); err != nil || !command.Stopped {
		syscall.Kill(w.paused, syscall.SIGCONT)
	}
	return Now().Add(looks)
}

// read takes in what there is to read. Files that come with it stay open until this process ends.
func (w *watcher) read() {
	buffer := make([]byte, 64*messageSize)
	rights := make([]byte, unix.CmsgSpace(4*mostFiles))
	for {
		n, _, _, _, err := unix.Recvmsg(input, buffer, rights, unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case err != nil || n == 0:
			w.ended = true
			return
		}
		w.rest = append(w.rest, buffer[:n]...)
		for len(w.rest) >= messageSize {
			w.take(decode(w.rest[:messageSize]))
			w.rest = w.rest[messageSize:]
		}
	}
}

// mostFiles is how many a kernel passes on at once.
const mostFiles = 253

func (w *watcher) take(m message) {
	switch m.kind {
	case begin:
		w.id, w.session, w.begun = m.id, int(m.value), true
	case watch:
		w.group = int(m.value)
	case until:
		w.until = driver.Instant(m.value)
	case leave:
		w.left = true
	case pause:
		w.paused = int(m.value)
	case resume:
		w.paused = 0
	}
}

// poll waits until there is something to read, one of the other files is ready, or the time is over.
func poll(timeout time.Duration, others ...int) {
	fds := []unix.PollFd{{Fd: input, Events: unix.POLLIN}}
	for _, fd := range others {
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	milliseconds := -1
	if timeout >= 0 {
		milliseconds = int(min(timeout, time.Hour)/time.Millisecond) + 1
	}
	unix.Poll(fds, milliseconds) // EINTR: the caller looks again
}
