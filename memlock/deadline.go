package memlock

import "holdfast.dev/driver"

// A deadline is a moment at which time alone changes something. All deadlines of a server are on one agenda, with one alarm for the
// earliest of them.
type deadline = driver.Entry[event]

// An event is what happens at a deadline. The deadline is no longer set when due is called, which may set it anew.
type event interface {
	due(s *Server, now driver.Instant)
}

// settle lets happen whatever is due.
func (s *Server) settle(now driver.Instant) {
	for d := s.deadlines.Due(now); d != nil; d = s.deadlines.Due(now) {
		d.What.due(s, now)
	}
}

// arm makes sure that the alarm rings at the earliest deadline or sooner. An alarm that is set too early is left alone: a lock
// that is taken and released again and again sets one alarm per TTL, not one per hold.
func (s *Server) arm() {
	at := s.deadlines.Next()
	if !at.Before(s.armed) {
		return
	}
	if s.disarm != nil {
		s.disarm() // if it is too late for that it rings for nothing, which does no harm
	}
	s.alarm++
	alarm := s.alarm
	s.armed = at
	s.disarm = s.clock.At(at, func() { s.ring(alarm) })
}

// ring is called when an alarm rings. Entering lets happen what is due, and exiting sets the next alarm, unless a later one than
// this is set already.
func (s *Server) ring(alarm uint64) {
	s.enter()
	if alarm == s.alarm {
		s.armed, s.disarm = driver.Never, nil
	}
	s.exit()
}

// rest takes the alarm away if nothing needs it, so that it does not keep a server in memory that nobody uses.
func (s *Server) rest() {
	if s.deadlines.Len() == 0 && s.disarm != nil {
		s.disarm()
		s.armed, s.disarm = driver.Never, nil
	}
}
