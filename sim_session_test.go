package holdfast

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A simSession is the one lease of everything that a client holds, in worlds with sessions. The server has a lease for each hold;
// the session renews them all with one request, so that:
//
//  1. A hold never ends before the session does. One that was granted while a renewal without it was under way is asked for once
//     more after it has joined, and only then believed.
//  2. A hold that the server no longer has, though nobody released it, ends the session: the server has forgotten.
//  3. A session that nobody needed for a while is renewed before a new hold is to live by it.
//  4. A hold that was broken is told so before the renewal of the others counts, because it was not renewed with them.
type simSession struct {
	n *simStore

	// Guarded by n.mu:
	asked driver.Instant // when it was last renewed, or may have been
	ends  driver.Instant // unless renewed
	dead  bool           // the server has forgotten it
	holds map[driver.Attempt]simMember
}

// A simMember is one hold of a session.
type simMember struct {
	lease *simLease
	lost  func(error)
}

func (n *simStore) acquireInSession(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	held := *r
	held.TTL = n.w.session
	var once sync.Once
	held.Lost = func(err error) { once.Do(func() { r.Lost(err) }) }
	grant, err := n.acquire(ctx, &held)
	if err != nil {
		return nil, err
	}
	grant.TTL = min(grant.TTL, held.TTL) // after the server's clock went back it has more, but the session's other holds do not
	s, ends, again := n.joinSession(&held, grant)
	if again {
		if grant, err = n.acquire(ctx, &held); err != nil {
			n.leaveSession(r.Attempt)
			return nil, err
		}
	}
	if ends.Sub(n.Clock().Now()) < n.w.session/2 {
		switch _, err := s.Renew(ctx, 0); {
		case lossOf(err) != "": // nobody but the driver knows
			n.leaveSession(r.Attempt)
			s.tell(err)
			return nil, errNet // the hold ends with its own TTL, or with a Release
		case err == nil:
			ends = s.until()
		}
	}
	return &driver.Grant{Token: grant.Token, Asked: grant.Asked, TTL: min(grant.TTL, ends.Sub(grant.Asked)), Lease: s}, nil
}

// joinSession makes a grant live by the session, a new one if the old one is over. It returns until when that lives, and whether it
// may live longer than the grant, because it was renewed since that was asked for.
func (n *simStore) joinSession(r *driver.Request, grant *driver.Grant) (s *simSession, ends driver.Instant, again bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s = n.session
	if s == nil || s.dead || !n.Clock().Now().Before(s.ends) {
		s = &simSession{n: n, asked: grant.Asked, ends: grant.Asked.Add(grant.TTL), holds: make(map[driver.Attempt]simMember)}
		n.session = s
	}
	s.holds[r.Attempt] = simMember{grant.Lease.(*simLease), r.Lost}
	return s, s.ends, grant.Asked.Before(s.asked)
}

// tell tells all holds of a session that it has ended.
func (s *simSession) tell(err error) {
	s.n.mu.Lock()
	holds := maps.Clone(s.holds)
	s.n.mu.Unlock()
	for _, m := range holds {
		m.lost(err)
	}
}

func (s *simSession) until() driver.Instant {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	return s.ends
}

// leaveSession makes sure that a hold is not renewed any more.
func (n *simStore) leaveSession(a driver.Attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.session != nil {
		delete(n.session.holds, a)
	}
}

// A simRoll is what became of a session's holds when they were renewed.
type simRoll struct {
	gone   []driver.Attempt
	broken map[driver.Attempt]error
}

func (s *simSession) Renew(ctx context.Context, _ time.Duration) (time.Duration, error) {
	n := s.n
	asked := n.Clock().Now()
	n.mu.Lock()
	holds, over := maps.Clone(s.holds), s.dead || !asked.Before(s.ends)
	s.asked = max(s.asked, asked)
	n.mu.Unlock()
	if !over {
		roll, err := call(ctx, n, "session", 0, func(server context.Context) (simRoll, error) { return n.server.renewAll(server, holds), nil })
		if err != nil {
			return 0, err
		}
		for a, err := range roll.broken {
			n.leaveSession(a)
			holds[a].lost(err)
		}
		over = s.lacks(roll.gone)
	}
	if over {
		n.w.told(s)
		return 0, driver.ErrSession
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.ends = max(s.ends, asked.Add(n.w.session))
	return n.w.session, nil
}

// lacks ends the session if one of the holds that the server does not have was not released.
func (s *simSession) lacks(gone []driver.Attempt) bool {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for _, a := range gone {
		if _, lives := s.holds[a]; lives {
			s.dead = true
		}
	}
	return s.dead
}

// renewAll renews all holds of a session at once.
func (s *simServer) renewAll(ctx context.Context, holds map[driver.Attempt]simMember) simRoll {
	roll := simRoll{broken: make(map[driver.Attempt]error)}
	for a, m := range holds {
		switch _, err := s.renew(ctx, m.lease.lease, m.lease.epoch, s.w.session); {
		case errors.Is(err, driver.ErrBroken):
			roll.broken[a] = err
		case err != nil:
			roll.gone = append(roll.gone, a)
		}
	}
	return roll
}
