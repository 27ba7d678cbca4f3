package filelock

import (
	"slices"
	"time"

	"holdfast.dev/driver"
)

// fits reports whether e can hold beside those holders. Kept holds count like any other.
func (s *state) fits(e *entry, holders []*entry) bool {
	switch e.mode {
	case driver.Shared:
		return len(holders) == 0 || !slices.ContainsFunc(holders, func(h *entry) bool { return h.mode != driver.Shared })
	case driver.Permits:
		left := s.limit
		for _, h := range holders {
			left -= h.n
		}
		return e.n <= left
	}
	return len(holders) == 0
}

// A moment is when something happens: by the clock of this machine, and by the wall clock for what must survive a restart.
type moment struct {
	now   stamp
	wall  int64
	clock string // the name of the first
}

// epoch is when the clock was zero, by the wall clock.
func (at moment) epoch() int64 { return at.wall - int64(at.now) }

// adopt makes the stamps in s those of the clock of at, if they are of another one: by the wall clock, which all processes share.
// Should that have been set, a minimum hold still never ends later than its length from now. It reports whether one was cut so: that
// is to be written, or it would begin anew each time. With anyway, the name of a clock says nothing: the machine was restarted.
func (s *state) adopt(at moment, anyway bool) (cut bool) {
	if s.clock == at.clock && !anyway {
		return false
	}
	shift := time.Duration(s.epoch - at.epoch())
	for _, list := range [][]*entry{s.holders, s.queue, s.ghosts} {
		for _, e := range list {
			e.line, e.since = "", e.since.add(shift)
			if e.phase == waiting {
				continue
			}
			e.granted = e.granted.add(shift)
			if e.until == 0 {
				continue
			}
			left := time.Duration(e.wall - at.wall)
			if left > e.keep {
				left, e.wall, cut = e.keep, at.wall+int64(e.keep), true
			}
			e.until = at.now.add(left)
		}
	}
	s.clock, s.epoch = at.clock, at.epoch()
	return cut
}

// keeps reports whether there is a minimum hold that is not over.
func (s *state) keeps(now stamp) bool {
	return slices.ContainsFunc(s.holders, func(h *entry) bool { return h.until != 0 && now.before(h.until) })
}

// serve grants to the head of the queue for as long as it fits, and returns those that it granted. It is the only way to a grant.
// tokens gives a new token away; if it fails, the head goes on waiting.
func (s *state) serve(at moment, tokens func() (uint64, error)) (granted []*entry, err error) {
	for len(s.queue) > 0 && s.fits(s.queue[0], s.holders) {
		e := s.queue[0]
		token := s.generation(e)
		if token == 0 {
			if token, err = tokens(); err != nil {
				return granted, err
			}
		}
		s.queue = s.queue[1:]
		e.phase, e.token, e.granted, e.line = holding, token, at.now, ""
		if e.keep > 0 {
			e.until, e.wall = at.now.add(e.keep), at.wall+int64(e.keep)
		}
		s.holders = append(s.holders, e)
		granted = append(granted, e)
	}
	return granted, nil
}

// generation is the token that a reader shares with those who read already, unless that was broken; 0: it gets a new one.
func (s *state) generation(e *entry) uint64 {
	if e.mode != driver.Shared {
		return 0
	}
	for _, h := range slices.Backward(s.holders) {
		if h.phase == holding {
			if h.broken {
				return 0
			}
			return h.token
		}
	}
	return 0
}

// settle takes out what time alone has ended: minimum holds that are over. It reports whether there was any.
func (s *state) settle(now stamp) bool {
	before := len(s.holders)
	s.holders = slices.DeleteFunc(s.holders, func(h *entry) bool { return h.phase == kept && !now.before(h.until) })
	return len(s.holders) != before
}

// leave takes e out, whatever its phase. With keeps, a hold whose minimum hold is not over stays taken, by nobody.
func (s *state) leave(e *entry, keeps bool, now stamp) {
	if e.phase == holding && keeps && now.before(e.until) {
		e.phase, e.client, e.attempt, e.line = kept, "", "", ""
		return
	}
	other := func(x *entry) bool { return x == e }
	s.holders = slices.DeleteFunc(s.holders, other)
	s.queue = slices.DeleteFunc(s.queue, other)
	s.ghosts = slices.DeleteFunc(s.ghosts, other)
}

// bury takes out everything of a client that has ended. It reports whether there was anything.
func (s *state) bury(client string, now stamp) bool {
	var its []*entry
	for _, list := range [][]*entry{s.holders, s.queue, s.ghosts} {
		for _, e := range list {
			if e.client == client {
				its = append(its, e)
			}
		}
	}
	for _, e := range its {
		s.leave(e, true, now)
	}
	return len(its) > 0
}

// breakHold tells the holders with that token to end; at once: frees them, and leaves a ghost where there is somebody to be told. It
// reports whether there was any.
func (s *state) breakHold(b *driver.BreakRequest, now stamp) bool {
	found := false
	for _, h := range slices.Clone(s.holders) {
		if h.token != b.Token {
			continue
		}
		found = true
		if !h.broken || b.Now {
			h.broken, h.by, h.line = true, b.By, ""
		}
		if !b.Now {
			continue
		}
		s.leave(h, false, now)
		if h.phase == holding {
			h.phase = ghost
			s.ghosts = append(s.ghosts, h)
		}
	}
	return found
}

// nextEnd is when the first of the kept holds is over; false: there is none.
func (s *state) nextEnd() (stamp, bool) {
	var end stamp
	found := false
	for _, h := range s.holders {
		if h.phase == kept && (!found || h.until.before(end)) {
			end, found = h.until, true
		}
	}
	return end, found
}

// describe shows who holds.
func (s *state) describe(now stamp) []driver.Holder {
	holders := make([]driver.Holder, 0, len(s.holders))
	for _, h := range s.holders {
		shown := driver.Holder{
			Label: h.label, Token: h.token, Mode: h.mode, N: h.n, Held: now.sub(h.granted), Left: driver.Forever, Broken: h.broken,
		}
		if h.phase == kept {
			shown.Kept, shown.Left = true, max(h.until.sub(now), time.Nanosecond)
		}
		holders = append(holders, shown)
	}
	return holders
}

// held is the answer to somebody who cannot have the lock now.
func (s *state) held(now stamp) *driver.Held {
	held := &driver.Held{Holders: s.describe(now)}
	if end, found := s.nextEnd(); found {
		held.RetryIn = max(end.sub(now), 0)
	}
	return held
}
