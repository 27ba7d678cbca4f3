//go:build unix && !linux

package servers

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate leaves the process in our group: an interrupt at the terminal, which ends us, then ends it too.
func isolate(*exec.Cmd) {}

func send(p *os.Process, s syscall.Signal) error { return p.Signal(s) }

// standsStill cannot be found out here.
func standsStill(int) (bool, error) { return true, nil }
