package check

import (
	"strings"

	"holdfast.dev/torture/internal/history"
)

// leaks is checker 7: when all is over nothing is left in the store, each process has as many goroutines and descriptors as in the beginning, and
// ends with code 0, unless it was killed.
func leaks(r *round) []Violation {
	var found []Violation
	for _, rec := range r.Records {
		switch {
		case rec.Op == history.Round && rec.Phase == history.Leak && rec.Value > 0:
			found = append(found, r.violation("leaks", nil, rec.At, nil, "%d things are left in the store: %s",
				rec.Value, strings.Join(r.Meta.Left, ", ")))
		case rec.Op == history.Process && rec.Phase == history.Rest && rec.Value > 0:
			what := "descriptors"
			if rec.Flags&history.Goroutines != 0 {
				what = "goroutines"
			}
			found = append(found, r.violation("leaks", nil, rec.At, nil, "process %d has %d %s more than at its start", rec.Process, rec.Value, what))
		case rec.Op == history.Process && rec.Phase == history.Ended && rec.Value != 0 && !r.killed[rec.Process]:
			found = append(found, r.violation("leaks", nil, rec.At, nil, "process %d ended with code %d, and nobody had killed it", rec.Process, rec.Value))
		}
	}
	return found
}
