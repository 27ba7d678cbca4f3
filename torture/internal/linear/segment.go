package linear

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"holdfast.dev/driver"
)

// atLeast is how many operations a segment has, if there are so many: a check has a price of its own.
const atLeast = 32

// A segment is a stretch of a lock's operations before and after which none is open.
type segment struct {
	lock   uint16
	tokens bool
	begin  state // known, at such a moment
	ops    []*op
}

// segments cuts the operations of a lock where none is open. Who has the lock there is who was granted it and has not ended.
func (r *round) segments(lock uint16) []*segment {
	var segments []*segment
	s := &segment{lock: lock, tokens: r.tokens}
	open := driver.Instant(-1) // until then
	var holders []*op          // that have not ended, the last one last
	told := make(map[uint64]bool)
	for _, o := range r.operations(lock) {
		if o.call > open && len(s.ops) >= atLeast {
			for len(holders) > 1 { // it is in the segments before; once is enough
				told[holders[0].attempt.Number] = true
				holders = holders[1:]
			}
			segments = append(segments, s)
			s = &segment{lock: lock, tokens: r.tokens, begin: s.after(holders)}
		}
		open = max(open, o.ret)
		switch o.kind {
		case grant:
			holders = append(holders, o)
		case end:
			if told[o.attempt.Number] {
				continue
			}
			holders = without(holders, o)
		}
		s.ops = append(s.ops, o)
	}
	if len(s.ops) > 0 {
		segments = append(segments, s)
	}
	for _, s := range segments {
		s.inOrder()
	}
	return segments
}

// inOrder tells each grant which one must have been before it, so that the search does not have to find out.
func (s *segment) inOrder() {
	var grants []*op
	for _, o := range s.ops {
		if o.kind == grant {
			grants = append(grants, o)
		}
	}
	slices.SortFunc(grants, func(a, b *op) int { return cmp.Compare(a.attempt.Token, b.attempt.Token) })
	for i := 1; i < len(grants); i++ {
		grants[i].after = grants[i-1].attempt.Token // its own, if it was given twice: there is no order for that
	}
}

// after is the state when a segment is over. The last token is the greatest that it granted: in a legal history that is the last.
func (s *segment) after(holders []*op) state {
	next := state{last: s.begin.last}
	granted := uint64(0)
	for _, o := range s.ops {
		if o.kind == grant {
			granted = max(granted, o.attempt.Token)
		}
	}
	if granted != 0 {
		next.last = granted
	}
	if len(holders) > 0 {
		next.holder = holders[len(holders)-1].attempt.Number
		next.held = true
	}
	return next
}

func without(holders []*op, end *op) []*op {
	for i, h := range holders {
		if h.attempt == end.attempt {
			return append(holders[:i:i], holders[i+1:]...)
		}
	}
	return holders
}

// operations returns the segment as porcupine wants it. Ends have rows of their own on its page: they go on beside what their worker does next.
func (s *segment) operations() []porcupine.Operation {
	rows := make(map[uint16]int)
	ops := make([]porcupine.Operation, len(s.ops))
	for i, o := range s.ops {
		row, ok := rows[o.attempt.Worker]
		if !ok {
			row = 2 * len(rows)
			rows[o.attempt.Worker] = row
		}
		if o.kind == end {
			row++
		}
		ops[i] = porcupine.Operation{ClientId: row, Input: o, Call: int64(o.call), Return: int64(o.ret)}
	}
	return ops
}
