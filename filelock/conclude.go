package filelock

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// The end of a wait. Who waits is told little while it waits: in a queue for a mutex a hand-over rings one bell, so what the others
// have seen last may be long past. Whoever gives up is to be told who is in the way now, so it looks once more: without the
// lock's turn, without changing anything, and no longer than lookAtMost, because its context has ended. Where it cannot look (a guard
// that somebody keeps, a file that is gone) it tells what was seen last, as old as that is now.
//
// The crossing: the look may find that the attempt itself was granted the lock just then. Its bell has rung, so the decision is on
// its way; it is waited for as long as is left of that time, and returned if it comes. Otherwise the core releases the attempt.

const (
	lookAtMost = 20 * time.Millisecond
	lookPause  = time.Millisecond     // between two tries to get a guard that is busy
	stillFresh = 5 * time.Millisecond // thousands may give up together: what one of them has just seen will do for the others
)

// conclude finds out what the end of a wait means. A decision comes first: what else has ended meanwhile does not matter then.
func (st *Store) conclude(ctx context.Context, a *attempt) (*driver.Grant, error) {
	if grant, err := st.decision(a); err != errUndecided {
		return grant, err
	}
	holders := st.inTheWay(a)
	if grant, err := st.decision(a); err != errUndecided {
		return grant, err
	}
	return nil, errors.Join(&driver.Held{Holders: holders}, ctx.Err())
}

var (
	errUndecided = errors.New("the attempt waits")
	errBusy      = errors.New("another process is using the file")
)

// decision is what a's wait has come to.
func (st *Store) decision(a *attempt) (*driver.Grant, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case a.undone:
		return nil, driver.ErrGone
	case st.ended: // what was granted has ended with the client
		return nil, errClosed
	case a.phase == holding:
		return a.grant(a.asked), nil
	case a.phase == ghost:
		return nil, a.err
	}
	return nil, errUndecided
}

// inTheWay returns who holds the lock that a waits for.
func (st *Store) inTheWay(a *attempt) []driver.Holder {
	if st.begin(context.Background()) != nil {
		return nil
	}
	defer st.running.Done()
	if !st.network { // a file server that hangs would keep whoever has given up
		over := time.Now().Add(lookAtMost)
		if seen, ok := a.lock.glance(over); ok {
			return seen.besides(a, over)
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return aged(slices.Clone(a.lock.holders), st.now().now.sub(a.lock.seen))
}

// A glimpse is who held the lock when somebody who gave up looked.
type glimpse struct {
	at      stamp
	holders []*entry
}

// besides describes who holds the lock besides a. If a itself does, it waits a moment for its decision.
func (g glimpse) besides(a *attempt, over time.Time) []driver.Holder {
	st := a.lock.store
	others := slices.DeleteFunc(slices.Clone(g.holders), func(h *entry) bool { return h.client == st.id && h.attempt == a.hash })
	if len(others) < len(g.holders) {
		select {
		case <-a.decided:
		case <-time.After(time.Until(over)):
		}
	}
	return (&state{holders: others}).describe(st.now().now)
}

// glance looks at who holds the lock, unless somebody else has just done so. It tries until over at most.
func (lk *lock) glance(over time.Time) (seen glimpse, ok bool) {
	st := lk.store
	select {
	case lk.glancing <- struct{}{}:
		defer func() { <-lk.glancing }()
	case <-time.After(time.Until(over)):
		return glimpse{}, false
	}
	st.mu.Lock()
	seen = lk.glimpse
	st.mu.Unlock()
	if st.now().now.before(seen.at.add(stillFresh)) {
		return seen, true
	}
	s, err := st.readGuarded(lk.key, tryShared)
	for err == errBusy && time.Now().Before(over) {
		time.Sleep(lookPause)
		s, err = st.readGuarded(lk.key, tryShared)
	}
	if err != nil {
		return glimpse{}, false
	}
	seen = glimpse{st.now().now, st.living(s)}
	st.mu.Lock()
	lk.glimpse = seen
	st.mu.Unlock()
	return seen, true
}

// living returns the holders that there would be if everybody had noticed which of them are dead.
func (st *Store) living(s *state) []*entry {
	now := st.now().now
	for _, h := range slices.Clone(s.holders) {
		if h.client == "" {
			continue
		}
		if life, _ := st.probe(h.client); life == dead {
			s.bury(h.client, now)
		}
	}
	s.settle(now)
	return s.holders
}

// tryShared takes f's flock for reading, unless somebody has it.
func tryShared(f *os.File) (*os.File, error) {
	got, err := flock(f, false, false)
	if err == nil && !got {
		err = errBusy
	}
	if err != nil {
		f.Close()
	}
	return f, err
}

// aged is what was known that long ago, as it would be now if nothing had happened since.
func aged(holders []driver.Holder, by time.Duration) []driver.Holder {
	holders = slices.DeleteFunc(holders, func(h driver.Holder) bool { return h.Kept && h.Left <= by })
	for i := range holders {
		holders[i].Held += by
		if holders[i].Kept {
			holders[i].Left -= by
		}
	}
	return holders
}
