package memlock

import (
	"container/heap"

	"holdfast.dev/driver"
)

// A deadline is a moment at which time alone changes something. It lives inside the thing that changes, so that setting it
// allocates nothing.
type deadline struct {
	at    driver.Instant
	slot  int // in the heap, counted from 1; 0: not set
	event event
}

// An event is what happens at a deadline. The deadline is no longer set when due is called, which may set it anew.
type event interface {
	due(s *Server, now driver.Instant)
}

// deadlines is a heap, the earliest at the top. All deadlines of a server share it and its one alarm, so that ten thousand holds
// need no more timers than one.
type deadlines []*deadline

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h deadlines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i+1, j+1
}

// Push is for package heap.
func (h *deadlines) Push(x any) {
	d := x.(*deadline)
	*h = append(*h, d)
	d.slot = len(*h)
}

// Pop is for package heap.
func (h *deadlines) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	d.slot = 0
	return d
}

// schedule sets d to at, wherever it was.
func (s *Server) schedule(d *deadline, at driver.Instant) {
	d.at = at
	if d.slot == 0 {
		heap.Push(&s.deadlines, d)
	} else {
		heap.Fix(&s.deadlines, d.slot-1)
	}
}

// unschedule takes d out. The alarm stays as it is: if it rings too early, it looks again.
func (s *Server) unschedule(d *deadline) {
	if d.slot != 0 {
		heap.Remove(&s.deadlines, d.slot-1)
	}
}

// settle lets happen whatever is due.
func (s *Server) settle(now driver.Instant) {
	for len(s.deadlines) > 0 && !now.Before(s.deadlines[0].at) {
		d := heap.Pop(&s.deadlines).(*deadline)
		d.event.due(s, now)
	}
}

// arm makes sure that the alarm rings at the earliest deadline or sooner. An alarm that is set too early is left alone: a lock
// that is taken and released again and again sets one alarm per TTL, not one per hold.
func (s *Server) arm() {
	if len(s.deadlines) == 0 || !s.deadlines[0].at.Before(s.armed) {
		return
	}
	if s.disarm != nil {
		s.disarm() // if it is too late for that it rings for nothing, which does no harm
	}
	s.alarm++
	alarm := s.alarm
	s.armed = s.deadlines[0].at
	s.disarm = s.clock.At(s.armed, func() { s.ring(alarm) })
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
	if len(s.deadlines) == 0 && s.disarm != nil {
		s.disarm()
		s.armed, s.disarm = driver.Never, nil
	}
}
