package holdfast

import (
	"container/heap"
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
	alarms alarmHeap
	armed  driver.Instant // when the timer rings; Never: it is not set
	stop   func() bool
	closed bool
}

// An alarm rings once when its time has come.
type alarm struct {
	owner interface{ ring() } // never blocks
	at    driver.Instant
	pos   int // place in the heap, from 1; 0: not set
}

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
		if a.pos > 0 {
			heap.Remove(&s.alarms, a.pos-1)
		}
		return
	}
	if a.at = t; a.pos > 0 {
		heap.Fix(&s.alarms, a.pos-1)
	} else {
		heap.Push(&s.alarms, a)
	}
	s.arm()
}

func (s *schedule) clear(a *alarm) { s.set(a, driver.Never) }

// advance makes a ring at t, unless it is to ring before.
func (s *schedule) advance(a *alarm, t driver.Instant) {
	s.mu.Lock()
	later := a.pos == 0 || t.Before(a.at)
	s.mu.Unlock()
	if later {
		s.set(a, t)
	}
}

// arm sets the timer if the earliest alarm is earlier than it. s.mu is held.
func (s *schedule) arm() {
	if len(s.alarms) == 0 || !s.alarms[0].at.Before(s.armed) {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	at := s.alarms[0].at
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
	for now := s.clock.Now(); len(s.alarms) > 0 && !now.Before(s.alarms[0].at); {
		due = append(due, heap.Pop(&s.alarms).(*alarm))
	}
	if !s.closed {
		s.arm()
	}
	s.mu.Unlock()
	for _, a := range due {
		a.owner.ring()
	}
}

// close rings nothing more.
func (s *schedule) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.alarms = true, nil
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// alarmHeap is a container/heap of alarms, the earliest first, which know their places.
type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i+1, j+1
}

func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.pos = len(*h) + 1
	*h = append(*h, a)
}

func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.pos = 0
	return a
}
