package filelock

import (
	"holdfast.dev/driver"
)

// sync finds out what the state, as it is about to be written, means for this client's own attempts: that is told once it is
// written. It returns the claim that they need, and whether one of them holds now that did not before.
func (t *tx) sync() (wanted byte, grants bool) {
	lk, st := t.lk, t.lk.store
	own := t.own()
	st.mu.Lock()
	defer st.mu.Unlock()
	for hash, e := range own {
		if lk.attempts[hash] == nil { // whoever asked for it is no more: an error came in between
			t.state.leave(e, false, t.at.now)
			t.dirty = true
			delete(own, hash)
		}
	}
	holders := t.state.describe(t.at.now)
	for hash, a := range lk.attempts {
		e := own[hash]
		switch {
		case e == nil:
			t.missing(a)
		case e.phase == waiting:
			wanted = max2(wanted, claimWait)
			t.waits(a, e, holders)
		case e.phase == holding:
			wanted = claimHold
			grants = t.holds(a, e) || grants
		case e.phase == ghost:
			t.freed(a, e)
		}
	}
	for i, e := range t.state.queue {
		if a := lk.attempts[e.attempt]; e.client == st.id && a != nil {
			a.place(i + 1)
		}
	}
	lk.tick = false
	return wanted, grants
}

func max2(a, b byte) byte {
	if rank(a) > rank(b) {
		return a
	}
	return b
}

// own returns the entries of this client by attempt.
func (t *tx) own() map[string]*entry {
	own := make(map[string]*entry)
	for _, list := range [][]*entry{t.state.holders, t.state.queue, t.state.ghosts} {
		for _, e := range list {
			if e.client == t.lk.store.id {
				own[e.attempt] = e
			}
		}
	}
	return own
}

// missing: a is not in the file. It was not asked for yet, or somebody has removed or replaced the file by hand.
func (t *tx) missing(a *attempt) {
	switch a.phase {
	case waiting:
		t.news = append(t.news, func() { a.gone(driver.ErrGone) })
	case holding:
		t.news = append(t.news, func() { a.gone(driver.ErrGone) })
		t.lose(a, driver.ErrGone)
	}
}

// waits: a waits. Its callers are told if something is new.
func (t *tx) waits(a *attempt, e *entry, holders []driver.Holder) {
	tick := t.lk.tick
	t.news = append(t.news, func() {
		if a.phase == ghost {
			return
		}
		fresh := len(holders) != len(a.progress.Holders) || len(holders) > 0 && holders[0].Token != a.progress.Holders[0].Token
		a.phase = waiting
		a.asked = max(a.asked, t.asked)
		a.progress.Holders = holders
		if fresh || tick {
			a.tell()
		}
	})
}

// place notes where a stands in the queue. The mutex is held.
func (a *attempt) place(place int) {
	if a.progress.Place != place {
		a.progress.Place = place
		a.tell()
	}
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
	broken := &driver.Broken{By: e.by, Now: true}
	t.news = append(t.news, func() {
		if a.phase == holding {
			a.gone(broken)
		} else { // it never knew that it held
			a.gone(driver.ErrGone)
		}
	})
	t.lose(a, broken)
}

// lose calls Lost, once the guard is free, and never a second time.
func (t *tx) lose(a *attempt, err error) {
	lost := a.lost
	if lost == nil || a.told || a.undone {
		return
	}
	t.news = append(t.news, func() { a.told = true })
	t.calls = append(t.calls, func() { lost(err) })
}
