package memlock

import (
	"fmt"

	"holdfast.dev/driver"
)

// Server returns the server that st is connected to.
func (st *Store) Server() *Server { return st.server }

// Remains lists what a server keeps in memory, or "" if that is nothing. It does not look at the clock: what should have ended by
// itself must have ended by itself.
func (s *Server) Remains() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.locks)+len(s.claims)+len(s.tombs)+s.deadlines.Len()+len(s.losses) == 0 {
		return ""
	}
	return fmt.Sprintf("%d locks, %d claims, %d tombs, %d deadlines, %d losses",
		len(s.locks), len(s.claims), len(s.tombs), s.deadlines.Len(), len(s.losses))
}

// Alarms counts the alarms that were ever set.
func (s *Server) Alarms() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alarm
}

// NamedServers counts the servers of mem://NAME that have a client.
func NamedServers() int {
	named.Lock()
	defer named.Unlock()
	return len(named.servers)
}

// Exhume takes away the tombstone of r's attempt.
func (s *Server) Exhume(r *driver.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tombs[idOf(r)]; t != nil {
		s.deadlines.Clear(&t.deadline)
		delete(s.tombs, t.id)
	}
}
