//go:build unix

package servers

import (
	"os"
	"syscall"
)

func kill(p *os.Process) error      { return send(p, syscall.SIGKILL) }
func terminate(p *os.Process) error { return send(p, syscall.SIGTERM) }
func stop(p *os.Process) error      { return send(p, syscall.SIGSTOP) }
func goOn(p *os.Process) error      { return send(p, syscall.SIGCONT) }
