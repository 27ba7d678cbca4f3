package linear

import (
	"cmp"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// trouble is when things did not work, for all and for each process.
type trouble struct {
	ttl    time.Duration
	faults []history.FaultSpan
	shared []history.Span
	own    map[uint32][]history.Span
}

func newTrouble(h *history.History) trouble {
	t := trouble{ttl: h.Meta.TTL, faults: h.Faults(), own: h.Stops()}
	for _, f := range t.faults {
		if f.Process == 0 {
			t.shared = append(t.shared, f.Span)
		} else {
			t.own[f.Process] = append(t.own[f.Process], f.Span)
		}
	}
	for _, spans := range t.own {
		slices.SortFunc(spans, func(a, b history.Span) int { return cmp.Compare(a.From, b.From) })
	}
	return t
}

// troubled reports whether something did not work, for an attempt's process, while it was asked for: then it may have been asked for
// again, and the answer is not the last word about the request before.
func (t *trouble) troubled(a *history.Attempt) bool {
	for _, spans := range [][]history.Span{t.shared, t.own[a.Process]} {
		for _, s := range spans {
			if s.From > a.Answered {
				break
			}
			if s.To >= a.Asked {
				return true
			}
		}
	}
	return false
}

// settled is when nothing of a process that it did until at can have an effect any more: see the package comment.
func (t *trouble) settled(at driver.Instant, process uint32) driver.Instant {
	rest := 3 * t.ttl
	for grown := true; grown; {
		grown = false
		for _, spans := range [][]history.Span{t.shared, t.own[process]} {
			for _, s := range spans {
				if s.From > at.Add(rest) {
					break
				}
				if s.To > at && s.To != driver.Never {
					at, grown = s.To, true
				}
			}
		}
	}
	return at.Add(rest)
}

// fault names the fault that was active at a moment, or had begun last before it; "" if there was none.
func (r *round) fault(at driver.Instant) string {
	name := ""
	for _, f := range r.faults {
		if f.From <= at {
			name = r.h.Meta.Faults[f.Index].Name
		}
	}
	return name
}
