package holdfast

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A simWorker locks and unlocks, in all the ways that a program might.
type simWorker struct {
	w      *world
	c      *simClient
	label  string
	random *rand.Rand
}

func (s *simWorker) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d) + 1))
}
func (s *simWorker) chance(n int) bool { return s.random.IntN(n) == 0 }

func (s *simWorker) run() {
	for !s.w.isHealed() && !s.c.net.isDead() {
		time.Sleep(s.upTo(s.w.ttl / 2))
		s.c.net.awake()
		s.turn()
	}
	if !s.c.net.isDead() {
		s.lastTurn()
	}
}

// turn is one attempt, with what follows.
func (s *simWorker) turn() {
	w := s.w
	m := s.c.Mutex(w.locks[s.random.IntN(len(w.locks))], s.options()...)
	ctx, cancel := context.WithTimeout(w.ctx, s.upTo(4*w.ttl))
	defer cancel()
	lock := m.Lock
	if s.chance(4) {
		lock = m.TryLock
	}
	hold, err := lock(ctx)
	if err != nil {
		w.log("%s: not granted %s: %v", s.label, m.Name(), err)
		w.mu.Lock()
		w.count.refusals++
		w.mu.Unlock()
		if !explained(err) {
			w.violation("%s: an error that nobody can explain: %v", s.label, err)
		}
		w.forgotten(s.label)
		return
	}
	s.work(hold, w.granted(s.c, s.label, hold))
}

func (s *simWorker) options() []Option {
	ttl := s.w.ttl
	opts := []Option{TTL(ttl), Label(s.label)}
	if s.chance(3) {
		opts = append(opts, Grace(s.upTo(ttl/3)))
	}
	switch s.random.IntN(6) {
	case 0:
		opts = append(opts, Fixed())
	case 1:
		opts = append(opts, MaxHold(ttl/3+1+s.upTo(ttl)))
	case 2:
		opts = append(opts, MinHold(1+s.upTo(ttl/2)))
	}
	return opts
}

// work holds for a while, does things to the hold, and gives it back.
func (s *simWorker) work(hold *Hold, ctx context.Context) {
	w := s.w
	for range s.random.IntN(4) {
		s.c.net.awake()
		short, cancel := context.WithTimeout(w.ctx, s.upTo(w.ttl))
		switch s.random.IntN(5) {
		case 0:
			s.nested(ctx, hold)
		case 1:
			err := hold.Extend(short, 1+s.upTo(2*w.ttl))
			w.log("%s: extend token %d: %v", s.label, hold.Token(), err)
		case 2:
			err := hold.Check(short)
			w.log("%s: check token %d: %v", s.label, hold.Token(), err)
		default:
			select {
			case <-time.After(s.upTo(w.ttl)):
			case <-ctx.Done():
				w.log("%s: token %d: context ended: %v", s.label, hold.Token(), context.Cause(ctx))
			}
		}
		cancel()
	}
	s.c.net.awake()
	w.releasing(hold)
	err := hold.Unlock()
	w.log("%s: unlock token %d: %v", s.label, hold.Token(), err)
	if errors.Is(err, ErrLost) {
		w.mu.Lock()
		w.count.losses++
		w.mu.Unlock()
		if ctx.Err() == nil {
			w.violation("%s: token %d was lost, but its context lives", s.label, hold.Token())
		}
	}
}

// nested re-enters the lock, or, once the hold is lost, must not.
func (s *simWorker) nested(ctx context.Context, hold *Hold) {
	wait, cancel := context.WithTimeout(ctx, s.upTo(s.w.ttl))
	defer cancel()
	inner, err := s.c.Mutex(hold.Name(), TTL(s.w.ttl), Label(s.label)).Lock(wait)
	if err != nil {
		if !explained(err) {
			s.w.violation("%s: nested: an error that nobody can explain: %v", s.label, err)
		}
		return
	}
	if inner.Token() != hold.Token() {
		s.w.violation("%s: re-entered with token %d what has token %d", s.label, inner.Token(), hold.Token())
	}
	time.Sleep(s.upTo(s.w.ttl / 4))
	inner.Unlock()
}

// lastTurn is after everything has healed: everybody must be served.
func (s *simWorker) lastTurn() {
	w := s.w
	for _, name := range w.locks {
		ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second+40*w.ttl)
		hold, err := s.c.Mutex(name, TTL(w.ttl), Label(s.label)).Lock(ctx)
		cancel()
		if err != nil {
			w.violation("%s was not served after everything healed: %v", s.label, err)
			continue
		}
		w.granted(s.c, s.label, hold)
		time.Sleep(s.upTo(w.ttl / 10))
		w.releasing(hold)
		if err := hold.Unlock(); err != nil {
			w.violation("%s: unlock after everything healed: %v", s.label, err)
		}
	}
}
