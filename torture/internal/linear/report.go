package linear

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
)

// violation says where a segment got stuck.
func (r *round) violation(s *segment, verdict porcupine.CheckResult, limit time.Duration) check.Violation {
	v := check.Violation{Checker: Name, Lock: r.h.Meta.Locks[s.lock].Name}
	if verdict == porcupine.Unknown {
		first, last := s.ops[0], s.ops[len(s.ops)-1]
		v.At = first.call
		v.What = fmt.Sprintf("not decided within %v: %d operations from %s to %s; a longer limit may tell", limit, len(s.ops),
			r.when(first.call), r.when(last.call))
		v.Attempts = attemptsOf(first, last)
	} else {
		order := s.longest()
		at := s.begin
		for _, o := range order {
			at, _ = at.step(o, s.tokens)
		}
		stuck := s.stuck(order)
		holder := s.tenant(at)
		v.At = stuck.ret
		v.What = r.sentence(stuck, at, holder)
		v.Attempts = attemptsOf(stuck, holder)
	}
	v.Fault = r.fault(v.At)
	return v
}

// showing is how long the search for something to show may take.
const showing = 2 * time.Second

// longest is the longest order that a lock could have followed.
func (s *segment) longest() []*op {
	_, info := porcupine.CheckOperationsVerbose(s.plain(), s.operations(), showing)
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	order := make([]*op, len(longest))
	for i, o := range longest {
		order[i] = o.Input.(*op)
	}
	return order
}

// stuck is the operation that had to come next: of those that have no place in the order, the one that was over first.
func (s *segment) stuck(order []*op) *op {
	placed := make(map[*op]bool)
	for _, o := range order {
		placed[o] = true
	}
	var first *op
	for _, o := range s.ops {
		if !placed[o] && (first == nil || o.ret < first.ret) {
			first = o
		}
	}
	return first
}

// tenant is the end of who has the lock in a state, if that is in the segment.
func (s *segment) tenant(at state) *op {
	for _, o := range s.ops {
		if at.held && o.kind == end && o.attempt.Number == at.holder {
			return o
		}
	}
	return nil
}

func (r *round) sentence(o *op, at state, holder *op) string {
	var b strings.Builder
	a := o.attempt
	switch o.kind {
	case grant:
		fmt.Fprintf(&b, "attempt %d of worker %d was granted token %d between %s and %s", a.Number, a.Worker, a.Token, r.when(a.Asked), r.when(a.Answered))
	case end:
		fmt.Fprintf(&b, "the hold of attempt %d of worker %d, token %d, renewed %d times, must have ended (%s) between %s and %s", a.Number, a.Worker,
			a.Token, o.renewals(), o.why(), r.when(o.call), r.when(o.ret))
	default:
		fmt.Fprintf(&b, "attempt %d of worker %d was refused between %s and %s", a.Number, a.Worker, r.when(o.call), r.when(o.ret))
	}
	switch {
	case at.held && at.holder == a.Number:
		b.WriteString(", and no order of what others saw meanwhile allows it")
	case at.held && holder != nil:
		fmt.Fprintf(&b, ", while attempt %d of worker %d had the lock with token %d, until %s at least (%s)", at.holder, holder.attempt.Worker,
			holder.attempt.Token, r.when(holder.call), holder.why())
	case at.held:
		fmt.Fprintf(&b, ", while attempt %d had the lock, with token %d, and for longer than this", at.holder, at.last)
	case o.kind == refused:
		fmt.Fprintf(&b, ", while nobody had the lock, or can have had it; the last token was %d", at.last)
	case o.kind == grant:
		fmt.Fprintf(&b, ", which is not greater than the last token %d", at.last)
	default:
		fmt.Fprintf(&b, ", when it did not have the lock any more; the last token was %d", at.last)
	}
	return b.String()
}

// why is what a hold's end is known by.
func (o *op) why() string {
	a := o.attempt
	switch mayEnd(a) {
	case a.ReleaseAsked:
		return "release asked"
	case a.LossTold:
		return "loss told"
	case a.Died:
		return "process died"
	case driver.Never:
		return "nothing ended it"
	}
	return "valid until"
}

// when is a time for people: since the round began.
func (r *round) when(at driver.Instant) string {
	return fmt.Sprintf("%.3f ms", float64(at.Sub(r.began))/float64(time.Millisecond))
}

func attemptsOf(ops ...*op) []uint64 {
	var numbers []uint64
	for _, o := range ops {
		if o != nil && (len(numbers) == 0 || numbers[0] != o.attempt.Number) {
			numbers = append(numbers, o.attempt.Number)
		}
	}
	return numbers
}

// annotations are what else is to be seen on a segment's page: faults, and attempts that nobody knows the outcome of.
func (r *round) annotations(s *segment) []porcupine.Annotation {
	from, to := s.ops[0].call, s.ops[0].ret
	for _, o := range s.ops {
		to = max(to, o.ret)
	}
	var notes []porcupine.Annotation
	note := func(tag, text string, begin, until driver.Instant) {
		if begin <= to && until >= from {
			notes = append(notes, porcupine.Annotation{Tag: tag, Start: int64(max(begin, from)), End: int64(min(until, to)), Description: text})
		}
	}
	for _, f := range r.faults {
		note("faults", r.h.Meta.Faults[f.Index].Name, f.From, f.To)
	}
	for _, w := range r.reasons(r.byLock[s.lock]) {
		if a := w.attempt; !a.Granted() && a.Outcome != history.Held {
			note("unknown", fmt.Sprintf("attempt %d may have been granted", a.Number), w.from, w.over)
		}
	}
	return notes
}
