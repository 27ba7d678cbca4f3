package job

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes: a group of its own, and killed with the thread that starts it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stopNow stops this process before it returns: a signal to one's own thread is there when the system call is over. One to the
// process could leave this thread running for a moment, on to what must only happen after being continued.
func stopNow() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
}

// ignoredSignals tells what is ignored now. For the stop signals of terminals that is what was at the start, because Go's runtime
// leaves them alone; its own signal.Ignored does not know.
func ignoredSignals() func(syscall.Signal) bool {
	var mask uint64
	status, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		if digits, found := bytes.CutPrefix(line, []byte("SigIgn:")); found {
			mask, _ = strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 64)
		}
	}
	return func(s syscall.Signal) bool { return mask&(1<<(s-1)) != 0 }
}
