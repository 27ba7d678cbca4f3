package filelock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast.dev/driver"
)

// advance serves until nothing more can be done: whoever is in the way of this client's own waiters must be alive. The dead are
// taken out, and it serves again.
func (t *tx) advance() error {
	for {
		if err := t.serve(); err != nil {
			return err
		}
		buried := false
		for i, e := range t.state.queue {
			if e.client != t.lk.store.id {
				continue
			}
			for _, client := range t.state.watchOf(i) {
				if strings.HasPrefix(client, untilPrefix) {
					continue
				}
				life, err := t.lk.store.probe(client)
				switch {
				case life == dead:
					buried = t.state.bury(client, t.at.now) || buried
				case life == odd:
					return t.orphaned(client, err)
				case err != nil:
					return t.lk.problem(err)
				}
			}
			if buried {
				break // the queue has changed
			}
		}
		if !buried {
			return nil
		}
		t.dirty = true
	}
}

// orphaned explains an entry of a client of whom nobody can tell whether it lives. So it is not taken out.
func (t *tx) orphaned(client string, why error) error {
	who, next := "somebody", "look after that directory"
	for _, list := range [][]*entry{t.state.queue, t.state.holders} {
		for _, e := range list {
			switch {
			case e.client != client:
			case e.phase == holding:
				who = fmt.Sprintf("%q, who holds it with token %d,", e.label, e.token)
				next = "if that process has ended, break the hold with Now"
			default:
				who = fmt.Sprintf("%q, who waits for it,", e.label)
				next = "if that process has ended, close everything that uses the directory, and remove the lock's file"
			}
		}
	}
	return &driver.Refused{Err: t.lk.problem(fmt.Errorf("nobody can tell whether %s is alive: %w, which is not how its client has made it; %s",
		who, why, next))}
}

// buryDead takes everybody out who is dead. It reports whether there was any.
func (t *tx) buryDead() (buried bool, err error) {
	for _, client := range t.state.clients() {
		life, err := t.lk.store.probe(client)
		if err != nil && life != odd {
			return buried, t.lk.problem(err)
		}
		if life == dead {
			buried = t.state.bury(client, t.at.now) || buried
		}
	}
	t.dirty = t.dirty || buried
	return buried, nil
}

// serveAll serves after a change, whatever that was, so that nobody waits for what it could have. If there is no token for the
// head of the queue, that must try by itself: see concerned.
func (t *tx) serveAll() {
	if !t.dirty {
		return
	}
	if err := t.serve(); err != nil && t.state.headFits() && t.state.queue[0].client == t.lk.store.id {
		t.calls = append(t.calls, func() { t.lk.store.poke(t.lk) })
	}
}

// poke makes the client look at a lock, also at one in which it should have nothing: whoever rings may have seen something of it
// there. It never blocks. A lock that was forgotten (see tidy) is not looked at: another one of the same name may be in use.
func (st *Store) poke(lk *lock) {
	st.mu.Lock()
	defer st.mu.Unlock()
	lk.poked = true
	if lk.looking || st.ended || st.locks[lk.key] != lk {
		return
	}
	lk.looking = true
	lk.users++
	st.running.Add(1)
	go lk.lookWhilePoked()
}

func (lk *lock) lookWhilePoked() {
	st := lk.store
	defer st.running.Done()
	for {
		st.mu.Lock()
		if !lk.poked || st.ended {
			lk.looking = false
			lk.users--
			st.rest(lk)
			st.mu.Unlock()
			return
		}
		lk.poked = false
		st.mu.Unlock()
		if err := lk.look(); err != nil && !errors.Is(err, driver.ErrClosed) {
			lk.lookFailed(err)
		}
	}
}

// look reads the state, and does whatever is due.
func (lk *lock) look() error {
	return lk.change(context.Background(), existing, func(t *tx) error {
		t.expireAway()
		return t.advance()
	})
}

