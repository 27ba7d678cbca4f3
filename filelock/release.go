package filelock

import (
	"context"
	"errors"

	"holdfast.dev/driver"
)

// Release makes sure that r's attempt neither waits nor holds; see driver.Store. An attempt belongs to the client that asked for
// it: another one answers ErrGone.
func (st *Store) Release(ctx context.Context, r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	hash := attemptHash(r.Attempt)
	st.mu.Lock()
	if st.ended {
		st.mu.Unlock()
		return errClosed
	}
	lk := st.lockOf(r.Name, r.Mode)
	st.entomb(lk.key, hash, r)
	a := lk.attempts[hash]
	if a == nil {
		st.rest(lk)
		st.mu.Unlock()
		return driver.ErrGone
	}
	lk.users++
	a.undone = true
	st.mu.Unlock()

	err := st.release(ctx, a, r)

	st.mu.Lock()
	defer st.mu.Unlock()
	lk.users--
	st.rest(lk)
	return err
}

func (st *Store) release(ctx context.Context, a *attempt, r *driver.Request) error {
	lk := a.lock
	gone := false
	err := lk.change(ctx, existing, func(t *tx) error {
		e := t.state.find(st.id, a.hash)
		gone = e == nil || e.phase == ghost
		if e != nil {
			t.state.leave(e, r.Keep > 0, t.at.now)
			t.dirty = true
		}
		t.forget(a)
		return nil
	})
	switch {
	case errors.Is(err, errNoFile):
		return st.releaseRemoved(ctx, a)
	case errors.Is(err, errMoved):
		st.mu.Lock()
		a.gone(driver.ErrGone)
		lk.strays = true // should the directory come back
		st.mu.Unlock()
		lk.lookAgain()
		return &goneWith{err}
	case err != nil:
		return err
	case gone:
		return driver.ErrGone
	}
	return nil
}

// goneWith is ErrGone, and says only why: that there is no such hold any more is said by whoever is told ErrGone.
type goneWith struct{ why error }

func (g *goneWith) Error() string { return g.why.Error() }

// Unwrap makes it ErrGone, and an answer.
func (g *goneWith) Unwrap() error { return driver.ErrGone }

// releaseRemoved releases an attempt whose lock's file somebody has removed. If it held, nobody else could: the claim has seen to
// that. It ends now, and those who wait in the removed file are told to look again.
func (st *Store) releaseRemoved(ctx context.Context, a *attempt) error {
	lk := a.lock
	if err := lk.enter(ctx); err != nil {
		return err
	}
	defer lk.exit()
	st.mu.Lock()
	was := a.phase
	a.gone(driver.ErrGone)
	st.mu.Unlock()
	lk.fitClaim()
	others, err := st.claimants(lk.sum)
	for _, c := range others {
		st.ring(c.id, lk.sum)
	}
	st.poke(lk) // others of this client may wait in the removed file
	if was != holding && was != waiting {
		return driver.ErrGone
	}
	return err
}
