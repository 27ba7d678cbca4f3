package check

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// order is checker 5: on a store that is first come first served, whoever asks after another is known to be in the queue gets the
// greater token, if both get one.
//
// Only attempts count that no fault disturbed, and whose processes did not stand still: none from when it was asked for until it was
// granted. Faults count from their beginning until two TTLs, and what its guard takes, after they healed: whoever is cut off, or cannot be
// heard, loses his place, and may not know it before his next question. Of two such attempts, one waiting when the other asks,
// that is the whole time from the asking of the first to the granting of the last.
//
// Where the first had its lock before the second asked, nobody overtook: checker 2 has looked at that.
func order(r *round) []Violation {
	if !r.Meta.FIFO {
		return nil
	}
	var found []Violation
	troubles := r.troubles()
	for _, l := range r.locks {
		var calm []*history.Attempt // as they were asked for
		for _, a := range l.grants {
			if !overlapsAny(troubles, a.Asked, a.Answered) && !r.stopped(a.Process, a.Asked, a.Answered) {
				calm = append(calm, a)
			}
		}
		found = append(found, r.overtakers(l, calm)...)
	}
	return found
}

// overtakers finds, for each attempt, whether it has a smaller token than somebody who waits when it is asked for. The heap has
// those who are known to wait, the greatest token first; who has been served is taken off when he comes to its top.
func (r *round) overtakers(l *lock, calm []*history.Attempt) []Violation {
	var found []Violation
	var queued []*history.Attempt
	for _, a := range calm {
		if a.Queued != 0 {
			queued = append(queued, a)
		}
	}
	slices.SortStableFunc(queued, func(a, b *history.Attempt) int { return cmp.Compare(a.Queued, b.Queued) })
	slices.SortStableFunc(calm, func(a, b *history.Attempt) int { return cmp.Compare(a.Asked, b.Asked) })
	waiting := new(byToken)
	for _, a := range calm {
		for ; len(queued) > 0 && queued[0].Queued < a.Asked; queued = queued[1:] {
			heap.Push(waiting, queued[0])
		}
		for waiting.Len() > 0 && (*waiting)[0].Answered <= a.Asked {
			heap.Pop(waiting)
		}
		if waiting.Len() > 0 && (*waiting)[0].Token > a.Token {
			first := (*waiting)[0]
			found = append(found, r.violation("order", l, a.Answered, []uint64{first.Number, a.Number},
				"%s asked %s after %s was known to be in the queue, and overtook it", who(a), ms(a.Asked.Sub(first.Queued)), who(first)))
		}
	}
	return found
}

// byToken is a container/heap.
type byToken []*history.Attempt

func (h byToken) Len() int           { return len(h) }
func (h byToken) Less(i, j int) bool { return h[i].Token > h[j].Token }
func (h byToken) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byToken) Push(x any)        { *h = append(*h, x.(*history.Attempt)) }
func (h *byToken) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	*h = (*h)[:last]
	return a
}

// troubles are the faults, and how long they may be felt; in order, and apart from each other.
func (r *round) troubles() []history.Span {
	var all []history.Span
	for _, f := range r.faults {
		s := history.Span{From: f.From, To: driver.Never}
		if f.Healed {
			s.To = f.To.Add(2*r.Meta.TTL + r.fault(f).Heals)
		}
		if last := len(all) - 1; last >= 0 && s.From <= all[last].To {
			all[last].To = max(all[last].To, s.To)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// overlapsAny reports whether one of the spans, which are in order and apart, has a moment from one to another.
func overlapsAny(spans []history.Span, from, to driver.Instant) bool {
	n := sort.Search(len(spans), func(i int) bool { return spans[i].To > from })
	return n < len(spans) && spans[n].From <= to
}
