package redislock

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// who names an attempt to get a certain lock.
type who struct {
	name    string
	permits bool
	attempt driver.Attempt
}

func whoOf(r *driver.Request) who { return who{r.Name, r.Mode == driver.Permits, r.Attempt} }

// A turn is what this client knows of one attempt, from its first Acquire to its Release. Guarded by the store's mutex.
type turn struct {
	who
	s      *Store
	key    string // of the lock
	secret string // the attempt, for the wire

	parties  []*party // calls of Acquire under way
	holder   *party   // the one that was granted last
	doubt    int      // requests whose answer has not come, or never will: they may still reach the server
	released bool     // Release was called: nothing more is sent for it

	forgotten bool // it will be, soon

	known   bool          // a request of its was sent
	told    bool          // the server was told, or is being told, that the lock was passed on to it
	granted bool          // it has had the lock
	relay   *relay        // that has come to it
	packed  string        // what it waits for, as the engine keeps it
	ttl     time.Duration // likewise

	first struct { // where things are as long as it is one call
		party
		list [1]*party
	}
}

// newTurn makes a turn that nobody knows yet.
func (s *Store) newTurn(r *driver.Request) *turn {
	t := &turn{who: whoOf(r), s: s, key: s.keys.lock(r.Name, r.Mode), secret: r.Attempt.Reveal()}
	t.parties = t.first.list[:0]
	return t
}

// A party is one call of Acquire, and the hold that comes of it. The server knows it by the id of its last request: messages for earlier
// ones are old. Guarded by the store's mutex, but for what the caller of Acquire has alone.
type party struct {
	turn *turn
	id   uint64
	last uint64 // != 0: the id of the request before, as long as the one under way has no answer; it may never arrive
	lost func(error)
	told sync.Once

	riders []*party  // that share its place: see relay
	with   *party    // whose place it shares
	line   *line     // that it stands in; nil as long as it does not wait
	queued bool      // it has a place in the server's queue
	began  time.Time // when it began to
	known  error     // what it knew of the lock when it began to wait

	wake   chan struct{} // has an element when one of these is new; nil as long as it does not wait
	pushed *push         // the server has granted it the lock
	older  *push         // the same, said to the request before
	look   bool          // ask at once

	sits   bool          // it waits for these, and asks nothing before it has looked at them
	lookIn time.Duration // > 0: ask then, said before it waited
	timer  *time.Timer   // while it waits: asks again at due
	due    time.Time

	claim *time.Timer // not nil: a pushed grant that is not claimed yet
	grant driver.Grant
}

// A push is a grant that came as a message, or was passed on inside this client.
type push struct {
	token, spare uint64
	relay        *relay // not nil: it can be passed on
}

// rouse wakes the caller of Acquire, if it waits. The mutex is held.
func (p *party) rouse() {
	if p.wake == nil {
		return // looks before it waits
	}
	select {
	case p.wake <- struct{}{}:
	default: // is about to look anyway
	}
}

// lookNow makes the caller of Acquire ask again at once, if it waits. The mutex is held.
func (p *party) lookNow() {
	p.look = true
	p.rouse()
}

// lookAgain makes the caller of Acquire ask again after d at the latest, without waking it before. The mutex is held.
func (p *party) lookAgain(d time.Duration) {
	switch due := time.Now().Add(d); {
	case p.timer == nil && (p.lookIn == 0 || d < p.lookIn):
		p.lookIn = d
	case p.timer == nil:
	case due.Before(p.due):
		p.due = due
		p.timer.Reset(d)
	}
}

// tell passes on that the hold has ended, or must end, once.
func (p *party) tell(err error) {
	if p.lost != nil {
		p.told.Do(func() { p.lost(err) })
	}
}

// settle ends what the client still does about a pushed grant. The mutex is held.
func (p *party) settle() {
	if p.claim != nil {
		p.claim.Stop()
		p.claim = nil
	}
}

// join begins a call of Acquire. It reports whether the attempt has a lock that was passed on to it, and the server does not know; and whether
// others of this client wait for the lock. No party: the attempt has passed the lock on, and is over.
func (s *Store) join(r *driver.Request) (p *party, passed, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turns[whoOf(r)]
	if t != nil && t.isOver() {
		return nil, false, false
	}
	if t == nil || t.released {
		t = s.newTurn(r)
		s.turns[t.who] = t
	}
	p = &t.first.party
	if p.turn != nil { // in use
		p = new(party)
	}
	p.turn, p.lost = t, r.Lost
	t.parties = append(t.parties, p)
	return p, t.before() != "", s.lines[t.key] != nil
}

// leave ends a call of Acquire. What was granted stays known, so that messages about it are heard, until it is released; and so does what
// may be in the server's queue. It returns who has lost the lock by this, if anybody has.
func (s *Store) leave(p *party, err error) (loser *party) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, granted, answered := p.turn, err == nil, err == nil || driver.Answered(err)
	t.granted = t.granted || granted
	t.parties = slices.DeleteFunc(t.parties, func(other *party) bool { return other == p })
	if granted && !t.released {
		s.drop(t.holder)
		t.holder = p
	} else {
		s.drop(p)
	}
	s.quit(p, granted)
	p.dismount()
	for _, r := range []*relay{p.pushed.row(), p.older.row()} {
		if r != nil && r.has == nil {
			r.scatter() // it has never begun
		}
	}
	for _, other := range t.parties { // they find the hold by asking; or the server knows the attempt by p's id, and must know theirs
		other.lookNow()
	}
	if len(t.parties) == 0 && t.holder == nil && t.doubt == 0 && t.relay == nil && (answered || !t.known) {
		s.remove(t)
	}
	if granted && len(s.relays) > 0 {
		loser = s.supersede(t, p.grant.Token)
	}
	return loser
}

// drop forgets a party. The mutex is held.
func (s *Store) drop(p *party) {
	if p != nil {
		p.settle()
		delete(s.parties, p.id)
		delete(s.parties, p.last)
	}
}

// remove forgets a turn. The mutex is held.
func (s *Store) remove(t *turn) {
	s.drop(t.holder)
	s.dissolve(t)
	t.holder = nil
	if s.turns[t.who] == t {
		delete(s.turns, t.who)
	}
}

// renumber gives p a new id for its next request: messages for the old one no longer count. It reports false if the attempt was
// released meanwhile: then nothing is sent; and whether no other call of Acquire for the attempt is under way.
func (s *Store) renumber(p *party) (ok, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.turn.released {
		return false, false
	}
	delete(s.parties, p.last)
	p.last, p.older = p.id, p.pushed
	p.pushed, p.look, p.lookIn = nil, false, 0
	s.number(p)
	p.turn.doubt++
	p.turn.known = true
	return true, len(p.turn.parties) == 1
}

// number gives p an id that nobody can guess, and say that it has been granted something. The mutex is held.
func (s *Store) number(p *party) {
	p.id = rand.Uint64()
	s.parties[p.id] = p
}

// answered: the request of p's is no longer on its way. If it was declined the server still knows p by the id before, and what was said
// to that counts. It reports whether the attempt was released meanwhile.
func (s *Store) answered(p *party, declined bool) (released bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.turn.doubt--
	if declined && p.last != 0 {
		p.id, p.last, p.pushed = p.last, p.id, p.older
	}
	delete(s.parties, p.last)
	if r := p.older.row(); r != nil && r.has == nil && p.older != p.pushed {
		r.scatter() // what was said to the request before does not count
	}
	p.last, p.older = 0, nil
	return p.turn.released
}
