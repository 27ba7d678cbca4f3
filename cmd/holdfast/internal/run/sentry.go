//go:build unix

package run

import (
	"sync"

	"holdfast.dev/cmd/holdfast/internal/guard"
)

// A sentry is a guard that is started while the lock is being asked for, because both take a while and most locks are free. If the lock
// is not, it is sent home: who waits needs no guard, and many may wait.
type sentry struct {
	started chan struct{} // closed when guard and err are known
	guard   *guard.Guard
	err     error

	mu   sync.Mutex
	home bool // it was sent home, or taken
}

func postSentry(runs string) *sentry {
	s := &sentry{started: make(chan struct{})}
	go func() {
		s.guard, s.err = guard.Start(runs)
		close(s.started)
	}()
	return s
}

// claim makes the caller the only one who decides about the guard.
func (s *sentry) claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.home
	s.home = true
	return first
}

// dismiss sends the guard home, and does not wait for that.
func (s *sentry) dismiss() {
	if s.claim() {
		go func() {
			if <-s.started; s.err == nil {
				s.guard.End()
			}
		}()
	}
}

// take returns the guard. It is nil if it was sent home.
func (s *sentry) take() (*guard.Guard, error) {
	if !s.claim() {
		return nil, nil
	}
	<-s.started
	return s.guard, s.err
}
