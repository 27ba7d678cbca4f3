package holdfast

import (
	"context"
	"errors"
)

// Readers and writers share the locks of mutexes.

func (s *simWorker) turnWriter() {
	k := s.lock()
	s.take("writer", s.client(k).RWMutex(k.name, s.options()...), context.Background(), s.nestInWriter)
}

func (s *simWorker) turnReader() {
	k := s.lock()
	s.w.tally(func(c *simCount) { c.readers++ })
	s.take("reader", s.client(k).RWMutex(k.name, s.options()...).Reader(), context.Background(), s.nestInReader)
}

// nestInWriter reads or writes inside a writer.
func (s *simWorker) nestInWriter(ctx context.Context, hold *Hold) {
	if s.chance(2) {
		s.nestMutex(ctx, hold)
		return
	}
	s.reenter(ctx, hold, &Reader{s.again(hold, Shared)})
}

// nestInReader reads inside a reader, or wants to write there, which must be refused at once: it could only wait for itself.
func (s *simWorker) nestInReader(ctx context.Context, hold *Hold) {
	if s.chance(2) {
		s.reenter(ctx, hold, &Reader{s.again(hold, Shared)})
		return
	}
	wait, cancel := context.WithTimeout(ctx, 1+s.upTo(s.w.ttl))
	defer cancel()
	inner, err := (&RWMutex{s.again(hold, Exclusive)}).Lock(wait)
	switch good := hold.Err() == nil && ctx.Err() == nil; {
	case errors.Is(err, ErrUpgrade):
	case err == nil && good:
		s.w.violation("%s: %v is good, but a writer is let in", s.label, hold)
		inner.Unlock()
	case good:
		s.w.violation("%s: a writer inside of %v is not refused with ErrUpgrade: %v", s.label, hold, err)
	case err == nil: // it was lost before, so this is a hold like any other
		ctx := inner.Context(context.Background())
		s.w.granted(s, "writer", inner, ctx)
		s.release(inner, ctx)
	case !explained(err):
		s.w.violation("%s: nested: an error that nobody can explain: %v", s.label, err)
	}
}
