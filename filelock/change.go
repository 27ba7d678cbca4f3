package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"

	"holdfast.dev/driver"
)

const (
	lockMagic = "holdfast lock 1\n"
	freshSeq  = 1 // the number of the text that a lock's file is made with
)

// A tx is one look at a lock's file, under its guard, and at most one change of it.
type tx struct {
	ctx    context.Context
	lk     *lock
	file   *os.File
	info   os.FileInfo // of file
	box    box
	state  *state
	cached bool // nobody else has changed it since this client saw it last
	at     moment
	asked  driver.Instant // the clock before the guard was taken

	dirty  bool // the state is to be written
	unlink bool // the file is to be removed, if nobody has an entry in it

	news  []func() // what the change means for this client's attempts: done when it is written, with the mutex held
	calls []func() // to be called when the guard is free
}

// An access says what a change does about a lock whose file does not exist, or is fresh: made, and never used since (see make.go).
type access byte

const (
	existing access = iota // that is errNoFile
	creating               // makes it
	tidying                // errNoFile; a fresh one is one without entries
)

// change lets f look at a lock's state, under its guard, and writes what f has changed; then it tells this client's own attempts
// what that means for them. If there is an error nothing has changed, unless it is errUnsure.
func (lk *lock) change(ctx context.Context, how access, f func(*tx) error) error {
	asked := lk.store.Clock().Now()
	if err := lk.enter(ctx); err != nil {
		return err
	}
	var calls []func()
	again, err := true, error(nil)
	for again {
		again, calls, err = lk.changeOnce(ctx, how, asked, f)
	}
	if err != nil {
		lk.cache = nil
		lk.failed(err)
	}
	lk.exit()
	for _, call := range calls {
		call()
	}
	return err
}

func (lk *lock) changeOnce(ctx context.Context, how access, asked driver.Instant, f func(*tx) error) (again bool, calls []func(), err error) {
	file, info, err := lk.take(ctx, how == creating)
	if err != nil {
		return false, nil, err
	}
	defer file.Close() // and with it goes the flock
	t := &tx{ctx: ctx, lk: lk, file: file, info: info, asked: asked}
	if err := t.load(how); err != nil {
		return false, nil, err
	}
	if err := f(t); err != nil {
		return false, nil, err
	}
	if again, err = t.commit(); err != nil || again {
		lk.cache = nil
		if !errors.Is(err, errUnsure) {
			lk.fitClaim() // what it was raised for has not happened
		}
		return again, nil, err
	}
	return false, t.calls, nil
}

// load reads the state. A fresh file may be in the place of one that was removed by hand: that is checked.
func (t *tx) load(how access) error {
	lk := t.lk
	t.box = box{file: t.file, magic: lockMagic, page: lk.page[:]}
	var born, seq uint64
	if lk.cache != nil {
		born, seq = lk.born, lk.seq
	}
	text, err := t.box.readUnless(born, seq, false)
	t.at = lk.store.now()
	switch {
	case err != nil:
		return lk.problem(advise(err))
	case t.box.seq == freshSeq && how == existing:
		return errNoFile
	case lk.cache != nil && text == nil:
		t.state, t.cached = lk.cache, true
	default:
		lk.cache = nil
		if t.state, err = decodeState(string(text)); err != nil {
			return lk.problem(advise(err))
		}
	}
	if err := lk.checkName(t.state); err != nil {
		return err
	}
	if t.box.seq == freshSeq && how == creating {
		if err := t.checkClaims(); err != nil {
			lk.unmake(t.info)
			return err
		}
	}
	t.dirty = t.state.adopt(t.at, false) || t.dirty
	t.state.mark()
	if !t.cached {
		t.compare()
	}
	return nil
}

// unmake removes a file that nobody has used since it was made.
func (lk *lock) unmake(opened os.FileInfo) {
	if same, err := lk.same(opened); same && err == nil {
		os.Remove(lk.path())
	}
}

// checkName refuses the file of another lock. Of a stray lock only the key is known; a blank file says nothing.
func (lk *lock) checkName(s *state) error {
	if s.name == lk.name && s.permits == lk.permits || lk.name == "" && keyOf(s.name, s.mode()) == lk.key {
		return nil
	}
	return lk.problem(fmt.Errorf("it is the file of %q, not of this lock: somebody has renamed it; move it back", s.name))
}

