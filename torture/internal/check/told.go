package check

import (
	"sort"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// Tolerance is how late a holder may be told: on a busy machine a timer rings, a goroutine runs and a record is written when it is
// their turn. It is no part of the promise, and far above what an idle machine needs.
const Tolerance = 300 * time.Millisecond

// fresh is how long after a fault a renewal may be recorded that the store had answered before it.
const fresh = 100 * time.Millisecond

// told is checker 9.
func told(r *round) []Violation { return append(expired(r), forgotten(r)...) }

// expired finds holds whose validity ended, and whose holder was not told although it neither released the lock nor died. The time
// runs while the process does: a stop begins it anew. A renewal that comes after the validity has ended is no excuse if it comes as late.
func expired(r *round) []Violation {
	var found []Violation
	for _, l := range r.locks {
		for _, a := range l.grants {
			ends := []driver.Instant{a.Answered} // it had run out when it was granted
			windows := a.Windows()
			if len(windows) > 0 {
				ends = ends[:0]
			}
			for _, w := range windows {
				ends = append(ends, w.To)
			}
			for i, over := range ends {
				deadline := r.settle(a.Process, over, Tolerance)
				knew := a.End()
				if i+1 < len(windows) {
					knew = min(knew, windows[i+1].From)
				}
				if knew <= deadline || r.end < deadline {
					continue
				}
				found = append(found, r.violation("told", l, deadline, []uint64{a.Number},
					"%s held until its validity ended, and %s later it had not been told", who(a), ms(deadline.Sub(over))))
				break
			}
		}
	}
	return found
}

// A telling is a holder whose hold a fault made the store forget.
type telling struct {
	fault    int // index into the round's faults
	lock     *lock
	of       *history.Attempt
	took     time.Duration // from the fault until it was told; 0: it was not
	deadline driver.Instant
	late     bool
}

// forgotten finds holders who went on although the store had forgotten them.
func forgotten(r *round) []Violation {
	var found []Violation
	for _, t := range r.tellings {
		if !t.late {
			continue
		}
		f := r.faults[t.fault]
		v := r.violation("told", t.lock, t.deadline, []uint64{t.of.Number}, "%s was forgotten by the store in %s, and %s later it had not been told",
			who(t.of), r.fault(f).Name, ms(t.deadline.Sub(f.From)))
		v.Fault = r.fault(f).Name
		found = append(found, v)
	}
	return found
}

// findTellings looks at each fault that makes the store forget holds, and at those who held a lock when it began. They must know within a
// renewal interval from when the store answers again, unless their own validity has ended by then, or they have asked for the release.
//
// A fault need not concern every lock, so a hold counts only if it was forgotten: its holder was told, its release said so, or
// somebody else was granted the lock meanwhile; and if no renewal came through afterwards. Another fault in that time can keep the news
// from it, and so excuses it; a stop gives it more time.
func (r *round) findTellings() []telling {
	var found []telling
	for i, f := range r.faults {
		if !r.fault(f).Loses || !f.Healed {
			continue
		}
		for _, l := range r.locks {
			for _, a := range l.holders(f.From) {
				t := telling{fault: i, lock: l, of: a, deadline: r.settle(a.Process, f.To, r.Meta.Renewal()+Tolerance)}
				if !r.wasForgotten(l, a, f) {
					continue
				}
				if a.LossTold != 0 && r.calm(i, f.From, a.LossTold) {
					t.took = a.LossTold.Sub(f.From)
				}
				t.late = a.Until() > t.deadline && t.deadline <= r.end && r.calm(i, f.From, t.deadline)
				found = append(found, t)
			}
		}
	}
	return found
}

// wasForgotten reports whether a fault made the store forget a hold.
func (r *round) wasForgotten(l *lock, a *history.Attempt, f history.FaultSpan) bool {
	after := sort.Search(len(l.renewals), func(i int) bool { return l.renewals[i].At > f.To.Add(fresh) })
	for _, n := range l.renewals[after:] {
		if n.At > a.Until() {
			break
		}
		if n.Process == a.Process && n.Token == a.Token {
			return false
		}
	}
	if a.LossTold != 0 || a.Released == history.Lost {
		return true
	}
	after = sort.Search(len(l.grants), func(i int) bool { return l.grants[i].Answered > f.From })
	for _, g := range l.grants[after:] {
		if g.Answered >= a.Until() {
			break
		}
		if g != a && (g.Token > a.Token || r.Meta.Fencing != "durable") { // a store that forgets may begin anew with its tokens
			return true
		}
	}
	return false
}
