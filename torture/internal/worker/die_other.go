//go:build !unix

package worker

import (
	"os"

	"holdfast.dev/torture/internal/history"
)

// die ends the process in the middle of everything.
func (t *turn) die() {
	t.log.Append(history.Record{Op: history.Process, Phase: history.Killed, Process: t.Process})
	os.Exit(9)
}
