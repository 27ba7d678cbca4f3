package redislock

import (
	"context"
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
//   - riders, who share the first one's place in the server's queue: see line.go.
//   - those who stand right behind it there, as the server says; each with its own riders.
//
// What the server knows: it takes the first for the holder, and lets those it knows wait, until it is told how far the relay has come. It is
// told by whoever ends the relay, because there is nobody left to pass the lock on to, or too little time (release); and by everybody who holds
// for longer than noteAfter, or after noteBy of all together (renew), who becomes the first of what is left of it. What others see is old
// by that much at most; before this client itself inspects or breaks anything the server is told.
//
// The lock is the relay's for as long as it was granted to the first, or renewed since: nobody believes in it for longer. Only those get
// it who want it for the same time. At a member who cannot be given it just now, because it has a request under way, or is called twice, the
// relay ends: nobody is passed by. One that gives up takes itself out of the server's queue, as everybody does.
//
// Races:
//
//   - a renewal that tells the server meets the Release of its hold, and the lock is passed on while the renewal is on its way. Whatever
//     the relay tells next names whoever was told of, too: whichever comes first, the other finds the holder, or nothing to do.
//   - a break meets a pass. Whoever is told of a break, or that its time is over, passes nothing on. If the one that was broken has passed the lock
//     on, and the server has freed it, whoever has it now is told that it is gone. So a break by a token whose hold was over for less
//     than noteBy can end the hold of the next in the row; it is never without effect on what it frees, nor unnoticed.
//   - a member asks again just when its turn comes. It is not passed by: the relay ends, and the server serves it.
//   - a second Release, or a renewal, of one whose part is over: it is known to be over, until the server knows it, too.
//
// Guarded by the store's mutex.
type relay struct {
	token uint64         // of whoever has the lock; the next one's is one more
	spare uint64         // how many more there are
	asked driver.Instant // the lock is the relay's for ttl from then on
	ttl   time.Duration
	row   []*party  // those who come next
	has   *turn     // whose turn it is; nil: it has not begun
	over  []*turn   // whose part is over since the server was told last
	ids   []uint64  // of those whose part is over, by one of which the server knows the holder; unless it was told
	ended []string  // attempts whose part is over, and the server does not know that; the first is the one that it takes for the holder
	lost  bool      // the server has taken the lock back, or wants it back: nothing is passed on any more
	told  time.Time // when the server was told last
}

const (
	noteAfter = 5 * time.Millisecond  // how long somebody to whom the lock was passed on has it before the server is told
	noteBy    = 20 * time.Millisecond // how long the lock is passed on at most before the server is told
)

// begin makes t, which was granted the lock, the first of the relay. The mutex is held.
func (s *Store) begin(r *relay, t *turn, token uint64, asked driver.Instant, ttl time.Duration) {
	r.token, r.asked, r.ttl, r.has, r.told = token, asked, ttl, t, time.Now()
	t.relay = r
	if now := s.relays[t.key]; !r.lost && (now == nil || now.token < token) {
		s.relays[t.key] = r
	}
}

// current is the call of Acquire that has the lock, or is about to be told so. The mutex is held.
func (t *turn) current() *party {
	if t.holder == nil && len(t.parties) > 0 {
		return t.parties[0]
	}
	return t.holder
}

// supersede ends the relay that has t's lock, if t is not in it: t was granted the lock, under that token, so that the server has taken it
// back. It returns who has lost it, and must be told; or nil. The mutex is held.
func (s *Store) supersede(t *turn, token uint64) *party {
	r := s.relays[t.key]
	if r == nil || r.has == t || r == t.relay || token < r.token {
		return nil // or t's own grant is the older one
	}
	r.lose()
	delete(s.relays, t.key)
	return r.has.current()
}

// stop keeps what p has, or was granted, from being passed on: it was told that it must let go, or, with gone, that it has lost it. The mutex is
// held.
func (p *party) stop(gone bool) {
	for _, r := range [...]*relay{p.turn.relay, p.pushed.row(), p.older.row()} {
		switch {
		case r != nil && gone:
			r.lose()
		case r != nil:
			r.lost = true
		}
	}
}

// lose: the lock is somebody else's, or free. The mutex is held.
func (r *relay) lose() {
	r.lost = true
	r.scatter()
}

// row is the relay that a push begins, or nil.
func (p *push) row() *relay {
	if p == nil {
		return nil
	}
	return p.relay
}

// join puts p at the end of the row, and those that ride with it; unless there are not enough tokens for all of them: they stay together.
func (r *relay) join(p *party, itself bool) bool {
	row := r.row
	if itself {
		row = append(row, p)
	}
	if row = append(row, p.riders...); uint64(len(row)) > r.spare {
		return false
	}
	r.row, p.riders = row, nil
	return true
}

// scatter makes those of the row ask who have no place of their own: nothing will be passed on to them. The mutex is held.
func (r *relay) scatter() {
	for _, p := range r.row {
		if !p.turn.known {
			p.lookNow()
		}
	}
	r.row = nil
}

// left is for how long the lock is still the relay's.
func (r *relay) left(now driver.Instant) time.Duration { return r.asked.Add(r.ttl).Sub(now) }

// patience is how long whoever has the lock now can have it before the server is told.
func (r *relay) patience() time.Duration { return max(0, min(noteAfter, noteBy-time.Since(r.told))) }

// isShort reports that so little is left of a grant for ttl that it is not worth beginning without asking.
func isShort(left, ttl time.Duration) bool { return left < ttl/10+2*driver.Margin(ttl) }

// passOn gives t's lock to the next of its relay, if there is one: t, whose Release was called, is over then. The mutex is held.
func (s *Store) passOn(t *turn) bool {
	r := t.relay
	if r == nil || r.has != t || r.lost || r.spare == 0 || len(t.parties) > 0 || t.doubt > 0 || t.holder == nil || !s.inbox.IsUp() {
		return false
	}
	p := r.next()
	if p == nil || isShort(r.left(s.clock.Now()), r.ttl) {
		return false
	}
	if t.known || t.told || len(r.ended) == 0 {
		r.ended = append(r.ended, t.secret)
	}
	r.row, r.over = r.row[1:], append(r.over, t)
	r.has, p.turn.relay = p.turn, r
	r.token, r.spare = r.token+1, r.spare-1
	p.pushed = &push{token: r.token}
	p.rouse()
	if l := s.lines[t.key]; l != nil && len(r.row) == 0 {
		l.hurry() // so that the lock is not free between this relay and the next
	}
	r.ids = append(r.ids, t.holder.id)
	s.drop(t.holder)
	t.released, t.holder, t.relay = true, nil, nil
	return true
}

// next is the first of the row who is still there; nil if there is nobody, or if it cannot be given anything just now.
func (r *relay) next() *party {
	for ; len(r.row) > 0; r.row = r.row[1:] {
		switch p := r.row[0]; {
		case p.turn.released, p.served():
		case !p.sits, p.turn.doubt > 0, len(p.turn.parties) > 1, p.turn.packed == "":
			return nil
		default:
			return p
		}
	}
	return nil
}

// served reports whether p's Acquire has ended, or is about to. The mutex is held.
func (p *party) served() bool { return p.pushed != nil || !slices.Contains(p.turn.parties, p) }

// before returns what the server must be told before anything is said of t's hold: who had it before; "" if it knows. The mutex is held.
func (t *turn) before() string {
	if t.relay == nil {
		return ""
	}
	return strings.Join(t.relay.ended, "")
}

// noting begins a renewal of a hold: it returns what the server must be told with it. It reports false if the hold is over, and the server
// may not know it yet.
func (s *Store) noting(t *turn) (more []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case t.isOver():
		return nil, false
	case t.before() == "":
		return nil, true
	}
	t.told = true
	return []string{t.before(), strconv.FormatUint(t.relay.token, 10), t.packed, flag(t.known)}, true
}