// token gives away the lock's next token, and takes a block of new ones if there is none left.
func (t *tx) token() (uint64, error) {
	s, st := t.state, t.lk.store
	if s.next == s.end {
		r, err := openRecord(t.ctx, st.done(t.ctx), st.dir.path, false)
		if err != nil {
			return 0, err
		}
		defer r.close()
		if r.identity != st.identity {
			return 0, fmt.Errorf("%s: %w", st.dir.path, errMoved)
		}
		if s.next, s.end, err = r.take(); err != nil {
			return 0, fmt.Errorf("%s: no tokens can be taken from it: %w", r.path, bare(err))
		}
	}
	s.next++
	return s.next - 1, nil
}

// serve grants what can be granted.
func (t *tx) serve() error {
	if t.state.settle(t.at.now) {
		t.dirty = true
	}
	granted, err := t.state.serve(t.at, t.token)
	t.dirty = t.dirty || len(granted) > 0
	return err
}

// commit writes the change. The order matters: first the claim to an entry, so that a sweep does not clear this client away as
// one without any; then the bells, so that whoever is killed between two of these steps has either changed nothing or has told
// everybody; then the state; then the claim to hold, so that nobody makes the file anew without asking us; then a last look whether
// the file is still where it was. A bell that cannot be rung for want of a descriptor ends it: nothing is written that somebody
// concerned would not be told.
//
// A claim to hold is there only while its entry is: it comes after that and goes before. Else whoever is killed in between would
// leave a claim to hold without an entry; the file could be removed for being empty, and while the killed one is not quite dead
// whoever makes the file anew would take it for a holder whose file was removed by hand.
func (t *tx) commit() (again bool, err error) {
	lk, st := t.lk, t.lk.store
	t.serveAll()
	wanted, grants := t.sync()
	if t.dirty {
		if err := t.commitState(wanted); err != nil {
			return false, err
		}
	}
	if err := t.raiseClaim(wanted); err != nil {
		return false, err
	}
	st.did(stepRaised)
	if grants {
		if same, err := lk.same(t.info); err != nil || !same {
			return err == nil, err
		}
	}
	if rank(wanted) < rank(lk.claim) {
		lk.setClaim(wanted) // if it fails it is tried again the next time
	}
	if t.unlink && t.state.empty() {
		if err := os.Remove(lk.path()); err != nil {
			return false, lk.problem(err)
		}
		return false, nil
	}
	lk.cache, lk.born, lk.seq = t.state, t.box.born, t.box.seq
	st.mu.Lock()
	if st.ended && t.ctx != st.closing { // it took so long that Close did not wait: whatever was granted has ended with the client
		st.mu.Unlock()
		return false, errClosed
	}
	lk.strays = false // compare has taken them out
	for _, news := range t.news {
		news()
	}
	st.mu.Unlock()
	t.arrange()
	return false, nil
}

// commitState tells those whom the state concerns, and writes it. Meanwhile the claim is to an entry, unless it stays what it is. If
// it fails whoever held goes on holding.
func (t *tx) commitState(wanted byte) error {
	lk, st, was := t.lk, t.lk.store, t.lk.claim
	if was != wanted && was != claimWait {
		if err := lk.setClaim(claimWait); err != nil && was == claimNone { // else it makes room, and that must not fail for this
			return err
		}
	}
	st.did(stepClaimed)
	err := t.ringConcerned()
	if err == nil {
		err = t.write()
	}
	if err != nil && was != lk.claim && was == claimHold {
		lk.setClaim(was)
	}
	st.did(stepWritten)
	return err
}

func (t *tx) ringConcerned() error {
	for _, client := range t.state.concerned(t.lk.store.id) {
		if err := t.lk.store.ring(client, t.lk.sum); err != nil {
			return t.lk.problem(advise(err))
		}
	}
	return nil
}

// write writes the state. While there is a minimum hold in it, it is synced each time: the next but one goes where this one is, and
// a power failure could then leave neither.
func (t *tx) write() error {
	lk := t.lk
	t.state.clock, t.state.epoch = t.at.clock, t.at.epoch()
	lk.text = t.state.encode(lk.text[:0])
	if err := t.box.write(lk.text); err != nil {
		return t.lk.openProblem(err, true)
	}
	if !t.state.keeps(t.at.now) {
		return nil
	}
	err := syncFile(t.file)
	if err == nil {
		err = syncDirectory(t.lk.store.dir.locks)
	}
	if err != nil {
		return t.lk.problem(fmt.Errorf("%w: %w", errUnsure, bare(err)))
	}
	return nil
}
