package round

import (
	"os/exec"
	"syscall"
)

// prepare makes the kernel kill the process, stopped or not, when we end.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
