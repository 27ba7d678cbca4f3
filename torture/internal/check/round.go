package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A round is a history, prepared for the checkers.
type round struct {
	*history.History
	locks  []*lock
	faults []history.FaultSpan // in the order of their beginnings
	stops  map[uint32][]history.Span
	killed map[uint32]bool
	end    driver.Instant // of the last record

	overlaps []overlap
	lost     []lostUpdate
	heals    []heal
	tellings []telling
}

// A lock is what happened to one of a round's locks.
type lock struct {
	history.LockMeta
	attempts []*history.Attempt // as they were asked for
	busy     []driver.Instant   // for each attempt: the latest end of the waits of it and of those before it
	deaths   []driver.Instant   // of processes that waited for it or held it, by time
	grants   []*history.Attempt // as they were granted
	windows  []window           // by their beginnings
	furthest []driver.Instant   // for each window: the latest end of it and of those before it
	renewals []history.Record
}

// A window is a stretch in which somebody believed that he held a lock. It ends with the round at the latest.
type window struct {
	history.Span
	of *history.Attempt
}

// prepare sorts a history by locks.
func prepare(h *history.History) (*round, error) {
	if err := sound(h); err != nil {
		return nil, err
	}
	attempts, err := h.Attempts()
	if err != nil {
		return nil, err
	}
	r := &round{History: h, faults: h.Faults(), stops: h.Stops(), killed: make(map[uint32]bool), end: h.Records[len(h.Records)-1].At}
	for _, m := range h.Meta.Locks {
		r.locks = append(r.locks, &lock{LockMeta: m})
	}
	for _, rec := range h.Records {
		switch {
		case rec.Op == history.Process && rec.Phase == history.Killed:
			r.killed[rec.Process] = true
		case rec.Op == history.Hold && rec.Phase == history.Renewed:
			l := r.locks[rec.Lock]
			l.renewals = append(l.renewals, rec)
		}
	}
	for _, a := range attempts {
		l := r.locks[a.Lock]
		l.attempts = append(l.attempts, a)
	}
	for _, l := range r.locks {
		l.prepare(r.end)
	}
	return r, nil
}

func (l *lock) prepare(end driver.Instant) {
	busy := driver.Instant(0)
	for _, a := range l.attempts {
		if waits(a) {
			busy = max(busy, waited(a))
		}
		l.busy = append(l.busy, busy)
		if a.Died != 0 {
			l.deaths = append(l.deaths, a.Died)
		}
		if !a.Granted() {
			continue
		}
		l.grants = append(l.grants, a)
		for _, w := range a.Windows() {
			w.To = min(w.To, end)
			l.windows = append(l.windows, window{w, a})
		}
	}
	slices.Sort(l.deaths)
	slices.SortStableFunc(l.grants, func(a, b *history.Attempt) int { return cmp.Compare(a.Answered, b.Answered) })
	slices.SortStableFunc(l.windows, func(a, b window) int { return cmp.Compare(a.From, b.From) })
	furthest := driver.Instant(0)
	for _, w := range l.windows {
		furthest = max(furthest, w.To)
		l.furthest = append(l.furthest, furthest)
	}
}

// heldUntil is the latest end of the windows that began at t or before; 0 if there is none.
func (l *lock) heldUntil(t driver.Instant) driver.Instant {
	n := sort.Search(len(l.windows), func(i int) bool { return l.windows[i].From > t })
	if n == 0 {
		return 0
	}
	return l.furthest[n-1]
}

// holders are those who believed at t that they held the lock.
func (l *lock) holders(t driver.Instant) []*history.Attempt {
	var found []*history.Attempt
	n := sort.Search(len(l.windows), func(i int) bool { return l.windows[i].From > t })
	for i := n - 1; i >= 0 && l.furthest[i] > t; i-- {
		if w := l.windows[i]; w.To > t {
			found = append(found, w.of)
		}
	}
	return found
}

// fault is what the round knows about a fault that happened.
func (r *round) fault(f history.FaultSpan) history.FaultMeta { return r.Meta.Faults[f.Index] }

// begun is the index of the fault that began last at t or before; −1 if none had.
func (r *round) begun(t driver.Instant) int {
	return sort.Search(len(r.faults), func(i int) bool { return r.faults[i].From > t }) - 1
}

// faultAt names the fault that is active at t, the latest if there are many, or else the one that had begun last.
func (r *round) faultAt(t driver.Instant) string {
	last := r.begun(t)
	for i := last; i >= 0; i-- {
		if r.faults[i].To > t {
			return r.fault(r.faults[i]).Name
		}
	}
	if last < 0 {
		return ""
	}
	return r.fault(r.faults[last]).Name
}

// calm reports whether no fault but the one with this index (−1: none at all) was active at any time from one moment to another.
func (r *round) calm(but int, from, to driver.Instant) bool {
	for i, f := range r.faults {
		if f.From > to {
			break
		}
		if i != but && f.To >= from {
			return false
		}
	}
	return true
}

// stopped reports whether a process stood still at any time from one moment to another.
func (r *round) stopped(process uint32, from, to driver.Instant) bool {
	return slices.ContainsFunc(r.stops[process], func(s history.Span) bool { return s.From <= to && s.To >= from })
}

// theServer is the process that has no time if the store's server has none.
const theServer = 0

// settle is when a process, and the server, have run for d since t without standing still: a stop begins it anew.
func (r *round) settle(process uint32, t driver.Instant, d time.Duration) driver.Instant {
	deadline := t.Add(d)
	for _, spans := range [][]history.Span{r.stops[process], r.stops[theServer], r.stops[process]} { // one can bring another into reach
		for _, s := range spans {
			if s.From <= deadline && s.To >= t {
				deadline = max(deadline, s.To.Add(d))
			}
		}
	}
	return deadline
}

// violation makes one; l may be nil.
func (r *round) violation(checker string, l *lock, at driver.Instant, attempts []uint64, format string, args ...any) Violation {
	v := Violation{Checker: checker, At: at, What: fmt.Sprintf(format, args...), Attempts: attempts, Fault: r.faultAt(at)}
	if l != nil {
		v.Lock = l.Name
	}
	return v
}

// who names the holder or waiter of an attempt.
func who(a *history.Attempt) string {
	if a.Granted() {
		return fmt.Sprintf("worker %d of process %d (token %d)", a.Worker, a.Process, a.Token)
	}
	return fmt.Sprintf("worker %d of process %d (attempt %d)", a.Worker, a.Process, a.Number&(1<<32-1)) // above that is the process again
}
