package holdfast

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A simWorker locks and unlocks, in all the ways that a program might.
type simWorker struct {
	w      *world
	m      *simMachine
	name   string
	label  string // of the attempt that it is at: a new one each time
	turns  int
	random *rand.Rand
}

func (s *simWorker) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d) + 1))
}
func (s *simWorker) chance(n int) bool { return s.random.IntN(n) == 0 }

func (s *simWorker) lock() simKey { return s.w.locks[s.random.IntN(len(s.w.locks))] }

func (s *simWorker) client(k simKey) *simClient { return s.m.clients[k.server] }

// key is client for the way back.
func (s *simWorker) key(c *Client, name string, mode Mode) simKey {
	server := slices.IndexFunc(s.m.clients, func(own *simClient) bool { return own.Client == c })
	return simKey{server, name, mode == Permits}
}

// anew gives the next attempt a label of its own.
func (s *simWorker) anew() {
	s.turns++
	s.label = fmt.Sprintf("%s.%d", s.name, s.turns)
}

func (s *simWorker) run() {
	for !s.w.isHealed() && !s.m.isDead() {
		time.Sleep(s.upTo(s.w.ttl / 2))
		s.m.awake(s.name)
		s.turn()
	}
	if !s.m.isDead() {
		s.lastTurn()
	}
}

// turn is one of all the things that workers of this world do.
func (s *simWorker) turn() {
	turns := []func(){s.turnMutex}
	for _, t := range []struct {
		used bool
		turn []func()
	}{
		{s.w.uses.readers, []func(){s.turnReader, s.turnWriter}},
		{s.w.uses.permits, []func(){s.turnPermits}},
		{s.w.uses.multis, []func(){s.turnMulti, s.turnChain}},
		{s.w.uses.elections, []func(){s.turnLead}},
	} {
		if t.used {
			turns = append(turns, t.turn...)
		}
	}
	s.anew()
	turns[s.random.IntN(len(turns))]()
}

func (s *simWorker) turnMutex() {
	k := s.lock()
	s.take("holder", s.client(k).Mutex(k.name, s.options()...), context.Background(), s.nestMutex)
}

// take is one attempt at something, with what follows. ctx carries what is held already.
func (s *simWorker) take(as string, l Locker, ctx context.Context, nest func(context.Context, *Hold)) {
	hold, err := s.try(l, ctx)
	if err != nil {
		s.refused(err)
		s.forgotten()
		return
	}
	ctx = hold.Context(ctx)
	s.asAsked(l, hold)
	s.w.granted(s, as, hold, ctx)
	s.work(hold, ctx, nest)
}

// try locks for a while.
func (s *simWorker) try(l Locker, ctx context.Context) (*Hold, error) {
	wait, cancel := context.WithTimeout(ctx, s.upTo(4*s.w.ttl))
	defer cancel()
	if s.chance(4) {
		return l.TryLock(wait)
	}
	return l.Lock(wait)
}

func (s *simWorker) refused(err error) {
	s.w.log("%s: not granted: %v", s.label, err)
	s.w.tally(func(c *simCount) { c.refusals++ })
	if !explained(err) {
		s.w.violation("%s: an error that nobody can explain: %v", s.label, err)
	}
}

// forgotten checks that an attempt that has ended left nothing behind: not in its clients and, where nothing goes wrong, not in a
// server.
func (s *simWorker) forgotten() {
	s.held("gave up")
	if s.w.calm() && slices.Contains(s.w.labels(), owner()+" "+s.label) {
		s.w.violation("%s gave up, but still waits or holds", s.label)
	}
}

// held checks that no client still holds something for this attempt.
func (s *simWorker) held(after string) {
	for _, c := range s.m.clients {
		c.mu.Lock()
		for t := range c.tenures {
			if t.req.Label == owner()+" "+s.label {
				s.w.violation("%s %s, but its client still holds %s", s.label, after, t.req.Name)
			}
		}
		c.mu.Unlock()
	}
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
		if s.w.session == 0 {
			opts = append(opts, MinHold(1+s.upTo(ttl/2)))
		}
	}
	return opts
}

