package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// A state of a lock. It can be compared.
type state struct {
	held   bool
	holder uint64 // the attempt
	last   uint64 // the last token
	gap    set    // who may have had the lock since it was free: one of them had it, if it is not empty
	used   sets   // who may have had it in each such gap before: one of each, and never the same
}

// model is that of a segment, for a search: a grant waits for those with smaller tokens, which no order can have after it.
func (s *segment) model() porcupine.Model {
	m := s.plain()
	m.Step = func(before, input, _ any) (bool, any) {
		o := input.(*op)
		if s.tokens && o.kind == grant && before.(state).last < o.after {
			return false, before
		}
		after, ok := before.(state).step(o, s.tokens)
		return ok, after
	}
	return m
}

// plain is the model as it is, for people: a token that falls is seen where it falls.
func (s *segment) plain() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return s.begin },
		Step: func(before, input, _ any) (bool, any) {
			after, ok := before.(state).step(input.(*op), s.tokens)
			return ok, after
		},
		DescribeOperation: func(input, _ any) string { return input.(*op).String() },
		DescribeState:     func(at any) string { return at.(state).String() },
	}
}

// step is what one lock would do. It reports whether it would.
func (s state) step(o *op, tokens bool) (state, bool) {
	switch o.kind {
	case grant:
		if s.held || tokens && o.attempt.Token <= s.last {
			return s, false
		}
		s.held, s.holder, s.last = true, o.attempt.Number, o.attempt.Token
		s.used, s.gap = s.used.with(s.gap), ""
		return s, true
	case end:
		if !s.held || s.holder != o.attempt.Number {
			return s, false
		}
		s.held, s.holder = false, 0
		return s, true
	}
	switch {
	case s.held || o.waited:
		return s, true
	case len(o.doubts) == 0:
		return s, false
	}
	doubts := newSet(o.doubts)
	if !s.used.with(doubts).distinct() {
		return s, false
	}
	s.gap = s.gap.and(doubts)
	return s, true
}

func (s state) String() string {
	switch {
	case s.held:
		return fmt.Sprintf("held by attempt %d, last token %d", s.holder, s.last)
	case s.gap != "":
		return fmt.Sprintf("held by somebody unseen, last token %d", s.last)
	}
	return fmt.Sprintf("free, last token %d", s.last)
}

// String is the operation for people.
func (o *op) String() string {
	switch o.kind {
	case grant:
		return fmt.Sprintf("grant %d to attempt %d", o.attempt.Token, o.attempt.Number)
	case end:
		return fmt.Sprintf("end of %d of attempt %d, renewed %d times, %s", o.attempt.Token, o.attempt.Number, o.renewals(), o.why())
	}
	return fmt.Sprintf("attempt %d refused", o.attempt.Number)
}

// renewals are the promises after the first.
func (o *op) renewals() int {
	n, until := 0, o.attempt.Claims[0].To
	for _, c := range o.attempt.Claims[1:] {
		if c.To > until {
			n, until = n+1, c.To
		}
	}
	return n
}
