//go:build unix

package locktest

import (
	"os/exec"
	"syscall"
)

// canStop says that this system can stop a process.
const canStop = true

// standApart puts a child in a process group of its own: should the parent die while the child is stopped, the system ends it.
func standApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stop stops the child, and goOn lets it go on.
func (c *child) stop() error { return c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) goOn() error { return c.cmd.Process.Signal(syscall.SIGCONT) }
