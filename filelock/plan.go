package filelock

import (
	"slices"
	"strconv"
)

// A watch is what an entry that waits must keep an eye on, because its end could be its turn: ids of clients, and ends of minimum
// holds (see endOf). Nothing else can make room without telling.
//
//   - An entry behind another one watches the client of the one before it, and no more: as long as that lives it will see to
//     whatever comes before, and tell.
//   - The head of the queue watches the first holders, up to the one with which it does not fit: as long as those hold, nothing
//     that happens to the others could make room.
//   - Nobody watches its own client: while that is there to look, it lives.
type watch []string

// endOf stands in a watch for the end of a minimum hold.
func endOf(h *entry) string { return untilPrefix + strconv.FormatInt(int64(h.until), 10) }

// watchOf is what the i-th of the queue watches.
func (s *state) watchOf(i int) watch {
	e := s.queue[i]
	if i > 0 {
		if before := s.queue[i-1].client; before != e.client {
			return watch{before}
		}
		return nil
	}
	var w watch
	for j, h := range s.holders {
		switch {
		case h.phase == kept:
			w = append(w, endOf(h))
		case h.client != e.client && !slices.Contains(w, h.client):
			w = append(w, h.client)
		}
		if !s.fits(e, s.holders[:j+1]) {
			break
		}
	}
	return w
}

// headFits reports whether somebody waits for what it could have.
func (s *state) headFits() bool { return len(s.queue) > 0 && s.fits(s.queue[0], s.holders) }

// within reports whether everything in w is in others.
func (w watch) within(others watch) bool {
	for _, what := range w {
		if !slices.Contains(others, what) {
			return false
		}
	}
	return true
}

// A mark is how an entry stood before a change. The zero mark: it was not there.
type mark struct {
	phase  phase
	broken bool
	watch  watch  // of the head of the queue
	before string // of everybody else in the queue: the client that it watched
}

// mark notes how things stand before a change.
func (s *state) mark() {
	for i, e := range s.queue {
		e.was = mark{phase: waiting}
		if i == 0 {
			e.was.watch = s.watchOf(0)
		} else {
			e.was.before = s.queue[i-1].client
		}
	}
	for _, list := range [][]*entry{s.holders, s.ghosts} {
		for _, e := range list {
			e.was = mark{phase: e.phase, broken: e.broken}
		}
	}
}

// concerned returns the clients, other than self, that must look at the lock because of a change since mark: those that were
// granted it, those that were broken, those that have something new to watch, and the head of the queue if it could hold the lock
// but whoever made the change could not give it a token: it has nothing to watch, and must try by itself.
func (s *state) concerned(self string) []string {
	var clients []string
	tell := func(client string) {
		if client != "" && client != self && !slices.Contains(clients, client) {
			clients = append(clients, client)
		}
	}
	for _, h := range s.holders {
		if h.phase == holding && (h.was.phase == waiting || h.was.phase == holding && h.was.broken != h.broken) {
			tell(h.client)
		}
	}
	for _, g := range s.ghosts {
		if g.was.phase != ghost {
			tell(g.client)
		}
	}
	if s.headFits() {
		tell(s.queue[0].client)
	}
	for i, e := range s.queue {
		if i > 0 && e.was.before == s.queue[i-1].client {
			continue // nothing has changed for it: the common case
		}
		if !s.watchOf(i).within(append(e.was.watch, e.was.before)) {
			tell(e.client)
		}
	}
	return clients
}
