package memlock

import (
	"time"

	"holdfast.dev/driver"
)

// A lock is a name, or a semaphore, that somebody holds, keeps or waits for. Otherwise it does not exist: see tidy.
type lock struct {
	key
	server *Server
	limit  int // Permits: of how many

	holders list // holding or kept; the kept ones first, then in the order of their grants
	taken   int  // Permits: how many the holders have together
	queue   list // present waiters, by ticket
	absent  list // waiters whose callers went away

	deadline deadline // when to tell the waiters next how things stand: see wait.go
}

// lockFor returns the lock that r asks for, and makes it if it does not exist.
func (s *Server) lockFor(r *driver.Request) (*lock, error) {
	k := keyOf(r.Name, r.Mode)
	l := s.locks[k]
	if l == nil {
		l = &lock{key: k, server: s, limit: r.Limit}
		l.deadline.What = l
		s.locks[k] = l
	}
	if l.limit != r.Limit {
		return nil, &driver.LimitError{N: r.N, Want: r.Limit, Have: l.limit}
	}
	return l, nil
}

// fits reports whether c can hold beside those who hold now. Kept holds count like any other.
func (l *lock) fits(c *claim) bool {
	switch c.mode {
	case driver.Shared:
		return l.holders.len == 0 || l.holders.back.mode == driver.Shared
	case driver.Permits:
		return c.n <= l.limit-l.taken // so that nothing overflows
	}
	return l.holders.len == 0
}

// serve grants to the head of the queue for as long as it fits. It is the only way to a grant, and it is called whenever the
// queue has a new head or the holders have become fewer.
func (s *Server) serve(l *lock, now driver.Instant) {
	for c := l.queue.front; c != nil && l.fits(c); c = l.queue.front {
		l.queue.remove(c)
		s.give(c, now)
		if c.decided != nil {
			close(c.decided) // last: whoever wakes finds everything written
		}
	}
}

// give makes c, which is in no list, a holder.
func (s *Server) give(c *claim, now driver.Instant) {
	l := c.lock
	c.token, c.spare = s.nextToken(c)
	c.state = holding
	l.holders.append(c)
	l.taken += c.n
	c.granted = now
	c.keptUntil = now.Add(c.keep)
	c.expires = now.Add(c.ttl)
	s.deadlines.Set(&c.deadline, c.expires)
}

// nextToken returns the tokens of a grant to c. Readers share the token of those who read already, unless that was broken.
func (s *Server) nextToken(c *claim) (token, spare uint64) {
	if c.mode == driver.Shared {
		if r := c.lock.holders.back; r != nil && r.state == holding && r.broken == nil {
			return r.token, 0
		}
		c.reserve = 0
	}
	token = s.token + 1
	s.token += 1 + c.reserve
	return token, c.reserve
}

// end ends c's hold. With keeps, a lock whose minimum hold is not over stays taken, by nobody: the attempt is gone either way.
func (s *Server) end(c *claim, keeps bool, now driver.Instant) {
	delete(s.claims, c.id)
	if keeps && now.Before(c.keptUntil) {
		c.state = kept
		c.lock.holders.remove(c)
		c.lock.holders.insert(c, nil) // kept ones first: nextToken looks at the last
		s.deadlines.Set(&c.deadline, c.keptUntil)
		return
	}
	s.vacate(c, now)
}

// vacate takes a holder, or one that is kept, out of the lock, and serves those who wait.
func (s *Server) vacate(c *claim, now driver.Instant) {
	c.state = ended
	s.deadlines.Clear(&c.deadline)
	c.lock.holders.remove(c)
	c.lock.taken -= c.n
	s.serve(c.lock, now)
	s.tidy(c.lock)
}

// tidy forgets a lock that nobody holds, keeps or waits for.
func (s *Server) tidy(l *lock) {
	if l.holders.len+l.queue.len+l.absent.len == 0 {
		delete(s.locks, l.key)
		s.deadlines.Clear(&l.deadline)
	}
}

// held is the answer to somebody who cannot have l now.
func (l *lock) held(now driver.Instant) *driver.Held {
	h := &driver.Held{Holders: l.describe(now)}
	for c := l.holders.front; c != nil; c = c.next {
		if left := c.until().Sub(now); h.RetryIn == 0 || left < h.RetryIn {
			h.RetryIn = left
		}
	}
	return h
}

// until is when c's part of the lock is free, unless it is renewed or released.
func (c *claim) until() driver.Instant {
	if c.state == kept {
		return c.keptUntil
	}
	return max(c.expires, c.keptUntil)
}

func clampTTL(ttl time.Duration) time.Duration { return min(max(ttl, MinTTL), MaxTTL) }
