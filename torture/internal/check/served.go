package check

import (
	"sort"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// served is the part of checker 6 that is about errors. A store that answers everybody with an error keeps nobody waiting, lets nobody
// overlap and loses nothing: all other checkers are content with it.
//
// Lock and Campaign ask again for as long as it takes, so a fault makes them slow and nothing else. They end with the lock, or, if the caller
// has one, with his deadline: any other answer is a violation, and within the store's assumptions nothing excuses it, neither a fault nor
// a process that stood still. Beyond them a store may refuse what it cannot do (no memory is left, the lock's file has gone) while a
// fault is felt.
//
// TryLock asks a few times, and says then that the store cannot be reached. It may, while a fault is felt, and when its process or the
// server stood still.
func served(r *round) []Violation {
	var found []Violation
	for _, l := range r.locks {
		for _, a := range l.attempts {
			if !refused(a) {
				continue
			}
			what := "got an error after %s, though only a deadline may end a wait"
			switch feels := r.feels(a.Asked, a.Answered); {
			case a.Way == history.ByTry && (feels || r.stalled(a)):
				continue
			case a.Way == history.ByTry:
				what = "tried, and got an error after %s, though no fault could be felt"
			case feels && !within(&r.Meta):
				continue
			}
			found = append(found, r.violation("liveness", l, a.Answered, []uint64{a.Number}, "%s "+what, who(a), ms(a.Answered.Sub(a.Asked))))
		}
	}
	return found
}

// refused reports whether an attempt ended by an error that is no proper answer in its way of asking. Whoever gives up without a
// deadline was never served: see unserved.
func refused(a *history.Attempt) bool {
	switch a.Outcome {
	case history.Failed:
		return true
	case history.Guarded, history.Held: // answers to those who do not wait
		return a.Way != history.ByTry
	}
	return false
}

// feels reports whether a fault is felt at any time from one moment to another: from its beginning until a TTL, a second and what its
// guard takes after it has healed.
func (r *round) feels(from, to driver.Instant) bool {
	for _, f := range r.faults {
		if f.From > to {
			break
		}
		if f.To.Add(r.Meta.TTL+healing+r.fault(f).Heals) >= from {
			return true
		}
	}
	return false
}

// stalled reports whether an attempt's process, or the server, stood still while it went on.
func (r *round) stalled(a *history.Attempt) bool {
	return r.stopped(a.Process, a.Asked, a.Answered) || r.stopped(theServer, a.Asked, a.Answered)
}

// often is how many must have asked in vain before it counts as if somebody had waited.
const often = 3

// askedInVain finds those who asked for a lock again and again, from one moment to another, and were sent away each time: nobody waits
// all the time where every answer is an error. The last of them must have asked in the last second before to: a TTL after
// the lock was free. Nil, if there were too few, or somebody was told that the lock is held: it is, even if the holder does not know it yet.
// Whoever gave up because of a deadline proves nothing: it may have been too short.
func (r *round) askedInVain(l *lock, from, to driver.Instant) []uint64 {
	var vain []uint64
	late := false
	first := sort.Search(len(l.attempts), func(i int) bool { return l.attempts[i].Asked >= from })
	for _, a := range l.attempts[first:] {
		if a.Asked > to {
			break
		}
		switch {
		case a.Answered > to:
		case a.Outcome == history.Held:
			return nil
		case (a.Outcome == history.Failed || a.Outcome == history.Guarded) && !r.stalled(a):
			vain = append(vain, a.Number)
			late = late || a.Asked >= to.Add(-healing)
		}
	}
	if len(vain) < often || !late {
		return nil
	}
	return vain
}
