package memlock

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"holdfast.dev/driver"
)

// A Server is the place where locks live. Clients reach it by Connect. It needs no closing: it has no goroutine, and an alarm only
// while something can run out.
type Server struct {
	clock    driver.Clock
	name     string // of mem://NAME
	identity string

	mu     sync.Mutex
	locks  map[key]*lock
	claims map[id]*claim // that wait or hold
	tombs  map[id]*tomb
	token  uint64 // the last one that was given away
	ticket uint64 // the last one that was drawn

	deadlines driver.Agenda[event]
	armed     driver.Instant // when the alarm will ring; Never: there is none
	disarm    func() bool
	alarm     uint64 // counts the alarms that were set
	losses    []loss // to be told once the mutex is free
}

// A loss is a call of Request.Lost that is owed to a holder.
type loss struct {
	lost func(error)
	err  error
}

// An Option changes how a server works.
type Option func(*Server)

// WithClock makes a server, and all clients of it, use another clock than [driver.Local]; nil changes nothing.
//
// The server asks the clock while its own mutex is held. So the clock's At must return before it calls f, and must not hold a
// mutex of its own while f runs: f would wait for the server, and the server for the clock.
func WithClock(c driver.Clock) Option {
	return func(s *Server) {
		if c != nil {
			s.clock = c
		}
	}
}

// NewServer returns a server without locks.
func NewServer(options ...Option) *Server {
	var random [16]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the program instead
	s := &Server{
		clock:    driver.Local(),
		identity: "mem:" + hex.EncodeToString(random[:]),
		locks:    make(map[key]*lock),
		claims:   make(map[id]*claim),
		tombs:    make(map[id]*tomb),
		armed:    driver.Never,
	}
	for _, option := range options {
		option(s)
	}
	return s
}

// String is mem://, with the name of the server if it has one.
func (s *Server) String() string { return "mem://" + s.name }

// Format prints String, whatever the verb: the ids of attempts inside are secrets, and fmt would show them.
func (s *Server) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// enter begins an operation: it takes the mutex, then looks at the clock, so that time never seems to go back, and lets happen
// what is due. Every operation enters, so none of them ever sees a hold that has run out.
func (s *Server) enter() driver.Instant {
	s.mu.Lock()
	now := s.clock.Now()
	s.settle(now)
	return now
}

// exit ends an operation: it sets the alarm, lets go of the mutex, and only then tells those who have lost something.
func (s *Server) exit() {
	s.arm()
	losses := s.losses
	s.losses = nil
	s.mu.Unlock()
	for _, l := range losses {
		l.lost(l.err)
	}
}

// lastToken is the last token that was given away.
func (s *Server) lastToken() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}
