package check

import (
	"time"

	"holdfast.dev/torture/internal/history"
)

// An overlap is a window that began while another was still open. Where many are open at once it is counted once, against the
// one that lasted longest: so there are never more overlaps than windows.
type overlap struct {
	history.Span
	lock          *lock
	first, second *history.Attempt
}

func (o overlap) length() time.Duration { return o.To.Sub(o.From) }

// findOverlaps looks at all locks.
func (r *round) findOverlaps() []overlap {
	var found []overlap
	for _, l := range r.locks {
		var open window // of those before, the one that lasts longest
		for _, w := range l.windows {
			if open.of != nil && open.of != w.of && w.From < open.To {
				found = append(found, overlap{history.Span{From: w.From, To: min(w.To, open.To)}, l, open.of, w.of})
			}
			if open.of == nil || w.To > open.To {
				open = w
			}
		}
	}
	return found
}

// windows is checker 1: no two holds of a lock overlap.
func windows(r *round) []Violation { return r.tellOverlaps("windows", false, "hold at the same time") }

func (r *round) tellOverlaps(checker string, leader bool, what string) []Violation {
	var found []Violation
	for _, o := range r.overlaps {
		if o.lock.Leader == leader {
			found = append(found, r.violation(checker, o.lock, o.From, []uint64{o.first.Number, o.second.Number},
				"%s and %s %s, for %s", who(o.first), who(o.second), what, ms(o.length())))
		}
	}
	return found
}