// work holds for a while, does things to the hold, and gives it back.
func (s *simWorker) work(hold *Hold, ctx context.Context, nest func(context.Context, *Hold)) {
	w := s.w
	for range s.random.IntN(4) {
		s.m.awake(s.name)
		short, cancel := context.WithTimeout(w.ctx, s.upTo(w.ttl))
		switch s.random.IntN(5) {
		case 0:
			nest(ctx, hold)
		case 1:
			err := hold.Extend(short, 1+s.upTo(2*w.ttl))
			w.log("%s: extend: %v", s.label, err)
		case 2:
			err := hold.Check(short)
			w.log("%s: check: %v", s.label, err)
		default:
			s.rest(ctx, s.upTo(w.ttl))
		}
		cancel()
	}
	s.release(hold, ctx)
	s.held("has unlocked")
}

// rest waits for d, or until ctx ends.
func (s *simWorker) rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		s.w.log("%s: context ended: %v", s.label, context.Cause(ctx))
	}
}

func (s *simWorker) release(hold *Hold, ctx context.Context) {
	s.m.awake(s.name)
	s.w.releasing(hold)
	err := hold.Unlock()
	s.w.log("%s: unlock %v: %v", s.label, hold, err)
	if errors.Is(err, ErrLost) {
		s.w.tally(func(c *simCount) { c.losses++ })
		if ctx.Err() == nil {
			s.w.violation("%s: %v was lost, but its context lives", s.label, hold)
		}
	}
}

// nestMutex re-enters the lock, or, once the hold is lost, must not.
func (s *simWorker) nestMutex(ctx context.Context, hold *Hold) {
	s.reenter(ctx, hold, &Mutex{s.again(hold, Exclusive)})
}

// again is the lock of hold, to be taken once more.
func (s *simWorker) again(hold *Hold, mode Mode) target {
	return hold.t.c.target(hold.Name(), mode, []Option{TTL(s.w.ttl), Label(s.label)})
}

// reenter takes a lock that hold, which ctx belongs to, must let in at once, for as long as it is good.
func (s *simWorker) reenter(ctx context.Context, hold *Hold, l Locker) {
	wait, cancel := context.WithTimeout(ctx, 1+s.upTo(s.w.ttl))
	defer cancel()
	inner, err := l.Lock(wait)
	switch {
	case err != nil && hold.Err() == nil && ctx.Err() == nil:
		s.w.violation("%s: %v is good, but re-entering it had to wait: %v", s.label, hold, err)
		return
	case err != nil && !explained(err):
		s.w.violation("%s: nested: an error that nobody can explain: %v", s.label, err)
		return
	case err != nil:
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
	if w.session > 0 {
		time.Sleep(2 * w.ttl) // until no session has a renewal on its way that the network lost before it healed
	}
	for _, k := range w.locks {
		s.served("holder", s.client(k).Mutex(k.name, s.plain()...))
	}
	if w.uses.readers {
		k := s.lock()
		s.served("reader", s.client(k).RWMutex(k.name, s.plain()...).Reader())
	}
	if w.uses.permits {
		k := s.lock()
		s.served("permit holder", s.client(k).Semaphore(k.name, w.limit, s.plain()...).Permits(1+s.random.IntN(w.limit)))
	}
	if w.uses.multis {
		s.served("holder of all", s.all())
	}
}

func (s *simWorker) plain() []Option {
	s.anew()
	return []Option{TTL(s.w.ttl), Label(s.label)}
}

// served takes something that must be had, and gives it back.
func (s *simWorker) served(as string, l Locker) {
	w := s.w
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second+40*w.ttl)
	hold, err := l.Lock(ctx)
	cancel()
	if err != nil {
		w.violation("%s was not served as a %s after everything healed: %v", s.label, as, err)
		return
	}
	w.granted(s, as, hold, hold.Context(context.Background()))
	time.Sleep(s.upTo(w.ttl / 10))
	w.releasing(hold)
	if err := hold.Unlock(); err != nil {
		w.violation("%s: unlock after everything healed: %v", s.label, err)
	}
}
