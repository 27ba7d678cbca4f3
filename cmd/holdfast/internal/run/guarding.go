//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/cmd/holdfast/internal/guard"
	"holdfast.dev/driver"
)

// A sentry is a guard that is started while the lock is being asked for, because both take a while and most locks are free. If the lock
// is not, it is sent home: who waits needs no guard, and many may wait.
type sentry struct {
	started chan struct{} // closed when guard is known
	guard   *guard.Guard  // nil: it could not be started

	mu   sync.Mutex
	home bool // it was sent home, or taken
}

func postSentry(runs string) *sentry {
	s := &sentry{started: make(chan struct{})}
	go func() {
		s.guard, _ = guard.Start(runs) // if it is needed it is tried again, and the error told then
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
			<-s.started
			s.guard.End()
		}()
	}
}

// take returns the guard. It is nil if it was sent home, or could not be started.
func (s *sentry) take() *guard.Guard {
	if !s.claim() {
		return nil
	}
	<-s.started
	return s.guard
}

// betweenGuards is how long it takes until the next guard is posted after one has ended: nothing, unless guards end as soon as they
// are started, and would be started in a loop.
func (s *supervisor) betweenGuards() time.Duration {
	if time.Since(s.posted) < 50*time.Millisecond {
		return time.Second
	}
	return 0
}

// post posts a guard, and tells it what there is to know. The one that was started early may have been killed since.
func (s *supervisor) post() error {
	s.posted = time.Now()
	if early := s.sentry.take(); early != nil {
		s.guard = early
		if s.brief() == nil {
			return nil
		}
		early.End()
	}
	next, err := guard.Start(runsWith(s.id))
	if err != nil {
		return err // the last one, which has ended, stays: it takes no messages, and does no harm
	}
	s.guard = next
	if err = s.brief(); err != nil {
		next.End()
		return fmt.Errorf("the guard process: %w", err)
	}
	return nil
}

// brief tells a new guard what there is to know.
func (s *supervisor) brief() error {
	if err := s.guard.Keep(s.keep); err != nil {
		return err
	}
	if err := s.guard.Begin(s.id); err != nil {
		return err
	}
	if s.job != nil {
		if err := s.guard.Watch(s.job.Group()); err != nil {
			return err
		}
	}
	return s.tellUntil()
}

// started tells the guard which group it is. If the guard has acted already, because this program was stopped for too long just
// before, it is too late for the command.
func (s *supervisor) started(itsGroup int) {
	if s.guard.Watch(itsGroup) != nil && !guard.Now().Before(s.told) {
		group.Signal(itsGroup, syscall.SIGKILL)
	}
}

// tellUntil tells the guard when to act: as long before the hold could be somebody else's as this program would. The clock is read
// first, so that the answer is early rather than late.
func (s *supervisor) tellUntil() error {
	now := guard.Now()
	s.told = driver.Never
	if left := s.hold.Left(); left != holdfast.Forever {
		s.told = now.Add(left - s.lead)
	}
	return s.guard.Until(s.told)
}

// lookBack sees a loss that the loop did not, because the command ended with it: this program was stopped, and the guard has acted.
func (s *supervisor) lookBack() {
	if s.lost == nil {
		if s.lost = context.Cause(s.valid); s.lost != nil {
			s.tell(true, "%v", s.lost)
		}
	}
	killed := s.status.Signaled() && s.status.Signal() == syscall.SIGKILL
	if s.lost == nil && killed && !guard.Now().Before(s.told) {
		s.lost = errStopped
		s.tell(true, "%v", s.lost)
	}
}

var errStopped = errors.New("the lock was about to run out while this program was stopped: the command was ended")
