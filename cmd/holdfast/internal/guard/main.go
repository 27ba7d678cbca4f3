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
	w := watcher{until: driver.Never, alarm: newAlarm()}
	w.watch()
	if !w.left {
		w.kill()
	}
	return 0
}

// kill returns when nothing of the command runs any more.
func (w *watcher) kill() {
	if w.group == 0 && w.begun {
		w.group = findGroup(w.id, w.session)
	}
	if w.group != 0 {
		group.Await(w.group, func() { group.Signal(w.group, syscall.SIGKILL) })
	}
	AwaitInner(w.id)
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
	ended   bool // the pipe
	rest    []byte
}

// watch returns when it is time to act.
func (w *watcher) watch() {
	for {
		// First what was said, then the clock: what was said may have moved the end.
		w.read()
		if w.ended || w.left || !Now().Before(w.until) {
			return
		}
		w.alarm.wait(w.until)
	}
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
