package redislock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// hear takes in a message of the engine's: a letter, the id of a request, and what belongs to it.
//
//	g id token spare waiting more ids…   it has the lock; how many wait for it; of its relay: how many more tokens there are, and the ids
//	                                     of those behind it
//	n id micros                          look again in so long
//	b id now by                          its hold was broken
//	l id                                 its hold has run out, and somebody has noticed
func (s *Store) hear(text string) {
	letter, rest, _ := strings.Cut(text, " ")
	name, rest, _ := strings.Cut(rest, " ")
	id, err := strconv.ParseUint(name, idBase, 64)
	if err != nil {
		return // not one of ours
	}
	s.mu.Lock()
	p := s.parties[id]
	var lost error
	switch {
	case p != nil && id != p.id && letter == "g": // said to the request before: it counts only if the one under way is declined
		p.older = s.readPush(p, rest)
	case p != nil && letter == "g":
		s.take(p, letter, rest)
		if granted := p.pushed; granted == nil {
			p = nil
		} else if p = s.supersede(p.turn, granted.token); p != nil {
			lost = driver.ErrGone
		}
	case p != nil:
		lost = s.take(p, letter, rest)
	case letter != "g":
		p, lost = s.takeBack(id, letter, rest)
	}
	s.mu.Unlock()
	if lost != nil {
		p.tell(lost)
	}
}

// takeBack notes what a message says to somebody who has passed the lock on: if the server has taken it back, whoever has it now has lost
// it. The mutex is held.
func (s *Store) takeBack(id uint64, letter, rest string) (*party, error) {
	if letter == "n" || letter == "b" && !strings.HasPrefix(rest, "1") {
		return nil, nil
	}
	for _, r := range s.relays {
		if p := r.has.current(); p != nil && slices.Contains(r.ids, id) {
			r.lose()
			return p, driver.ErrGone
		}
	}
	return nil, nil
}

// take notes what a message says to p. It returns why its hold has ended or must end, if the message says that. The mutex is held.
func (s *Store) take(p *party, letter, rest string) (lost error) {
	switch letter {
	case "g":
		if p.turn.relay != nil {
			return nil // it has the lock already: the server does not know yet that it was passed on
		}
		p.pushed = s.readPush(p, rest)
		p.rouse()
		for _, other := range p.turn.parties { // asked for more than once: the others find it by asking
			if other != p {
				other.lookNow()
			}
		}
	case "n":
		micros, _ := strconv.ParseInt(rest, 10, 64)
		p.lookAgain(time.Duration(micros)*time.Microsecond + slack)
	case "b":
		now, by, _ := strings.Cut(rest, " ")
		p.stop(now == "1")
		return &driver.Broken{By: by, Now: now == "1"}
	case "l":
		p.stop(true)
		return driver.ErrGone
	}
	return nil
}

// readPush reads a grant to p. The mutex is held.
func (s *Store) readPush(p *party, text string) *push {
	token, rest, _ := strings.Cut(text, " ")
	spare, rest, _ := strings.Cut(rest, " ")
	waiting, rest, _ := strings.Cut(rest, " ")
	more, ids, _ := strings.Cut(rest, " ")
	if p.line != nil {
		p.line.others = number(waiting) > uint64(p.line.queued-1)
	}
	granted := &push{token: number(token), spare: number(spare)}
	if ids == "" && len(p.riders) == 0 {
		return granted
	}
	r := &relay{spare: number(more)}
	r.join(p, false)
	for id := range strings.SplitSeq(ids, " ") {
		n, _ := strconv.ParseUint(id, idBase, 64)
		other := s.parties[n]
		if other == nil || !r.join(other, true) {
			break // it has asked again since, and keeps its place; or it is gone; or it has to wait for its turn
		}
	}
	granted.relay = r
	return granted
}

// number reads one; 0 if there is none.
func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// reconnected makes everybody who waits ask again: messages may have been lost. Many do it one after the other.
func (s *Store) reconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := min(time.Duration(len(s.parties))*100*time.Microsecond, 2*time.Second)
	for _, p := range s.parties {
		p.lookAgain(time.Duration(1 + rand.Int64N(int64(over+1))))
	}
}

// disconnected: nothing more is heard for now. Who waits goes on waiting: its place is kept for a while, and it asks again as soon as
// it can be told.
//
// Nothing is passed on that was granted before: a message that it was broken may be lost.
func (s *Store) disconnected(error) {
	s.deaf.Store(time.Now().UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.relays {
		r.lost = true
	}
	for _, p := range s.parties {
		p.stop(false)
	}
}

// claimLater claims a pushed grant that nobody has renewed or released yet, so that the server keeps it for its TTL.
func (s *Store) claimLater(p *party, ttl time.Duration, until driver.Instant) {
	ctx, cancel := context.WithTimeout(s.guard.Life(), until.Sub(s.clock.Now()))
	defer cancel()
	backoff := driver.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond}
	for {
		_, err := s.renew(ctx, p.turn, ttl, false)
		switch {
		case err == nil:
			return
		case errors.Is(err, driver.ErrGone), errors.Is(err, driver.ErrBroken):
			s.mu.Lock()
			released := p.turn.released
			s.mu.Unlock()
			if !released {
				p.tell(err)
			}
			return
		case driver.Sleep(ctx, backoff.Next()) != nil:
			return
		}
	}
}
