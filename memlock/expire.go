package memlock

import "holdfast.dev/driver"

// due is what time does to a claim.
func (c *claim) due(s *Server, now driver.Instant) {
	switch c.state {
	case holding:
		s.expire(c, now)
	case kept:
		s.vacate(c, now)
	case waiting: // absent for its whole TTL
		s.withdraw(c, now)
	}
}

// expire ends a hold that was not renewed in time, and tells its owner. Renewals do not move the deadline, only c.expires: so
// look again first.
func (s *Server) expire(c *claim, now driver.Instant) {
	if now.Before(c.expires) {
		s.deadlines.Set(&c.deadline, c.expires)
		return
	}
	s.tell(c, driver.ErrGone)
	s.end(c, true, now)
}