// isOver reports whether t has passed the lock on. The mutex is held.
func (t *turn) isOver() bool {
	return t.released && t.relay == nil && t.holder == nil && len(t.parties) == 0 && t.granted
}

// noted: t's hold was renewed; see claimed. The answer to a renewal that was believed in, and comes when it is no more, is too late: what
// has ended does not begin again. The mutex is held.
func (s *Store) noted(t *turn, told, believed bool, asked driver.Instant, left time.Duration) {
	r := t.relay
	if r == nil || r.has != t {
		return
	}
	if !believed || s.clock.Now().Before(r.asked.Add(r.ttl)) {
		r.asked, r.ttl = asked, left
	}
	if told {
		r.ended, r.told, t.known = nil, time.Now(), true
		r.ids = nil
		s.bury(r)
	}
}

// bury forgets those whose part is over. The mutex is held.
func (s *Store) bury(r *relay) {
	for _, t := range r.over {
		if s.turns[t.who] == t {
			delete(s.turns, t.who)
		}
	}
	r.over = nil
}

// dissolve ends the relay that t has, once the server knows of nobody in it. The mutex is held.
func (s *Store) dissolve(t *turn) {
	s.ends(t)
	if r := t.relay; r != nil && r.has == t {
		s.bury(r)
	}
	t.relay = nil
}

// ends ends the relay that t has: whoever is left of it asks, and those who waited for its end. The mutex is held.
func (s *Store) ends(t *turn) {
	r := t.relay
	if r == nil || r.has != t {
		return
	}
	r.scatter()
	if s.relays[t.key] == r {
		delete(s.relays, t.key)
		if l := s.lines[t.key]; l != nil {
			l.hurry()
		}
	}
}

// surface tells the server of all holds that were passed on, so that what it shows is so.
func (s *Store) surface(ctx context.Context) {
	ttls := make(map[*turn]time.Duration)
	s.mu.Lock()
	for _, r := range s.relays {
		if len(r.ended) > 0 {
			ttls[r.has] = r.has.ttl
		}
	}
	s.mu.Unlock()
	for t, ttl := range ttls {
		_, _ = s.renew(ctx, t, ttl, false) // if it fails what follows will, too
	}
}
