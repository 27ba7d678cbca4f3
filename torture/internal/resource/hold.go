package resource

import (
	"sync"

	"holdfast.dev/torture/internal/history"
)

// A heldWrite is a write to a fenced register that lies here until somebody else has come: the message of a holder that stands
// still, on its way.
type heldWrite struct {
	until   history.Op // what the other one does
	caught  func(process uint32)
	lock    uint16
	process uint32
	is      bool          // it has been caught
	goOn    chan struct{} // closed when it is to be carried out
	once    sync.Once
	carried chan struct{} // closed when it was
}

func (h *heldWrite) release() { h.once.Do(func() { close(h.goOn) }) }

// HoldWrite keeps the next write to a fenced register: caught is told whose it is. It is carried out as soon as another process has
// done the same to that register (Read or Write), and before that one is answered; or when release is called, which must be, and
// which reports whether there was a write to keep. carried is closed when it was carried out.
func (s *Server) HoldWrite(until history.Op, caught func(process uint32)) (release func() bool, carried <-chan struct{}) {
	h := &heldWrite{until: until, caught: caught, goOn: make(chan struct{}), carried: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = h
	return func() bool {
		s.mu.Lock()
		if s.held == h {
			s.held = nil
		}
		is := h.is
		s.mu.Unlock()
		h.release()
		return is
	}, h.carried
}

// keeps returns the hold on a write that is to be kept.
func (s *Server) keeps(r Request) *heldWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held
	if h == nil || h.is || !r.Write || !r.Fenced {
		return nil
	}
	h.is, h.lock, h.process = true, r.Lock, r.Process
	return h
}

// letGo carries a write out that was kept until somebody did what r does.
func (s *Server) letGo(r Request) {
	s.mu.Lock()
	h := s.held
	if h == nil || !h.is || !r.Fenced || r.Lock != h.lock || r.Process == h.process || r.Write != (h.until == history.Write) {
		s.mu.Unlock()
		return
	}
	s.held = nil
	s.mu.Unlock()
	h.release()
	<-h.carried
}
