package driver

import (
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// newBootClock reads CLOCK_BOOTTIME and waits with a timerfd, as far as this kernel (or what plays its part: a sandbox) has them.
func newBootClock() *ringer {
	if _, errno := boottime(); errno != 0 {
		return newElapsedClock(readTime())
	}
	return &ringer{now: mustBoottime, open: func() alarm {
		if t, err := openTimerfd(); err == nil {
			return t
		}
		return newTicker(mustBoottime)
	}}
}

const clockBoottime = 7 // CLOCK_BOOTTIME; package syscall does not name it

// boottime reads CLOCK_BOOTTIME. It never blocks, so the scheduler need not know (RawSyscall).
func boottime() (Instant, syscall.Errno) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return Instant(ts.Nano()), errno
}

// mustBoottime panics if the clock, once readable, is not any more. Nothing that it could return would be safe: every hold would
// seem valid for ever, or never to begin.
func mustBoottime() Instant {
	now, errno := boottime()
	if errno != 0 {
		panic("driver: CLOCK_BOOTTIME can no longer be read (" + errno.Error() + "): allow clock_gettime in the sandbox, " +
			"or set up the sandbox before the first use of a lock")
	}
	return now
}

// A timerfd is an alarm that counts suspended time. Its Read goes through the runtime's poller, so that waiting takes no thread.
type timerfd struct {
	fd     int
	file   *os.File
	count  [8]byte // what Read returns: how often it rang
	broken bool    // closed early: fd may be somebody else's by now
}

func openTimerfd() (*timerfd, error) {
	// The kernel defines TFD_NONBLOCK and TFD_CLOEXEC as these, which differ between architectures.
	const flags = syscall.O_NONBLOCK | syscall.O_CLOEXEC
	fd, _, errno := syscall.RawSyscall(syscall.SYS_TIMERFD_CREATE, clockBoottime, flags, 0)
	if errno != 0 {
		return nil, errno
	}
	t := &timerfd{fd: int(fd), file: os.NewFile(fd, "timerfd")}
	if err := t.file.SetReadDeadline(time.Time{}); err != nil { // the poller did not take it: Read would not wait
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *timerfd) set(at Instant) {
	if t.broken {
		return
	}
	const absolute = 1 // TFD_TIMER_ABSTIME
	// Zero would disarm it; and seconds have 32 bits on some machines. Early is allowed, and 68 years after boot is early enough.
	at = min(max(at, 1), math.MaxInt32*Instant(time.Second))
	spec := struct{ interval, value syscall.Timespec }{value: syscall.NsecToTimespec(int64(at))}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(t.fd), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		t.close() // ends wait, which tells the ringer
	}
}

func (t *timerfd) wait() bool {
	_, err := t.file.Read(t.count[:])
	return err == nil
}

func (t *timerfd) close() {
	t.broken = true
	t.file.Close()
}
