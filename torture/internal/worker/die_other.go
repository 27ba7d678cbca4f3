//go:build !unix

package worker

import (
	"os"

	"holdfast.dev/torture/internal/history"
)

// die ends the process in the middle of everything.
func (p *process) die() {
	p.log.Append(history.Record{Op: history.Process, Phase: history.Killed, Process: p.Process})
	os.Exit(9)
}
