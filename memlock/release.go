package memlock

import (
	"context"

	"holdfast.dev/driver"
)

// Release makes sure that r's attempt neither waits nor holds; see driver.Store.
func (st *Store) Release(ctx context.Context, r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s := st.server
	now := s.enter()
	defer s.exit()
	if st.isClosed() {
		return errClosed
	}
	c := s.claims[idOf(r)] // nobody else's: R3
	if c == nil {
		s.entomb(r, now)
		return driver.ErrGone
	}
	c.undone = true
	c.lost = nil
	if c.state == waiting {
		s.withdraw(c, now)
	} else {
		s.end(c, r.Keep > 0, now)
	}
	return nil
}

// withdraw takes a waiter away, present or absent, and lets its callers know.
func (s *Server) withdraw(c *claim, now driver.Instant) {
	l := c.lock
	if c.away {
		l.absent.remove(c)
	} else {
		l.queue.remove(c)
	}
	c.state = ended
	delete(s.claims, c.id)
	s.deadlines.Clear(&c.deadline)
	if c.decided != nil {
		close(c.decided)
	}
	s.serve(l, now) // it may have been the head that did not fit
	s.tidy(l)
}

// A tomb remembers an attempt that was undone before it was asked for: its Acquire may still be on its way (R2).
type tomb struct {
	id
	deadline deadline
}

// entomb makes sure that r's attempt is not granted, should it come within r.TTL.
func (s *Server) entomb(r *driver.Request, now driver.Instant) {
	t := s.tombs[idOf(r)]
	if t == nil {
		t = &tomb{id: idOf(r)}
		t.deadline.What = t
		s.tombs[t.id] = t
	}
	s.deadlines.Set(&t.deadline, max(t.deadline.At(), now.Add(clampTTL(r.TTL))))
}

// due removes the tomb: what has not come by now never will.
func (t *tomb) due(s *Server, now driver.Instant) { delete(s.tombs, t.id) }
