package redislock

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// A relay is a row of waiters of this client to whom the lock goes one after the other. The server grants it to the first of them, and keeps
// tokens for the others; the client passes it on from one to the next, without asking. What many goroutines of one process want then
// costs a message where it would have cost one for each of them.
//
// Who is in the row, in this order, which is the one in which they came:
//
//   - riders. As long as a relay has the lock, others of this client that want it ask for nothing, because nothing can come of it; for
//     holdBack at most. The first of them asks when the relay ends, or then; those that have come meanwhile share its place in the queue, as
//     if they had asked with it. One that has waited for rideFor asks for a place of its own.
//   - those who stand right behind the first in the server's queue, which names them; and their riders.
//
// What the server knows: it takes the first for the holder, and lets those it knows wait, until it is told how far the relay has come. It is
// told by whoever ends the relay, because there is nobody left to pass the lock on to, or too little time (release); and by everybody who holds
// for longer than noteAfter (renew), who becomes the first of what is left of it. So what others see is old by that much at most
// for each that was passed by; and nothing is, where this client itself inspects or breaks.
//
// The lock is the relay's for as long as it was granted to the first, or renewed since: nobody believes in it for longer. Only those get
// it who want it for the same time, are waiting at that moment, have no request under way, and no other call for the same attempt. The
// others are passed by: they keep their places, or ask for one. A member that gives up takes itself out of the server's queue, as everybody
// does.
//
// Races: a renewal that tells the server meets the Release of its hold. From the moment at which the renewal begins the relay stands, until
// its answer has come: the Release goes to the server, and names all whose part is over. Whichever comes first, the other finds nothing to
// do. A break of somebody whose part is over, but of whom the server does not know that, ends nothing: the server gives the lock to the
// next of the row that it knows, whose part is over, too, or has it; the relay names it at its end. Guarded by the store's mutex.
type relay struct {
	token  uint64         // of whoever has the lock; the next one's is one more
	spare  uint64         // how many more there are
	asked  driver.Instant // the lock is the relay's for ttl from then on
	ttl    time.Duration
	row    []*party // those who come next
	has    *turn    // whose turn it is
	id     uint64   // by which the server knows the holder
	ended  []string // attempts whose part is over, and the server does not know that; the first is the one that it takes for the holder
	stands bool     // it is not passed on: the server is being told, or the lock was lost
}

const (
	noteAfter = 5 * time.Millisecond   // how long somebody to whom the lock was passed on has it before the server is told
	holdBack  = 10 * time.Millisecond  // how long somebody waits for others to come, or for a relay to end, before it asks, at most
	leastBack = 100 * time.Microsecond // less is not worth waiting for
	rideFor   = 500 * time.Millisecond // how long somebody waits without a place of its own in the server's queue
	mostRide  = 63                     // on one request
)

// begin makes t, which was granted the lock, the first of the relay.
func (s *Store) begin(r *relay, t *turn, p *push, asked driver.Instant, ttl time.Duration) {
	r.token, r.asked, r.ttl, r.has = p.token, asked, ttl, t
	t.relay = r
	s.know(r, t)
	if l := s.lines[t.key]; l != nil {
		l.running = r
	}
}

// know notes by which id the server knows the holder of a relay: t's. The mutex is held.
func (s *Store) know(r *relay, t *turn) {
	delete(s.relays, r.id)
	if p := t.holder; p != nil {
		r.id = p.id
	} else if len(t.parties) > 0 {
		r.id = t.parties[0].id
	}
	s.relays[r.id] = r
}

// stop keeps t's lock from being passed on any more: it was told that it has lost it, or must let go. The mutex is held.
func (t *turn) stop() {
	if t.relay != nil {
		t.relay.stands = true
	}
}

// join puts p at the end of the row, and those that ride with it.
func (r *relay) join(p *party, itself bool) {
	if itself {
		r.row = append(r.row, p)
	}
	r.row = append(r.row, p.riders...)
	p.riders = nil
}

// left is for how long the lock is still the relay's.
func (r *relay) left(now driver.Instant) time.Duration { return r.asked.Add(r.ttl).Sub(now) }

// isShort reports that so little is left of a grant for ttl that it is not worth beginning without asking.
func isShort(left, ttl time.Duration) bool { return left < ttl/10+2*driver.Margin(ttl) }

