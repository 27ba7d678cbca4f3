package history

import (
	"fmt"

	"holdfast.dev/driver"
)

// A Span is a stretch of time; To is not part of it.
type Span struct{ From, To driver.Instant }

// Overlaps reports whether two spans have a moment in common.
func (s Span) Overlaps(o Span) bool { return s.From < o.To && o.From < s.To }

// An Attempt is one call of Lock, TryLock or Campaign, and all that became of it. Moments that never came are 0.
type Attempt struct {
	Number  uint64
	Process uint32
	Worker  uint16
	Lock    uint16
	Way     Way

	Asked    driver.Instant
	Queued   driver.Instant // when it was first known to have a place behind others
	Answered driver.Instant
	Outcome  Outcome // None: without an answer
	Token    uint64

	Claims []Span // what the holder believed: from when it did, until when. First the grant, then renewals and looks

	LossTold driver.Instant
	Reason   Outcome // of the loss

	ReleaseAsked, ReleaseDone driver.Instant
	Released                  Outcome

	Died driver.Instant // when its process was killed or ended, if that was before the attempt had come to its end
}

// Granted reports whether it got the lock.
func (a *Attempt) Granted() bool { return a.Outcome == Granted }

// End is when the holder did, or knew, that it was over: it asked for the release, it was told of a loss, or its process died.
// Never, if none of these came.
func (a *Attempt) End() driver.Instant {
	end := driver.Never
	for _, t := range []driver.Instant{a.ReleaseAsked, a.LossTold, a.Died} {
		if t != 0 {
			end = min(end, t)
		}
	}
	return end
}

// Until is the latest moment that the holder ever believed in, or knew better before: no hold lasts longer than this.
func (a *Attempt) Until() driver.Instant {
	until := driver.Instant(0)
	for _, c := range a.Claims {
		until = max(until, c.To)
	}
	return min(until, a.End())
}

// Windows are the stretches in which the holder believed that it held, in order and apart from each other.
func (a *Attempt) Windows() []Span {
	var windows []Span
	end := a.End()
	for _, c := range a.Claims {
		c.To = min(c.To, end)
		switch last := len(windows) - 1; {
		case c.From >= c.To:
		case last >= 0 && c.From <= windows[last].To:
			windows[last].To = max(windows[last].To, c.To)
		default:
			windows = append(windows, c)
		}
	}
	return windows
}

// A holdKey finds the hold that a renewal belongs to.
type holdKey struct {
	process uint32
	lock    uint16
	token   uint64
}

// Attempts returns all attempts, in the order in which they were asked. A record that belongs to none is an error: something is
// wrong with the recorder, and a checker must not guess.
func (h *History) Attempts() ([]*Attempt, error) {
	var all []*Attempt
	byNumber := make(map[uint64]*Attempt)
	byHold := make(map[holdKey]*Attempt)
	early := make(map[holdKey][]Span) // a renewal can be recorded before its grant is
	died := make(map[uint32]driver.Instant)
	for _, r := range h.Records {
		switch {
		case r.Op == Process && (r.Phase == Killed || r.Phase == Ended) && died[r.Process] == 0:
			died[r.Process] = r.At
		case r.Op == Hold && r.Phase == Renewed:
			key := holdKey{r.Process, r.Lock, r.Token}
			if a := byHold[key]; a != nil {
				a.Claims = append(a.Claims, Span{r.At, driver.Instant(r.Value)})
			} else {
				early[key] = append(early[key], Span{r.At, driver.Instant(r.Value)})
			}
		case r.Op == Acquire && r.Phase == Asked:
			if byNumber[r.Attempt] != nil {
				return nil, fmt.Errorf("attempt %d was asked for twice", r.Attempt)
			}
			a := &Attempt{Number: r.Attempt, Process: r.Process, Worker: r.Worker, Lock: r.Lock, Way: Way(r.Value), Asked: r.At}
			byNumber[r.Attempt] = a
			all = append(all, a)
		case r.Op == Acquire || r.Op == Hold || r.Op == Release:
			a := byNumber[r.Attempt]
			if a == nil {
				return nil, fmt.Errorf("nobody asked for attempt %d: %+v", r.Attempt, r)
			}
			a.take(r)
			if r.Op == Acquire && r.Outcome == Granted {
				key := holdKey{r.Process, r.Lock, r.Token}
				byHold[key] = a
				a.Claims = append(a.Claims, early[key]...)
				delete(early, key)
			}
		}
	}
	for _, a := range all {
		over := a.Outcome != None && a.Outcome != Granted || a.ReleaseDone != 0
		if t := died[a.Process]; t != 0 && !over {
			a.Died = t
		}
	}
	return all, nil
}

// take adds what a record says.
func (a *Attempt) take(r Record) {
	switch {
	case r.Op == Acquire && r.Phase == Queued && a.Queued == 0:
		a.Queued = r.At
	case r.Op == Acquire && r.Phase == Done:
		a.Answered, a.Outcome, a.Token = r.At, r.Outcome, r.Token
		if r.Outcome == Granted {
			a.Claims = append(a.Claims, Span{r.At, max(r.At, driver.Instant(r.Value))})
		}
	case r.Op == Hold && r.Phase == Claimed && r.Value > int64(r.At): // else it believes that it is over
		a.Claims = append(a.Claims, Span{r.At, driver.Instant(r.Value)})
	case r.Op == Hold && r.Phase == LossTold && a.LossTold == 0:
		a.LossTold, a.Reason = r.At, r.Outcome
	case r.Op == Release && r.Phase == Asked && a.ReleaseAsked == 0:
		a.ReleaseAsked = r.At
	case r.Op == Release && r.Phase == Done:
		a.ReleaseDone, a.Released = r.At, r.Outcome
	}
}

// A FaultSpan is a fault from its beginning until everything worked again.
type FaultSpan struct {
	Span
	Index   int    // into Meta.Faults
	Process uint32 // whom it concerned; 0: all
	Healed  bool   // false: it lasted until the end of the round
}

// Faults returns the faults in the order of their beginnings.
func (h *History) Faults() []FaultSpan {
	var faults []FaultSpan
	end := h.Records[len(h.Records)-1].At
	for _, r := range h.Records {
		switch {
		case r.Op == Fault && r.Phase == Began:
			faults = append(faults, FaultSpan{Span: Span{r.At, end}, Index: int(r.Lock), Process: r.Process})
		case r.Op == Fault && r.Phase == Healed:
			for i := range faults {
				if f := &faults[i]; f.Index == int(r.Lock) && f.Process == r.Process && !f.Healed {
					f.To, f.Healed = r.At, true
				}
			}
		}
	}
	return faults
}

// Stops returns, by process, when processes stood still, because they were stopped or because the machine had no time for them. A
// signal is sent after the beginning of a span, and before its end.
func (h *History) Stops() map[uint32][]Span {
	stops := make(map[uint32][]Span)
	for _, r := range h.Records {
		spans := stops[r.Process]
		switch {
		case r.Op == Process && r.Phase == Stopped:
			stops[r.Process] = append(spans, Span{r.At, driver.Never})
		case r.Op == Process && r.Phase == Continued:
			for i := range spans {
				if spans[i].To == driver.Never {
					spans[i].To = r.At
				}
			}
		case r.Op == Process && r.Phase == Starved:
			stops[r.Process] = append(spans, Span{driver.Instant(r.Value), r.At})
		}
	}
	return stops
}

// When returns the first moment of a phase of the round; 0 if it never came.
func (h *History) When(p Phase) driver.Instant {
	for _, r := range h.Records {
		if r.Op == Round && r.Phase == p {
			return r.At
		}
	}
	return 0
}
