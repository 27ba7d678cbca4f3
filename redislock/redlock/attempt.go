package redlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// An attempt is what this client knows of one attempt, from its first call until it is released.
type attempt struct {
	question question
	turn     chan struct{} // has an element while a call of Acquire is at work: the others wait, and find what it has found
	undone   chan struct{} // closed by Release: calls end, and send nothing more
	woken    chan struct{} // of the call that waits; whoever has the turn sets it
	splits   int           // tries in a row that nobody has won; whoever has the turn counts

	// Guarded by the store's mutex.
	calls  int
	last   *try           // the newest; nil: there was none
	before []*try         // of which nodes may still have something
	waited bool           // it has stood in line
	since  int64          // when it first did, by commonTime
	fades  bool           // it is forgotten in a while
	left   driver.Instant // when its last call ended
	ended  bool
}

// who is an attempt, and what it is for: attempts of one id for two names are two.
type who struct {
	attempt driver.Attempt
	name    string
}

// join begins a call of Acquire. nil: the attempt was released.
func (s *Store) join(r *driver.Request) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := who{r.Attempt, r.Name}
	a := s.attempts[w]
	if a == nil {
		a = s.newAttempt(r)
		s.attempts[w] = a
	}
	if a.ended {
		return nil
	}
	a.calls++
	return a
}

func (s *Store) newAttempt(r *driver.Request) *attempt {
	secret := r.Attempt.Reveal()
	return &attempt{
		question: question{attempt: secret, label: r.Label, tokens: s.tokens(),
			keys: s.keys.of(r.Name)},
		turn: make(chan struct{}, 1), undone: make(chan struct{}),
	}
}

// leave ends a call of Acquire. An attempt that has nothing, and is not asked for, is forgotten.
func (s *Store) leave(r *driver.Request, a *attempt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.left = s.clock.Now()
	if a.calls--; a.calls == 0 && !a.ended && err != nil && driver.Answered(err) {
		delete(s.attempts, who{r.Attempt, r.Name})
	}
}

// begin lets one call at a time ask: the others wait, and find what it has found.
func (s *Store) begin(ctx context.Context, r *driver.Request, a *attempt) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	default:
	}
	if r.NoWait {
		return &driver.Held{}
	}
	if r.Waiting != nil {
		r.Waiting(s.progressOf(a.question.keys[0]))
	}
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-a.undone:
		return errUndone
	case <-s.life.Done():
		return s.closed()
	case <-ctx.Done():
		return errors.Join(s.knownOf(a.question.keys[0]), ctx.Err())
	}
}

// waits reports whether the attempt stands in line, or did a moment ago: a call that was cut off may come back. The store's mutex is held.
func (a *attempt) waits(now driver.Instant, ttl time.Duration) bool {
	return a.calls > 0 || a.waited && now.Sub(a.left) < ttl
}

// next begins a new try of the attempt; nil: it was released.
func (s *Store) next(a *attempt, ttl time.Duration, w *waits) *try {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.ended {
		return nil
	}
	if a.last != nil {
		a.before = append(a.before, a.last)
	}
	now := s.clock.Now()
	a.before = slices.DeleteFunc(a.before, func(t *try) bool { return !t.lingers(now) })
	t := s.newTry(a, ttl, s.tries.Add(1), w)
	t.quiet, t.splits, t.asked = w != nil, a.splits, now
	a.last = t
	return t
}

// undo ends the calls of an attempt: they send nothing more (R1). known: this client has asked for it.
func (s *Store) undo(r *driver.Request) (a *attempt, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := who{r.Attempt, r.Name}
	a = s.attempts[w]
	if known = a != nil; !known {
		a = s.newAttempt(r)
		s.attempts[w] = a
	}
	if !a.ended {
		a.ended = true
		close(a.undone)
		select {
		case a.woken <- struct{}{}: // of nil: never
		default:
		}
	}
	return a, known
}

// forget forgets a released attempt, now or, if the core may ask again, later.
func (s *Store) forget(r *driver.Request, later time.Duration) {
	w := who{r.Attempt, r.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempts[w]
	if later == 0 || a == nil {
		delete(s.attempts, w)
		return
	}
	if !a.fades {
		a.fades = true
		time.AfterFunc(later, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.attempts, w)
		})
	}
}
