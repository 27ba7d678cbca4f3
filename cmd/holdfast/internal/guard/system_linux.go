package guard

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/group"
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

// showName makes ps and top show more than "exe".
func showName() { os.WriteFile("/proc/self/comm", []byte(name), 0) }

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

// becoming is how long a process may take to be replaced by another program, on a machine that has much else to do.
const becoming = 2 * time.Second

// findGroup finds the group of a command that was started, or was about to be, by its environment; 0: there is none. A process of the
// session that shows no environment may be about to become another: it is looked at again, for a while, because some never have one.
func findGroup(id ID, session int) (found int) {
	enough := Now().Add(becoming)
	again(func(p process) bool {
		switch {
		case bytes.HasSuffix(p.runs, []byte(id.String())) && p.group != p.session:
			found = p.group
		case len(p.environment) == 0:
			return p.session == session && Now().Before(enough)
		}
		return false
	}, func() bool { return found == 0 })
	return found
}

// AwaitInner waits for the guards of runs inside a run whose command was killed.
func AwaitInner(id ID) {
	again(func(p process) bool {
		if !bytes.Contains(p.runs, []byte(id.String()+"/")) {
			return false
		}
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/comm")
		return err == nil && string(bytes.TrimSpace(comm)) == name
	}, func() bool { return true })
}

// A process as /proc shows it.
type process struct {
	pid, group, session int
	environment         []byte
	runs                []byte // its HOLDFAST_RUN
}

// again calls f with every process that runs, over and over, while it is wanted, until f has twice said no to all of them: a process
// that was just being made is seen the second time.
func again(f func(process) bool, wanted func() bool) {
	for clean := 0; clean < 2 && wanted(); {
		clean++
		group.Each(func(pid, itsGroup int, state byte) bool {
			if state == 'Z' || state == 'X' {
				return true
			}
			p := process{pid: pid, group: itsGroup}
			p.session, _ = unix.Getsid(pid)
			p.environment, _ = os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			p.runs = runsIn(p.environment)
			if f(p) {
				clean = 0
			}
			return wanted()
		})
		time.Sleep(time.Millisecond)
	}
}

// runsIn is HOLDFAST_RUN in an environment.
func runsIn(environment []byte) []byte {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if runs, ok := bytes.CutPrefix(variable, []byte(RunVariable+"=")); ok {
			return runs
		}
	}
	return nil
}
