package redislock

import (
	"context"
	"time"

	"holdfast.dev/driver"
)

const (
	holdBack  = 10 * time.Millisecond  // how long somebody waits for others to come, or for a relay to end, before it asks, at most
	leastBack = 100 * time.Microsecond // less is not worth waiting for
	rideFor   = 500 * time.Millisecond // how long somebody waits without a place of its own in the server's queue
	mostRide  = 63                     // on one request
)

// ride holds back before it asks for a place in the queue, or shares the place of one that does so. It returns errLook when it is time to
// ask.
func (w *wait) ride(ctx context.Context) (*driver.Grant, error) {
	st := w.s.guard.State()
	if st == nil || !w.passes() || w.r.NoWait {
		return nil, errLook
	}
	w.at(st)
	patience := w.mount()
	if patience == 0 {
		return nil, errLook
	}
	grant, err := w.await(ctx, patience)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.depart(w.p)
	return grant, err
}

// passes reports whether what is asked for can be passed on from another, or to another.
func (w *wait) passes() bool {
	return w.r.Mode == driver.Exclusive && w.r.Keep == 0 && w.r.Reserve == 0
}

// mount makes the waiter the one that will ask for others, or one of those; it returns how long it waits before it asks. 0: there is no
// reason to wait.
func (w *wait) mount() time.Duration {
	s, p := w.s, w.p
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[p.turn.key]
	if l == nil || len(p.turn.parties) > 1 || p.turn.released || p.turn.known || p.turn.doubt > 0 {
		return 0 // whoever was known before may have a place already
	}
	if first := l.pending; first != nil {
		if len(first.riders) >= mostRide || first.turn.ttl != w.ttl {
			return 0
		}
		first.riders, p.with = append(first.riders, p), first
		s.number(p)
		w.packed = w.packs(s.channel)
		return s.ridesFor
	}
	patience := s.holdsBack(l.waited)
	if s.relays[p.turn.key] == nil && l.queued == 0 && !l.others || patience < leastBack {
		return 0
	}
	l.pending, p.turn.ttl = p, w.ttl
	return patience
}

// holdsBack is for how long a newcomer holds back where the last one has waited for so long.
func holdsBack(waited time.Duration) time.Duration { return min(holdBack, waited/8) }

// A line is what this client knows of a lock for which some of its own wait.
//
// A newcomer to a line holds back for a moment, before it asks for a place in the server's queue: for an eighth of what the last one has
// waited, holdBack at most. It is pending then; those that come meanwhile ride with it: they ask for nothing, and share the place that it
// gets, as if all had asked in one request. So many waiters become few requests, few places, and long relays. What it costs the pending
// one is a place that is a little further behind, never anybody's turn: who has not asked yet has no place that could be overtaken.
//
// Nobody holds back while the lock might be free: only as long as a relay of this client has it, or somebody of the client, or of others,
// stands in the server's queue, as far as is known. hurry ends it when that changes. A rider asks for a place of its own after rideFor, so that
// it is seen; and at once when the one it rides with has left without passing the lock on.
//
// Guarded by the store's mutex.
type line struct {
	waiting int           // how many; the line ends with the last
	queued  int           // of these, how many have a place in the server's queue
	others  bool          // others have one, too, as far as is known
	waited  time.Duration // how long the last one did who was served
	pending *party        // who will ask soon
}

// enter counts p among those who wait for a lock; queued: and have a place in the server's queue. The mutex is held.
func (s *Store) enter(p *party, queued bool) {
	if p.line == nil {
		if p.line = s.lines[p.turn.key]; p.line == nil {
			p.line = new(line)
			s.lines[p.turn.key] = p.line
		}
		p.line.waiting++
		p.began = time.Now()
	}
	if queued && !p.queued {
		p.queued = true
		p.line.queued++
	}
}

// quit ends that. The mutex is held.
func (s *Store) quit(p *party, served bool) {
	if p.line == nil {
		return
	}
	if served {
		p.line.waited = time.Since(p.began)
	}
	s.depart(p)
	if p.queued {
		p.queued = false
		if p.line.queued--; p.line.queued == 0 && s.relays[p.turn.key] == nil {
			p.line.hurry()
		}
	}
	if p.line.waiting--; p.line.waiting == 0 {
		delete(s.lines, p.turn.key)
	}
	p.line = nil
}

// hurry makes whoever is to ask soon do it now, if the lock may be free before somebody asks for it.
func (l *line) hurry() {
	if p := l.pending; p != nil && !l.others {
		l.pending = nil
		p.lookNow()
	}
}

// depart ends the time in which others can share p's place, if it is the one that asks for them. The mutex is held.
func (s *Store) depart(p *party) {
	if p.line != nil && p.line.pending == p {
		p.line.pending = nil
	}
}

// dismount makes those that ride with p ask: it has no place that they could share, or has given it up. The mutex is held.
func (p *party) dismount() {
	for _, rider := range p.riders {
		rider.lookNow()
	}
	p.riders = nil
}
