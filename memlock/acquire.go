package memlock

import (
	"context"
	"fmt"

	"holdfast.dev/driver"
)

// Acquire asks for r and waits its turn; see driver.Store.
func (st *Store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	grant, wait, err := st.ask(r, st.server.clock.Now())
	if wait == nil {
		return grant, err
	}
	return st.await(ctx, wait)
}

// ask puts the question to the server: a grant, an error, or a wait. asked is the clock before the mutex was taken.
func (st *Store) ask(r *driver.Request, asked driver.Instant) (*driver.Grant, *caller, error) {
	s := st.server
	now := s.enter()
	defer s.exit()
	if st.isClosed() {
		return nil, nil, errClosed
	}
	c, err := s.claimOf(r, now)
	if err != nil {
		return nil, nil, err
	}
	c.store = st
	c.lost = r.Lost
	if c.state == holding { // A1: the same hold, its TTL begun anew
		c.extend(r.TTL, now)
		return c.grant(asked, c.expires.Sub(now)), nil, nil
	}
	s.serve(c.lock, now)
	switch {
	case c.state == holding:
		return c.grant(asked, c.ttl), nil, nil
	case r.NoWait:
		held := c.lock.held(now)
		if len(c.callers) == 0 {
			s.withdraw(c, now)
		}
		return nil, nil, held
	}
	return nil, s.join(c, st, r.Waiting, now), nil
}

// claimOf returns the claim of r's attempt: the one that it has (A1), or a new one at the end of the queue.
func (s *Server) claimOf(r *driver.Request, now driver.Instant) (*claim, error) {
	if s.tombs[idOf(r)] != nil {
		return nil, fmt.Errorf("%w: it was released before it was asked for", driver.ErrGone)
	}
	l, err := s.lockFor(r)
	if err != nil {
		return nil, err
	}
	c := s.claims[idOf(r)]
	if c == nil {
		c = s.newClaim(l, r, now)
		l.queue.enqueue(c)
		return c, nil
	}
	if c.mode != r.Mode || c.n != r.N {
		return nil, fmt.Errorf("%w: the attempt has asked for something else before; use a new one", driver.ErrRequest)
	}
	if c.away {
		s.returned(c)
	}
	return c, nil
}
