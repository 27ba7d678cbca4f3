package holdfast

import (
	"context"
	"errors"
)

// errWork is what a leader's work fails with.
var errWork = errors.New("simulated work failed")

// turnLead campaigns, leads for a term or several, and resigns.
func (s *simWorker) turnLead() {
	k := s.lock()
	ctx, cancel := context.WithTimeout(s.w.ctx, s.upTo(8*s.w.ttl))
	defer cancel()
	again := false // the last term was over before its work was: it is campaigned for anew
	err := s.client(k).Election(k.name, s.options()...).Run(ctx, func(term context.Context) error {
		err := s.lead(k, term)
		again = term.Err() != nil && !errors.Is(err, errWork)
		return err
	})
	s.w.log("%s: led %v: %v", s.label, k, err)
	switch {
	case err == nil, errors.Is(err, errWork):
	case errors.Is(err, ErrLost):
		if ctx.Err() == nil && again {
			s.w.violation("%s: Run did not campaign again after a loss: %v", s.label, err)
		}
	case !explained(err):
		s.w.violation("%s: Run: an error that nobody can explain: %v", s.label, err)
	}
	s.held("has resigned")
}

// lead is one term. It ends by itself or with its context, and then winds its work up, under a lock that is still held unless it was
// lost.
func (s *simWorker) lead(k simKey, term context.Context) error {
	hold, good := s.client(k).Held(term, k.name)
	if !good {
		return term.Err() // lost before it began
	}
	s.w.tally(func(c *simCount) { c.terms++ })
	s.w.granted(s, "leader", hold, term)
	for range 1 + s.random.IntN(3) {
		s.rest(term, s.upTo(s.w.ttl))
	}
	s.rest(s.w.ctx, s.upTo(s.w.ttl/4))
	s.m.awake(s.name)
	if err := hold.Err(); errors.Is(err, ErrReleased) {
		s.w.violation("%s: Run has resigned %v before its function returned", s.label, hold)
	}
	if errors.Is(hold.Err(), ErrLost) {
		s.w.tally(func(c *simCount) { c.losses++ })
	}
	s.w.releasing(hold)
	switch s.random.IntN(4) {
	case 0:
		return nil
	case 1:
		return errWork
	}
	return term.Err()
}
