package filelock

import (
	"time"

	"holdfast.dev/driver"
)

// sync finds out what the state, as it is about to be written, means for this client's own attempts: that is told once it is
// written. It returns the claim that they need, and whether one of them holds now that did not before.
//
// A state that was read before, and that nobody else has changed since, has nothing to tell of those who wait: that is known. So a
// client with thousands of them does not go through them all at each change.
func (t *tx) sync() (wanted byte, grants bool) {
	lk, st := t.lk, t.lk.store
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, e := range t.state.holders {
		if a := lk.attempts[e.attempt]; a != nil && e.client == st.id {
			wanted = claimHold
			grants = t.holds(a, e) || grants
		}
	}
	for i := 0; i < len(t.state.ghosts); { // freed takes them out
		e := t.state.ghosts[i]
		if a := lk.attempts[e.attempt]; a != nil && e.client == st.id {
			t.freed(a, e)
		} else {
			i++
		}
	}
	if t.waitsHere() {
		wanted = higher(wanted, claimWait)
		t.inform()
	}
	return wanted, grants
}

// compare finds what differs between the file and what this client knows: entries of attempts that are no more, because of an error
// in between, and attempts without entries, because somebody has removed or replaced the file. It comes before anything else is done
// with what was read, so that nobody serves what is taken out here.
func (t *tx) compare() {
	t.lk.store.mu.Lock()
	defer t.lk.store.mu.Unlock()
	own := make(map[string]bool)
	for _, list := range [][]*entry{t.state.holders, t.state.queue, t.state.ghosts} {
		for _, e := range append([]*entry(nil), list...) {
			switch {
			case e.client != t.lk.store.id:
			case t.lk.attempts[e.attempt] == nil:
				t.state.leave(e, false, t.at.now)
				t.dirty = true
			default:
				own[e.attempt] = true
			}
		}
	}
	for hash, a := range t.lk.attempts {
		if !own[hash] && (a.phase == waiting || a.phase == holding) {
			t.ends(a, driver.ErrGone)
		}
	}
}

// waitsHere reports whether an attempt of this client waits, as the state says.
func (t *tx) waitsHere() bool {
	for _, e := range t.state.queue {
		if e.client == t.lk.store.id {
			return true
		}
	}
	return false
}

// tellEvery is how often waiters are told that something is new, at most.
const tellEvery = time.Second

// inform notes how things stand, and makes the callers that wait tell theirs: when something is new, but not at each of many
// hand-overs, and from time to time.
func (t *tx) inform() {
	lk := t.lk
	now := lk.store.Clock().Now()
	fresh := !sameHolders(lk.holders, t.state.holders) && now.Sub(lk.told) >= tellEvery
	lk.holders, lk.seen = t.state.describe(t.at.now), t.at.now
	if !fresh && !lk.tick {
		return
	}
	lk.tick, lk.told = false, now
	for i, e := range t.state.queue {
		if a := lk.attempts[e.attempt]; a != nil && e.client == lk.store.id {
			a.place, a.asked = i+1, max(a.asked, t.asked)
			a.tell()
		}
	}
}

func sameHolders(known []driver.Holder, now []*entry) bool {
	if len(known) != len(now) {
		return false
	}
	for i, h := range now {
		if known[i].Token != h.token || known[i].Kept != (h.phase == kept) {
			return false
		}
	}
	return true
}

// waits: a is in the queue from now on, at the end.
func (t *tx) waits(a *attempt) {
	place := len(t.state.queue)
	t.news = append(t.news, func() {
		if a.phase == 0 {
			a.phase, a.place = waiting, place
		}
	})
}

// tell makes a's callers tell theirs how things stand. The mutex is held.
func (a *attempt) tell() {
	for _, c := range a.callers {
		select {
		case c.news <- struct{}{}:
		default:
		}
	}
}

// holds: a holds, and perhaps was told to end. It reports whether that is new.
func (t *tx) holds(a *attempt, e *entry) bool {
	if e.broken {
		t.lose(a, &driver.Broken{By: e.by})
	}
	if a.phase == holding {
		return false
	}
	token := e.token
	t.news = append(t.news, func() {
		if a.phase != ghost {
			a.token = token
			a.decide(holding, nil)
		}
	})
	return true
}

// freed: a's hold was broken, at once. Nobody else needs to know it any more.
func (t *tx) freed(a *attempt, e *entry) {
	t.state.leave(e, false, t.at.now)
	t.dirty = true
	t.ends(a, &driver.Broken{By: e.by, Now: true})
}

// ends: a is in the file no longer, by no doing of its own. A grant that was returned is lost, and its owner is told by Lost; whoever
// still waits for the answer gets that instead, and nothing else: it never held, as far as it knows.
func (t *tx) ends(a *attempt, err error) {
	t.news = append(t.news, func() {
		if !a.returned {
			a.gone(driver.ErrGone)
			return
		}
		if lost := a.lost; lost != nil && !a.told && !a.undone {
			a.told = true
			t.calls = append(t.calls, func() { lost(err) })
		}
		a.gone(err)
	})
}

// lose tells the owner of a hold that it must end, by Lost: once the guard is free, and never a second time.
func (t *tx) lose(a *attempt, err error) {
	lost := a.lost
	if lost == nil || a.told || a.undone {
		return
	}
	t.news = append(t.news, func() { a.told = true })
	t.calls = append(t.calls, func() { lost(err) })
}
