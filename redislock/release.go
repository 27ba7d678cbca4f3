package redislock

import (
	"context"
	"time"

	"holdfast.dev/driver"
)

// Release makes sure that r's attempt neither waits nor holds; see driver.Store.
func (s *Store) Release(ctx context.Context, r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	t, doubt := s.undo(r)
	st, err := s.opened(ctx)
	if err != nil {
		s.forgetLater(t, r.TTL)
		return err
	}
	answer, err := s.callAt(ctx, st, fnRelease, t.key, t.secret, flag(r.Keep > 0)+flag(doubt)+micros(st.ttl(r.TTL)))
	if err != nil {
		s.forgetLater(t, r.TTL)
		return err
	}
	s.mu.Lock()
	s.remove(t)
	s.mu.Unlock()
	switch answer.says {
	case saysGranted:
		return nil
	case saysGone:
		return driver.ErrGone
	}
	return s.strange(ctx, fnRelease)
}

// forgetLater forgets a turn whose Release had no answer, when nobody will ask for it any more: the server has then let go by itself.
func (s *Store) forgetLater(t *turn, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.forgotten || s.turns[t.who] != t {
		return
	}
	t.forgotten = true
	time.AfterFunc(2*ttl+time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(t)
	})
}

// undo ends the calls of Acquire for an attempt: they send nothing more (R1). It reports whether a request of theirs may still be on its
// way: it must then find a tombstone (R2).
func (s *Store) undo(r *driver.Request) (t *turn, doubt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.turns[whoOf(r)]; t == nil {
		return s.newTurn(r), false
	}
	t.released = true
	for _, p := range t.parties {
		p.rouse()
	}
	if t.holder != nil {
		t.holder.settle()
	}
	return t, t.doubt > 0
}
