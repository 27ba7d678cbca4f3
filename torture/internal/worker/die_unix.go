//go:build unix

package worker

import (
	"os"
	"syscall"

	"holdfast.dev/torture/internal/history"
)

// die is kill −9, in the middle of everything.
func (p *process) die() {
	p.log.Append(history.Record{Op: history.Process, Phase: history.Killed, Process: p.Process})
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
