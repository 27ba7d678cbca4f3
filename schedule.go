package holdfast

import (
	"sync"

	"holdfast.dev/driver"
)

// A schedule rings many alarms by one timer of the store's clock: ten thousand holds cost one timer and no goroutine.
//
// The timer is set to the earliest alarm, or earlier: taking alarms away or moving them back leaves it alone, so that a lock that
// is taken and released at once costs no timer at all. When it rings too early it is set anew.
type schedule struct {
	clock driver.Clock

	mu     sync.Mutex
	alarms driver.Agenda[ringer]
	armed  driver.Instant // when the timer rings; Never: it is not set
	stop   func() bool
	closed bool
}

// An alarm rings once when its time has come.
type alarm = driver.Entry[ringer]

// A ringer is what an alarm belongs to. Its ring never blocks.
type ringer interface{ ring() }

func newSchedule(clock driver.Clock) *schedule {
	return &schedule{clock: clock, armed: driver.Never}
}

// set makes a ring at t, and no longer when it was to ring before. Never clears it.
func (s *schedule) set(a *alarm, t driver.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return
	case t == driver.Never:
		s.alarms.Clear(a)
		return
	}
	s.alarms.Set(a, t)
	s.arm()
}

func (s *schedule) clear(a *alarm) { s.set(a, driver.Never) }

// advance makes a ring at t, unless it is to ring before.
func (s *schedule) advance(a *alarm, t driver.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && (!a.IsSet() || t.Before(a.At())) {
		s.alarms.Set(a, t)
		s.arm()
	}
}

// arm sets the timer if the earliest alarm is earlier than it. s.mu is held.
func (s *schedule) arm() {
	at := s.alarms.Next()
	if !at.Before(s.armed) {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	s.armed = at
	s.stop = s.clock.At(at, func() { s.ring(at) })
}

// ring rings all alarms that are due. A timer that was replaced meanwhile finds nothing that it could do wrong.
func (s *schedule) ring(armed driver.Instant) {
	s.mu.Lock()
	if s.armed == armed {
		s.armed, s.stop = driver.Never, nil
	}
	var due []*alarm
	now := s.clock.Now()
	for a := s.alarms.Due(now); a != nil; a = s.alarms.Due(now) {
		due = append(due, a)
	}
	if !s.closed {
		s.arm()
	}
	s.mu.Unlock()
	for _, a := range due {
		a.What.ring()
	}
}

// close rings nothing more.
func (s *schedule) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.alarms = true, driver.Agenda[ringer]{}
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
