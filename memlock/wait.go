package memlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// tellEvery is how often a waiter is told how things stand.
const tellEvery = time.Second

// A caller is one call of Acquire that waits. An attempt can have several, if it is asked for again while it waits.
type caller struct {
	claim   *claim
	store   *Store
	waiting func(driver.Progress) // nil: does not want to know
	news    chan struct{}         // has one element when there is something to tell; nil without waiting
	first   driver.Progress       // how things stood when it began to wait
}

// join makes a call wait for c's turn.
func (s *Server) join(c *claim, st *Store, tell func(driver.Progress), now driver.Instant) *caller {
	call := &caller{claim: c, store: st, waiting: tell}
	c.callers = append(c.callers, call)
	if c.decided == nil {
		c.decided = make(chan struct{})
	}
	if tell != nil {
		l := c.lock
		call.news = make(chan struct{}, 1)
		call.first = driver.Progress{Place: l.queue.place(c), Holders: l.describe(now)}
		if !l.deadline.IsSet() {
			s.deadlines.Set(&l.deadline, now.Add(tellEvery))
		}
	}
	return call
}

// await waits for the decision, for the end of ctx, or for Close. Request.Waiting is called here, on the goroutine of whoever
// waits, so that it is never called after Acquire has returned.
func (st *Store) await(ctx context.Context, call *caller) (*driver.Grant, error) {
	if call.waiting != nil {
		call.waiting(call.first)
	}
	for {
		select {
		case <-call.news:
			if p, still := st.progress(call.claim); still {
				call.waiting(p)
			}
			continue
		case <-call.claim.decided:
		case <-ctx.Done():
		case <-st.closed:
		}
		return st.conclude(ctx, call)
	}
}

// conclude finds out what the end of a wait means. The server's decision comes first: what else has ended at the same time does
// not matter then.
func (st *Store) conclude(ctx context.Context, call *caller) (*driver.Grant, error) {
	s, c := st.server, call.claim
	now := s.enter()
	defer s.exit()
	switch {
	case c.undone:
		return nil, driver.ErrGone
	case c.token != 0:
		return c.grant(c.granted, c.ttl), nil
	}
	err := errClosed
	if !st.isClosed() {
		err = errors.Join(c.lock.held(now), ctx.Err())
	}
	if s.depart(c, func(other *caller) bool { return other == call }, now) {
		s.serve(c.lock, now)
	}
	return nil, err
}

// depart takes the calls that leave away from c. It reports whether these were the last that waited: c is then absent, and
// whoever called depart serves the queue. Its place is kept for its TTL from now on.
func (s *Server) depart(c *claim, leaves func(*caller) bool, now driver.Instant) bool {
	if c.state != waiting || c.away {
		return false // has ended, or is absent because of Close
	}
	c.callers = slices.DeleteFunc(c.callers, leaves)
	if len(c.callers) > 0 {
		return false
	}
	c.away = true
	c.lock.queue.remove(c)
	c.lock.absent.append(c)
	s.deadlines.Set(&c.deadline, now.Add(c.ttl))
	return true
}

// returned puts an absent waiter back in its place.
func (s *Server) returned(c *claim) {
	c.away = false
	s.deadlines.Clear(&c.deadline)
	c.lock.absent.remove(c)
	c.lock.queue.enqueue(c)
}

// due tells those who wait for l that there is something to tell: all in one walk, so that it costs no timer for each of them
// and no count of places for each of them.
func (l *lock) due(s *Server, now driver.Instant) {
	curious := false
	place := 0
	for c := l.queue.front; c != nil; c = c.next {
		place++
		c.place = place
		for _, call := range c.callers {
			if call.news == nil {
				continue
			}
			curious = true
			select {
			case call.news <- struct{}{}:
			default: // has not yet looked at the last news
			}
		}
	}
	if curious {
		s.deadlines.Set(&l.deadline, now.Add(tellEvery))
	}
}

// progress is how things stand for c, if it still waits.
func (st *Store) progress(c *claim) (driver.Progress, bool) {
	now := st.server.enter()
	defer st.server.exit()
	return driver.Progress{Place: c.place, Holders: c.lock.describe(now)}, c.state == waiting
}
