//go:build unix && !linux

package job

import (
	"os"
	"os/signal"
	"syscall"
)

// processAttributes: there is no parent-death signal here. The guard process is alone with that.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func stopNow() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// ignoredSignals: what was ignored at the start is not known here, but for HUP and INT.
func ignoredSignals() func(syscall.Signal) bool {
	return func(s syscall.Signal) bool { return signal.Ignored(s) }
}
