package torture

import (
	"io"

	"holdfast.dev/torture/internal/report"
)

// A Progress shows how a run goes: on a terminal a line that is rewritten in place, elsewhere a line for each round.
type Progress struct{ shown *report.Progress }

// NewProgress shows it on w, a terminal or not; columns is how wide that is now.
func NewProgress(w io.Writer, terminal bool, columns func() int) *Progress {
	return &Progress{report.NewProgress(w, terminal, columns)}
}

// Update is for Options.Progress.
func (p *Progress) Update(s State) {
	p.shown.Update(report.State{Store: s.Store, Round: s.Round, Fault: s.Fault, Operations: s.Operations, Violations: s.Violations, Left: s.Left})
}

// Done takes the line away.
func (p *Progress) Done() { p.shown.Done() }
