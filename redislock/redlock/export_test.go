package redlock

import (
	"time"

	"holdfast.dev/driver"
)

// Pause sets how long who waits lets pass before it tries by itself: a test can then tell whether it was told.
func (s *Store) Pause(d time.Duration) { s.pauses = driver.Backoff{Min: d, Max: d} }

// Left is what the client remembers of attempts, lines, and releases that were not answered.
func (s *Store) Left() (attempts, lines, undos int) {
	for _, n := range s.nodes {
		undos += len(n.undos.all())
	}
	s.mu.Lock()
	attempts = len(s.attempts)
	s.mu.Unlock()
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	return attempts, len(s.lines), undos
}

// What the servers have: the name of the library, and its text.
var (
	Library = library
	Code    = ballots.Code
)
