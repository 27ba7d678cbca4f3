package memlock

import (
	"context"

	"holdfast.dev/driver"
)

// Break ends the hold with that token, or all readers that share it; see driver.Breaker. A kept hold can be broken too: with Now
// its minimum hold ends at once; without, nobody is left to be told, and nothing changes but that it is shown as broken.
func (st *Store) Break(ctx context.Context, b *driver.BreakRequest) error {
	if err := driver.CheckName(b.Name); err != nil {
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
	var found []*claim
	if l := s.locks[keyOf(b.Name, b.Mode)]; l != nil {
		for c := l.holders.front; c != nil; c = c.next {
			if c.token == b.Token {
				found = append(found, c)
			}
		}
	}
	if len(found) == 0 {
		return driver.ErrGone
	}
	for _, c := range found {
		s.breakOne(c, b, now)
	}
	return nil
}

// breakOne tells c's owner (B1), who then ends it or lets it run out (B2); with Now it is free at once, Keep included (B3).
func (s *Server) breakOne(c *claim, b *driver.BreakRequest, now driver.Instant) {
	if c.broken == nil || b.Now {
		c.broken = &driver.Broken{By: b.By, Now: b.Now}
	}
	s.tell(c, c.broken)
	switch {
	case !b.Now:
	case c.state == kept:
		s.vacate(c, now)
	default:
		s.end(c, false, now)
	}
}
