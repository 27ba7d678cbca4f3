package redislock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// A lease is one attempt's: equal for equal attempts, until it is released.
type lease struct{ t *turn }

// Renew asks for ttl from now on; see driver.Lease.
func (l lease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	if err := l.t.s.guard.Usable(ctx); err != nil {
		return 0, err
	}
	return l.t.s.renew(ctx, l.t, ttl, true)
}

// Format hides the attempt's id, whatever the verb.
func (l lease) Format(f fmt.State, _ rune) { io.WriteString(f, "lease of "+l.t.s.String()) }

// renew renews a hold, or with ttl 0 asks how long it has. believes: it is valid now, as far as its holder knows. Whoever does not believe
// claims what it may have: a server in a new reign refuses that, because it cannot know whether that has run out since.
func (s *Store) renew(ctx context.Context, t *turn, ttl time.Duration, believes bool) (time.Duration, error) {
	st, err := s.guard.Opened(ctx)
	if err != nil {
		return 0, err
	}
	if ttl > 0 {
		ttl = st.TTL(ttl)
	}
	more, ok := s.noting(t)
	if !ok {
		return 0, driver.ErrGone
	}
	asked := s.clock.Now()
	text := s.micros(ttl)
	if !believes {
		text = "-" + text
	}
	args := append(append(make([]string, 0, 6), t.secret, text), more...)
	answer, err := s.callAt(ctx, st, fnRenew, t.key, args...)
	if err != nil {
		return 0, unrenewed(err)
	}
	switch answer.Says {
	case saysGranted:
		if ttl > 0 {
			s.claimed(t, len(more) > 0, believes, asked, answer.Span(2))
		}
		return answer.Span(2), nil
	case saysGone:
		s.vanished(t)
		return 0, driver.ErrGone
	case guard.SaysGuarded:
		return 0, fmt.Errorf("not renewed: the server has restarted or taken over since it was granted, and does not renew it yet; it grants nothing for another %v", answer.Span(0))
	case saysBroken:
		s.stop(t, answer.Number(1) == 1)
		broken := &driver.Broken{By: answer.Text(0), Now: answer.Number(1) == 1}
		if answer.Number(2) == 1 && !broken.Now {
			return 0, errors.Join(broken, driver.ErrGone)
		}
		return 0, broken
	}
	return 0, s.guard.Strange(ctx, fnRenew)
}

// unrenewed keeps a refusal from being taken for the end of the hold: it says only that this renewal failed (L3).
func unrenewed(err error) error {
	if errors.Is(err, driver.ErrGone) {
		return fmt.Errorf("not renewed: %v", err)
	}
	return err
}

// stop keeps t's lock from being passed on: it was broken, at once or not.
func (s *Store) stop(t *turn, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := t.current(); p != nil {
		p.stop(now)
	}
}

// vanished: the server knows nothing of t's hold. Nobody needs to release it.
func (s *Store) vanished(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.isOver() {
		return // somebody else's now
	}
	s.dissolve(t)
	if len(t.parties) == 0 && t.doubt == 0 {
		s.remove(t)
	}
}

// claimed: t's hold was renewed, and has left from asked on; with told, the server was told that it was passed on to it.
func (s *Store) claimed(t *turn, told, believed bool, asked driver.Instant, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.holder != nil {
		t.holder.settle()
	}
	s.noted(t, told, believed, asked, left)
}
