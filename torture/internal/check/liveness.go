package check

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// healing is how long it may take, beyond a TTL and a fault's own guard, until somebody has a lock after a fault.
const healing = time.Second

// A heal is a lock that was free, and waited for, when a fault had healed.
type heal struct {
	fault  int // index into the round's faults
	lock   *lock
	took   time.Duration    // until somebody had it
	waiter *history.Attempt // not nil: nobody did, and this one waited all the time
	vain   []uint64         // not nil: nobody did, and these asked and were sent away
}

// liveness is checker 6.
func liveness(r *round) []Violation {
	var found []Violation
	for _, h := range r.heals {
		attempts, but := h.vain, fmt.Sprintf("%d attempts ended with an error", len(h.vain))
		if h.waiter != nil {
			attempts, but = []uint64{h.waiter.Number}, who(h.waiter)+" waited for it all the time"
		}
		if attempts == nil {
			continue
		}
		f := r.faults[h.fault]
		v := r.violation("liveness", h.lock, f.To.Add(h.took), attempts,
			"nobody got the lock in the %s after %s had healed, and %s", ms(h.took), r.fault(f).Name, but)
		v.Fault = r.fault(f).Name
		found = append(found, v)
	}
	return append(append(found, unserved(r)...), served(r)...)
}

// findHeals looks at each fault that healed, and each lock that somebody wants: he waits for it, or asks for it again and again. A lock that is
// held by somebody who knows that he holds it is not free before he stops believing so; the time runs from then on. It begins anew when a
// process dies that waits for the lock or holds it: it may have been given the lock without a word, and has it for a TTL. If another fault
// is going on, or begins before the time is over, nothing can be said.
func (r *round) findHeals() []heal {
	var found []heal
	for i, f := range r.faults {
		if !f.Healed {
			continue
		}
		calm := r.calmUntil(i)
		guarded := r.guardedUntil(f.To)
		for _, l := range r.locks {
			free := max(f.To, l.heldUntil(f.To))
			deadline := l.patience(f.To, max(free, guarded), r.Meta.TTL+healing)
			n := sort.Search(len(l.grants), func(i int) bool { return l.grants[i].Answered >= f.To })
			switch {
			case n < len(l.grants) && l.grants[n].Answered <= deadline:
				next := l.grants[n].Answered
				if free == f.To && next < calm && !l.diedIn(f.To, next) && r.waiter(l, f.To, f.To) != nil {
					found = append(found, heal{fault: i, lock: l, took: next.Sub(f.To)})
				}
			case deadline < calm && deadline <= r.end:
				h := heal{fault: i, lock: l, took: deadline.Sub(f.To), waiter: r.waiter(l, f.To, deadline)}
				if h.waiter == nil {
					h.vain = r.askedInVain(l, max(free, guarded), deadline)
				}
				if h.waiter != nil || h.vain != nil {
					found = append(found, h)
				}
			}
		}
	}
	return found
}

// guardedUntil is until when nobody need be served because of the faults that have healed by t: each has a guard of its own, and one
// that was going on is not shortened by the next fault.
func (r *round) guardedUntil(t driver.Instant) driver.Instant {
	until := t
	for _, f := range r.faults {
		if f.Healed && f.To <= t {
			until = max(until, f.To.Add(r.fault(f).Heals))
		}
	}
	return until
}

// patience is when the lock must have been given to somebody, if that was possible from a time after a fault had healed.
func (l *lock) patience(healed, free driver.Instant, bound time.Duration) driver.Instant {
	deadline := free.Add(bound)
	n, _ := slices.BinarySearch(l.deaths, healed)
	for _, death := range l.deaths[n:] {
		if death > deadline {
			break
		}
		deadline = max(deadline, death.Add(bound))
	}
	return deadline
}

// diedIn reports whether somebody died, waiting for the lock or holding it, from one moment to another.
func (l *lock) diedIn(from, to driver.Instant) bool {
	n, _ := slices.BinarySearch(l.deaths, from)
	return n < len(l.deaths) && l.deaths[n] <= to
}

// calmUntil is when the next fault begins after one has healed; when that one healed, if another is going on.
func (r *round) calmUntil(i int) driver.Instant {
	healed, calm := r.faults[i].To, driver.Never
	for j, f := range r.faults {
		switch {
		case j == i || f.To <= healed && f.From < healed:
		case f.From <= healed:
			return healed
		default:
			calm = min(calm, f.From)
		}
	}
	return calm
}

// waits reports whether an attempt waits for as long as it takes.
func waits(a *history.Attempt) bool { return a.Way == history.ByLock || a.Way == history.ByLeader }

// waiter finds somebody who waited for a lock all the time from one moment to another, and whose process ran meanwhile.
func (r *round) waiter(l *lock, from, to driver.Instant) *history.Attempt {
	for i := sort.Search(len(l.attempts), func(i int) bool { return l.attempts[i].Asked >= from }) - 1; i >= 0 && l.busy[i] > to; i-- {
		a := l.attempts[i]
		if waits(a) && waited(a) > to && !r.stopped(a.Process, from, to) {
			return a
		}
	}
	return nil
}

// waited is when an attempt's wait was over.
func waited(a *history.Attempt) driver.Instant {
	switch {
	case a.Answered != 0:
		return a.Answered
	case a.Died != 0:
		return a.Died
	}
	return driver.Never
}

// unserved finds live attempts that nobody answered, although the round has waited for them. Whoever waits as long as it takes
// has no deadline, so giving up is no answer either. Those of processes that were killed, or that stand still to the end, are excused.
func unserved(r *round) []Violation {
	var found []Violation
	end := r.When(history.Drained)
	if end == 0 {
		end = r.end
		found = append(found, notDrained(r))
	}
	for _, l := range r.locks {
		for _, a := range l.attempts {
			if !waits(a) || a.Answered != 0 && a.Outcome != history.GaveUp {
				continue
			}
			if r.killed[a.Process] || r.stopped(a.Process, r.end, r.end) {
				continue
			}
			until := end
			if a.Answered != 0 {
				until = a.Answered
			}
			found = append(found, r.violation("liveness", l, until, []uint64{a.Number},
				"%s waited for %s and was never served", who(a), ms(until.Sub(a.Asked))))
		}
	}
	return found
}

// notDrained says that a round never came to its end, and who may be why: those who waited until they were killed for it.
func notDrained(r *round) Violation {
	v := r.violation("liveness", nil, r.end, nil, "the round did not drain: some worker never came to its end")
	draining := r.When(history.Draining)
	for _, l := range r.locks {
		for _, a := range l.attempts {
			if a.Answered == 0 && a.Died > draining && draining != 0 {
				v.What += fmt.Sprintf("; %s waited for %q for %s until it was killed", who(a), l.Name, ms(a.Died.Sub(a.Asked)))
				v.Attempts = append(v.Attempts, a.Number)
			}
		}
	}
	return v
}
