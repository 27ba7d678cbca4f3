package guard

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"syscall"
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

func duplicate(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
}

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

// killRun kills the command of a run whose group is not known, and what it has started, by their environment.
func killRun(id ID) {
	again(func(pid int, runs []byte) bool {
		if !bytes.HasSuffix(runs, []byte(id.String())) {
			return false
		}
		syscall.Kill(pid, syscall.SIGKILL)
		return true
	})
}

// AwaitInner waits for the guards of runs inside a run whose command was killed.
func AwaitInner(id ID) {
	again(func(pid int, runs []byte) bool {
		if !bytes.Contains(runs, []byte(id.String()+"/")) {
			return false
		}
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		return err == nil && string(bytes.TrimSpace(comm)) == name
	})
}

// again calls f with every process of a run and its HOLDFAST_RUN, over and over, until f has twice said no to all of them: a
// process that was just being made is seen the second time.
func again(f func(pid int, runs []byte) bool) {
	for clean := 0; clean < 2; {
		clean++
		group.Each(func(pid, _ int, state byte) bool {
			if runs := runsOf(pid); state != 'Z' && state != 'X' && len(runs) > 0 && f(pid, runs) {
				clean = 0
			}
			return true
		})
		time.Sleep(time.Millisecond)
	}
}

// runsOf is the HOLDFAST_RUN of a process; nothing if it is none of ours, or somebody else's.
func runsOf(pid int) []byte {
	environment, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if runs, ok := bytes.CutPrefix(variable, []byte(RunVariable+"=")); ok {
			return runs
		}
	}
	return nil
}
