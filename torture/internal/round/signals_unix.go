//go:build unix

package round

import (
	"os"
	"syscall"
)

// Supported: processes can be stopped here.
const Supported = true

// freeze stops a process.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// thaw lets it go on.
func thaw(p *os.Process) { p.Signal(syscall.SIGCONT) }