// passOn gives t's lock to the next of its relay, if there is one: t, whose Release was called, has ended then. The mutex is held.
func (s *Store) passOn(t *turn) bool {
	r := t.relay
	if r == nil || r.has != t || r.stands || len(t.parties) > 0 || t.doubt > 0 || r.spare == 0 || len(r.row) == 0 ||
		isShort(r.left(s.clock.Now()), r.ttl) {
		return false
	}
	for len(r.row) > 0 {
		p := r.row[0]
		r.row = r.row[1:]
		if !p.sits || p.turn.released || p.turn.doubt > 0 || len(p.turn.parties) > 1 || p.pushed != nil {
			continue
		}
		if t.known || len(r.ended) == 0 {
			r.ended = append(r.ended, t.secret)
		}
		r.has, p.turn.relay = p.turn, r
		r.token, r.spare = r.token+1, r.spare-1
		s.passed[p.turn] = struct{}{}
		p.pushed = &push{token: r.token}
		p.rouse()
		if l := s.lines[t.key]; l != nil && l.running == r && len(r.row) == 0 {
			l.hurry() // so that the lock is not free between this relay and the next
		}
		s.remove(t)
		return true
	}
	return false
}

// before returns what the server must be told before anything is said of t's hold: who had it before; "" if it knows. The mutex is held.
func (t *turn) before() string {
	if t.relay == nil {
		return ""
	}
	return strings.Join(t.relay.ended, "")
}

// noting begins a renewal of a hold: it returns what the server must be told with it. If that is anything, the relay stands until the hold
// was renewed.
func (s *Store) noting(w who) (t *turn, more []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.turns[w]
	if t == nil || t.before() == "" {
		return t, nil
	}
	t.relay.stands = true
	return t, []string{t.before(), strconv.FormatUint(t.relay.token, 10), t.packed, flag(t.known)}
}

// noted: t's hold was renewed; see claimed. The mutex is held.
func (s *Store) noted(t *turn, told bool, asked driver.Instant, left time.Duration) {
	r := t.relay
	if r == nil || r.has != t {
		return
	}
	if r.asked, r.ttl = asked, left; told {
		r.ended, r.stands, t.known = nil, false, true
		delete(s.passed, t)
		s.know(r, t)
	}
}

// surface tells the server of all holds that were passed on, so that what it shows is so.
func (s *Store) surface(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.passed))
	s.mu.Unlock()
	for _, t := range all {
		_, _ = s.renew(ctx, t.who, t.ttl) // if it fails what follows will, too
	}
}

// ride waits, as long as a relay of this client's has the lock, before it asks for a place in the queue, or shares the place of one that
// does. It returns errLook when it is time to ask.
func (w *wait) ride(ctx context.Context) (*driver.Grant, error) {
	st := w.s.state.Load()
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
	if l == nil || len(p.turn.parties) > 1 || p.turn.released {
		return 0
	}
	if first := l.pending; first != nil {
		if len(first.riders) >= mostRide || first.turn.ttl != w.ttl {
			return 0
		}
		first.riders, p.with = append(first.riders, p), first
		s.number(p)
		w.packed = string(w.pack(s.channel))
		return rideFor
	}
	patience := min(holdBack, l.waited/8)
	if l.running == nil && l.queued == 0 && !l.others || patience < leastBack {
		return 0
	}
	l.pending, p.turn.ttl = p, w.ttl
	return patience
}

// A line is what this client knows of a lock for which several of its own wait. Guarded by the store's mutex.
type line struct {
	waiting int           // how many; the line ends with the last
	queued  int           // of these, how many have a place in the server's queue
	others  bool          // others have one, too, as far as is known
	waited  time.Duration // how long the last one did who was served
	running *relay        // that has the lock
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
		if p.line.queued--; p.line.queued == 0 && p.line.running == nil {
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
		p.look = true
		p.rouse()
	}
}

// depart ends the time in which others can share p's place, if it is the one that asks for them. The mutex is held.
func (s *Store) depart(p *party) {
	if p.line != nil && p.line.pending == p {
		p.line.pending = nil
	}
}

// ends ends the relay that t has: it is time for others to ask. The mutex is held.
func (s *Store) ends(t *turn) {
	if t.relay == nil || t.relay.has != t {
		return
	}
	delete(s.relays, t.relay.id)
	l := s.lines[t.key]
	if l == nil || l.running != t.relay {
		return
	}
	l.running = nil
	for _, p := range t.relay.row {
		if !p.turn.known { // and it has no place to keep
			p.look = true
			p.rouse()
		}
	}
	l.hurry()
}

// dismount makes those that ride with p ask: it has no place that they could share, or has given it up. The mutex is held.
func (p *party) dismount() {
	for _, rider := range p.riders {
		rider.look = true
		rider.rouse()
	}
	p.riders = nil
}
