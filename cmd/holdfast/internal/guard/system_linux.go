package guard

import (
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"holdfast.dev/driver"
)

// Now is the time that goes on while the machine is suspended. It is the same in all processes.
func Now() driver.Instant {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return driver.Instant(ts.Nano())
}

// executable is the program itself, also when its file was replaced or removed meanwhile.
func executable() string { return "/proc/self/exe" }

// shortName is what top shows instead of "exe". Who kills everything that is called holdfast should not kill the guard at the same
// moment.
const shortName = "hf-guard"

func showName() { os.WriteFile("/proc/self/comm", []byte(shortName), 0) }

// socketPair makes a line, of which our end never blocks.
func socketPair() (ours, its int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
		return -1, -1, err
	}
	return pair[0], pair[1], nil
}

// sendFlags: no waiting, and no signal if the other end is closed.
const sendFlags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL

// An alarm is a timer that counts suspended time; -1 where there is none.
type alarm struct{ fd int }

func newAlarm() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		fd = -1
	}
	return alarm{fd}
}

// wait returns when there is something to read or t has come, or earlier.
func (a alarm) wait(t driver.Instant) {
	switch {
	case t == driver.Never:
		poll(-1)
	case a.fd < 0:
		poll(min(t.Sub(Now()), time.Second)) // poll's own clock stands still in suspend
	default:
		at := min(max(t, 1), math.MaxInt32*driver.Instant(time.Second)) // zero would disarm it
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
		if unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil) != nil {
			poll(min(t.Sub(Now()), time.Second))
			return
		}
		poll(-1, a.fd)
	}
}
