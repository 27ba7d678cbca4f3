package linear

import (
	"cmp"
	"slices"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A reason is an attempt that may have had the lock, unseen: as often as you like while it waited, and once after that.
type reason struct {
	attempt     *history.Attempt
	from        driver.Instant
	waits, over driver.Instant // until when
	number      uint16
}

// reasons returns those of a lock, in the order of their beginnings.
func (r *round) reasons(attempts []*history.Attempt) []reason {
	var all []reason
	for _, a := range attempts {
		if w, ok := r.reason(a); ok {
			w.number = uint16(len(all)) // enough for one place: two of the same number are 65,536 attempts apart
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b reason) int { return cmp.Compare(a.from, b.from) })
	return all
}

func (r *round) reason(a *history.Attempt) (reason, bool) {
	w := reason{attempt: a, from: a.Asked, waits: a.Answered}
	if a.Outcome == history.None {
		w.waits = r.ended
		if a.Died != 0 {
			w.waits = a.Died
		}
	}
	quick := a.Way == history.ByTry && w.waits.Sub(a.Asked) < r.ttl
	switch {
	case (a.Outcome == history.Held || a.Outcome == history.Guarded) && quick && !r.troubled(a):
		return reason{}, false // it was asked for once, and nothing is left of it
	case a.Granted() && a.Released == history.OK:
		w.over = a.ReleaseDone
	default:
		w.over = r.settled(last(a, w.waits), a.Process)
	}
	if quick {
		w.waits = w.from // it stood in no line
	}
	return w, true
}

// last is the last moment at which anything was done for an attempt.
func last(a *history.Attempt, at driver.Instant) driver.Instant {
	for _, t := range []driver.Instant{a.LossTold, a.ReleaseAsked, a.ReleaseDone, a.Died} {
		at = max(at, t)
	}
	for _, c := range a.Claims {
		if c.To != driver.Never {
			at = max(at, c.To)
		}
	}
	return at
}

// excuse finds, for each refusal at a time at which nobody surely had the lock, who may have had it.
func (r *round) excuse(attempts []*history.Attempt, tenures []tenure, refusals []*op) {
	reasons := r.reasons(attempts)
	reach := make([]driver.Instant, len(reasons)+1) // of the first i: until when any of them is one
	for i, w := range reasons {
		reach[i+1] = max(reach[i], w.over)
	}
	sure := surely(tenures)
	for _, o := range refusals {
		if sure.has(o.call, o.ret) {
			continue
		}
		n, _ := slices.BinarySearchFunc(reasons, o.ret, func(w reason, at driver.Instant) int {
			if w.from <= at {
				return -1
			}
			return 1
		})
		for i := n; i > 0 && reach[i] >= o.call && !o.waited; i-- {
			w := reasons[i-1]
			switch {
			case w.attempt == o.attempt || w.over < o.call:
			case w.waits > w.from && w.waits >= o.call:
				o.waited = true
			default:
				o.doubts = append(o.doubts, w.number)
			}
		}
		slices.Sort(o.doubts)
		if len(o.doubts) > mostDoubts {
			o.waited = true
		}
	}
}

// spans are the stretches in which somebody surely had the lock, in any order that is legal: in order, with how far they reach.
type spans struct {
	from  []driver.Instant
	until []driver.Instant // the greatest of those so far
}

func surely(tenures []tenure) spans {
	tenures = slices.Clone(tenures)
	slices.SortFunc(tenures, func(a, b tenure) int { return cmp.Compare(a.grant.ret, b.grant.ret) })
	var s spans
	until := driver.Instant(0)
	for _, t := range tenures {
		if t.grant.ret <= t.end.call {
			until = max(until, t.end.call)
			s.from, s.until = append(s.from, t.grant.ret), append(s.until, until)
		}
	}
	return s
}

// has reports whether one of them has a moment in common with a stretch.
func (s spans) has(from, to driver.Instant) bool {
	n, found := slices.BinarySearch(s.from, to)
	if found {
		n++
	}
	return n > 0 && s.until[n-1] >= from
}
