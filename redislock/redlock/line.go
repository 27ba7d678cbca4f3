package redlock

import (
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// A line is those of this client who wait for one lock, in the order in which they came. The first asks the nodes; it is told of releases, by them or
// by its own client. The others learn what it learns.
type line struct {
	s     *Store
	key   string
	name  string
	all   []*waiter
	told  map[*node]bool // that have told of a release since the first has last asked
	moved *time.Timer    // until the first tries, though few nodes have told it
	poll  *time.Timer    // until it tries, though nobody has
	known driver.Progress
	asked bool        // known is something
	fails *NodesError // why nothing is known: what the nodes said last, if that was no answer
}

// A waiter is one call of Acquire that waits.
type waiter struct {
	r     *driver.Request
	first chan struct{} // closed when it is the first
	woken chan struct{}
	waits waits
}

// wakeAfter is how long the first waits for a majority of the nodes to tell, after one has.
const wakeAfter = 3 * time.Millisecond

// stand puts a call at the end of the line of its lock.
func (s *Store) stand(r *driver.Request, a *attempt) *waiter {
	key := a.question.keys[0]
	w := &waiter{r: r, first: make(chan struct{}), woken: make(chan struct{}, 1)}
	s.mu.Lock()
	if a.woken, a.waited = w.woken, true; a.since == 0 {
		a.since = s.commonTime()
	}
	w.waits.channel, w.waits.since = s.channel, a.since
	s.mu.Unlock()
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	if l == nil {
		l = &line{s: s, key: key, name: r.Name, told: make(map[*node]bool)}
		s.lines[key] = l
	}
	l.all = append(l.all, w)
	if len(l.all) == 1 {
		close(w.first)
	} else if r.Waiting != nil && l.asked {
		r.Waiting(l.known)
	}
	return w
}

// leaveLine takes a call out of the line. If it was the first the next one is.
func (s *Store) leaveLine(w *waiter, key string) {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	wasFirst := l.all[0] == w
	l.all = slices.DeleteFunc(l.all, func(other *waiter) bool { return other == w })
	switch {
	case len(l.all) == 0:
		l.rest()
		delete(s.lines, key)
		for n := range l.told { // since it has last asked: they keep their votes for it
			if n != nil {
				s.passOn(n, key)
			}
		}
	case wasFirst:
		close(l.all[0].first)
	}
}

// tellAll tells everybody in the line what the first has learned.
func (s *Store) tellAll(key string, p driver.Progress) {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	if l == nil {
		return
	}
	l.known, l.asked, l.fails = p, true, nil
	l.tell(p)
}

// tellFailure tells everybody in the line that the first has got no answer, and why.
func (s *Store) tellFailure(key string, e *NodesError) {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	if l := s.lines[key]; l != nil {
		l.fails = e
		l.tell(driver.Progress{Why: e.Error()})
	}
}

func (l *line) tell(p driver.Progress) {
	for _, w := range l.all {
		if w.r.Waiting != nil {
			w.r.Waiting(p)
		}
	}
}

// progressOf is what is known of a lock that somebody here waits for.
func (s *Store) progressOf(key string) driver.Progress {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	if l := s.lines[key]; l != nil {
		return l.known
	}
	return driver.Progress{}
}

// knownOf is what a waiter that is not the first can tell of the lock.
func (s *Store) knownOf(key string) error {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	switch {
	case l != nil && l.fails != nil:
		return l.fails
	case l == nil || !l.asked:
		return nil
	case l.known.Guard > 0:
		return &driver.Guarded{Left: l.known.Guard, Why: l.known.Why}
	}
	return &driver.Held{Holders: l.known.Holders}
}

// asking says that the first is about to ask: what it was told before does not count any more. It returns how it is told.
func (s *Store) asking(w *waiter, key string) *waits {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	clear(l.told)
	l.rest()
	select {
	case <-w.woken:
	default:
	}
	before := w.waits
	w.waits.known = true
	return &before
}

// pollSoon lets the first in the line of a lock try in a while, unless it is told before: nobody may tell it.
func (s *Store) pollSoon(key string) {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	if l == nil {
		return
	}
	l.poll = time.AfterFunc(pollEvery, func() {
		s.lineMu.Lock()
		defer s.lineMu.Unlock()
		if s.lines[key] == l && l.poll != nil {
			l.wake()
		}
	})
}

// rest stops the timers.
func (l *line) rest() {
	if l.poll != nil {
		l.poll.Stop()
		l.poll = nil
	}
	if l.moved != nil {
		l.moved.Stop()
		l.moved = nil
	}
}

// wake lets the first try.
func (l *line) wake() {
	l.rest()
	if len(l.all) == 0 {
		return
	}
	select {
	case l.all[0].woken <- struct{}{}:
	default:
	}
}

// freed: a node, or this client itself (nil), tells that the lock is free.
func (s *Store) freed(n *node, key string) {
	s.lineMu.Lock()
	l := s.lines[key]
	if l == nil {
		s.lineMu.Unlock()
		if n != nil {
			s.passOn(n, key) // nobody here waits any more: somebody else may
		}
		return
	}
	defer s.lineMu.Unlock()
	l.told[n] = true
	if len(l.told) >= majority(len(s.nodes)) {
		l.wake()
	} else if l.moved == nil {
		l.moved = time.AfterFunc(wakeAfter, func() {
			s.lineMu.Lock()
			defer s.lineMu.Unlock()
			if s.lines[key] == l && l.moved != nil {
				l.wake()
			}
		})
	}
}

// stirAll lets the first of every line look: the store is closed.
func (s *Store) stirAll() {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	for _, l := range s.lines {
		l.wake()
	}
}

// nextWaits is how the first in the line of a lock is told; nil: nobody here waits.
func (s *Store) nextWaits(key string) *waits {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	l := s.lines[key]
	if l == nil {
		return nil
	}
	w := l.all[0]
	w.waits.known = true
	next := w.waits
	return &next
}

// hears reports whether a node can tell this client anything.
func (s *Store) hears(n *node) bool {
	l := n.linked.Load()
	if l == nil || l.plain {
		return false
	}
	inbox := l.inbox.Load()
	return inbox != nil && inbox.IsUp()
}

// subscribe opens the inbox of a link.
func (s *Store) subscribe(n *node, l *link) {
	l.inbox.Store(redisconn.OpenInbox(l.client, s.channel, redisconn.Events{
		Message: func(key string) { s.freed(n, key) },
		Up:      func() {},
		Down:    func(error) {},
	}))
}