// lookFailed decides what an error means for those who wait: it is their answer, if it is one or will not pass. As long as anything
// of this client may be in the file it is looked at again: a hold may be broken, and an entry that is left behind may be granted the
// lock, which would then be held by nobody.
func (lk *lock) lookFailed(err error) {
	switch {
	case errors.Is(err, errNoFile):
		if lk.anyWaits() && lk.stillRemoved() {
			lk.lookLater()
		}
		return
	case driver.Answered(err):
		lk.failWaiters(err)
	case !passing(err):
		lk.failWaiters(&driver.Refused{Err: err})
	}
	lk.lookAgain()
}

// passing reports whether it is worth trying again after an error.
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, errQuota, syscall.ENOMEM, syscall.EIO, syscall.EAGAIN, errUnsure} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// stillRemoved deals with a lock whose file somebody has removed. While another client holds the lock, those who wait here go on
// waiting; otherwise they begin anew.
func (lk *lock) stillRemoved() bool {
	others, err := lk.store.claimants(lk.sum)
	if err != nil {
		return true
	}
	if holder, err := lk.store.holderAmong(others, lk.sum, lk.store.probe); holder != nil || err != nil {
		return true
	}
	lk.failWaiters(driver.ErrGone)
	return false
}

// failWaiters ends the waits of this client with an answer. Their entries are taken out, if that can be done now; otherwise by the
// next look for which there is no error.
func (lk *lock) failWaiters(answer error) {
	st := lk.store
	st.mu.Lock()
	for _, a := range lk.attempts {
		if a.phase == waiting {
			a.gone(answer)
			lk.strays = true
		}
	}
	strays := lk.strays
	st.mu.Unlock()
	if strays {
		lk.change(context.Background(), existing, func(t *tx) error {
			if t.cached { // else it was done
				t.compare()
			}
			return nil
		})
	}
}

// failed sees to the claim after a change that was not made. If there is no file there is nothing of this client in it either.
// Whoever calls it has the turn.
func (lk *lock) failed(err error) {
	lk.store.mu.Lock()
	switch {
	case errors.Is(err, errNoFile):
		lk.strays = false
	case errors.Is(err, errUnsure):
		lk.strays = true // perhaps
	}
	lk.store.mu.Unlock()
	lk.fitClaim()
}

// anyWaits reports whether an attempt of this client waits.
func (lk *lock) anyWaits() bool {
	lk.store.mu.Lock()
	defer lk.store.mu.Unlock()
	return lk.any(waiting)
}

// any reports whether an attempt of this client is in one of those phases. The mutex is held.
func (lk *lock) any(phases ...phase) bool {
	for _, a := range lk.attempts {
		if slices.Contains(phases, a.phase) {
			return true
		}
	}
	return false
}

// expireAway takes out those whose last caller has been away for longer than their TTL.
func (t *tx) expireAway() {
	lk, st := t.lk, t.lk.store
	now := st.Clock().Now()
	st.mu.Lock()
	defer st.mu.Unlock()
	for hash, a := range lk.attempts {
		if a.away == driver.Never || now.Before(a.away) || len(a.callers) > 0 || a.returned || a.undone {
			continue
		}
		if e := t.state.find(st.id, hash); e != nil {
			t.state.leave(e, false, t.at.now)
			t.dirty = true
		}
		t.forget(a)
	}
}

// lookAgain looks again after an error, if anything of this client may be in the file: soon while somebody waits.
func (lk *lock) lookAgain() {
	lk.store.mu.Lock()
	defer lk.store.mu.Unlock()
	switch {
	case lk.any(waiting):
		lk.after(lk.backoff.Next())
	case lk.strays || lk.any(holding):
		lk.after(lk.patience.Next())
	}
}

// lookLater looks again after a pause that grows.
func (lk *lock) lookLater() {
	lk.store.mu.Lock()
	defer lk.store.mu.Unlock()
	lk.after(lk.backoff.Next())
}

// calm makes the next pause a short one.
func (lk *lock) calm() {
	lk.store.mu.Lock()
	defer lk.store.mu.Unlock()
	lk.backoff.Reset()
}

// after looks again after a pause. The mutex is held.
func (lk *lock) after(pause time.Duration) {
	st := lk.store
	if st.ended {
		return
	}
	if lk.later != nil {
		lk.later.Stop()
	}
	lk.later = time.AfterFunc(pause, func() { st.poke(lk) })
}
