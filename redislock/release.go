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
	if err := s.guard.Usable(ctx); err != nil {
		return err
	}
	t, doubt, before, err := s.undo(r)
	if t == nil {
		return err
	}
	st, err := s.guard.Opened(ctx)
	if err != nil {
		s.forgetLater(t, r.TTL)
		return err
	}
	ttl := s.micros(st.TTL(r.TTL))
	how := "00" // the common case: no minimum hold, no doubt
	if r.Keep > 0 || doubt {
		how = flag(r.Keep > 0) + flag(doubt)
	}
	args := append(make([]string, 0, 4), t.secret, how, ttl)
	if before != "" {
		args = append(args, before)
	}
	answer, err := s.callAt(ctx, st, fnRelease, t.key, args...)
	if err != nil {
		s.forgetLater(t, r.TTL)
		return err
	}
	s.mu.Lock()
	s.remove(t)
	s.mu.Unlock()
	switch answer.Says {
	case saysGranted:
		return nil
	case saysGone:
		return driver.ErrGone
	}
	return s.guard.Strange(ctx, fnRelease)
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
// way: it must then find a tombstone (R2); and who had the lock before it, if it was passed on. No turn: it has passed the lock on, and
// that is all; or the server has never heard of it.
func (s *Store) undo(r *driver.Request) (t *turn, doubt bool, before string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.turns[whoOf(r)]; t == nil {
		return s.newTurn(r), false, "", nil
	}
	switch {
	case t.isOver():
		return nil, false, "", driver.ErrGone // it has passed the lock on, and the server does not know yet
	case !t.released && s.passOn(t):
		return nil, false, "", nil
	case !t.known && t.relay == nil: // it shared another's place
		t.released = true
		for _, p := range t.parties {
			p.rouse()
		}
		s.remove(t)
		return nil, false, "", nil
	}
	t.released = true
	s.ends(t)
	for _, p := range t.parties {
		p.rouse()
	}
	if t.holder != nil {
		t.holder.settle()
	}
	return t, t.doubt > 0, t.before(), nil
}
