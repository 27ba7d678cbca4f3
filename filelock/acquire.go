package filelock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast.dev/driver"
)

// Acquire asks for r and waits its turn; see driver.Store. Nothing runs out here: the grant has no lease, and its hold ends with
// its release or its process.
func (st *Store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Reserve > 0 {
		return nil, fmt.Errorf("%w: tokens cannot be reserved in a directory", driver.ErrUnsupported)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, c, err := st.join(r)
		if err != nil {
			return nil, err
		}
		grant, err := st.acquire(ctx, a, c, r)
		st.quit(a, c)
		if err != errAnew {
			return grant, err
		}
	}
}

// errAnew: the attempt has ended meanwhile, and was asked for again: it begins anew.
var errAnew = errors.New("the attempt begins anew")

// join makes the call one of r's attempt: the one that there is (A1), or a new one.
func (st *Store) join(r *driver.Request) (*attempt, *call, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return nil, nil, errClosed
	}
	lk, hash := st.lockOf(r.Name, r.Mode), attemptHash(r.Attempt)
	if st.buried(lk.key, hash) {
		return nil, nil, fmt.Errorf("%w: it was released before", driver.ErrGone)
	}
	a := lk.attempts[hash]
	switch {
	case a == nil:
		a = &attempt{
			lock: lk, hash: hash, label: r.Label, mode: r.Mode, n: r.N, limit: r.Limit, keep: r.Keep, ttl: r.TTL,
			decided: make(chan struct{}), away: driver.Never,
		}
		lk.attempts[hash] = a
	case a.undone:
		return nil, nil, fmt.Errorf("%w: it was released before", driver.ErrGone)
	case a.mode != r.Mode || a.n != r.N:
		return nil, nil, fmt.Errorf("%w: the attempt has asked for something else before; use a new one", driver.ErrRequest)
	}
	a.lost, a.away = r.Lost, driver.Never
	if a.unalarm != nil {
		a.unalarm()
		a.unalarm = nil
	}
	c := &call{news: make(chan struct{}, 1)}
	a.callers = append(a.callers, c)
	lk.users++
	return a, c, nil
}

// quit ends a call. A waiter whose last caller left keeps its place for its TTL: it may come back, or be released.
func (st *Store) quit(a *attempt, c *call) {
	st.mu.Lock()
	defer st.mu.Unlock()
	lk := a.lock
	lk.users--
	a.callers = slices.DeleteFunc(a.callers, func(other *call) bool { return other == c })
	switch {
	case len(a.callers) > 0 || a.phase == ghost || a.returned:
	case a.phase == 0: // it is not in the file
		if lk.attempts[a.hash] == a {
			delete(lk.attempts, a.hash)
		}
	case !st.ended:
		a.away = st.Clock().Now().Add(a.ttl)
		a.unalarm = st.Clock().At(a.away, func() { st.poke(lk) })
	}
	st.rest(lk)
}

// acquire asks, and waits.
func (st *Store) acquire(ctx context.Context, a *attempt, c *call, r *driver.Request) (*driver.Grant, error) {
	var held *driver.Held
	asked := st.Clock().Now()
	err := a.lock.change(ctx, creating, func(t *tx) (err error) {
		held, err = t.ask(a, r)
		return err
	})
	if err != nil {
		return nil, st.refusal(a, err)
	}
	st.mu.Lock()
	switch {
	case a.undone:
		err = driver.ErrGone
	case st.ended: // what was granted has ended with the client
		err = errClosed
	case a.phase == holding:
		defer st.mu.Unlock()
		return a.grant(asked), nil
	case held != nil:
		err = held
	case a.phase == ghost && a.err != driver.ErrGone: // its client was removed by hand, for instance
		err = a.err
	case a.phase == ghost:
		err = errAnew
	}
	first := a.progress()
	st.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return st.await(ctx, a, c, r, first)
}

// refusal turns the error of a request that was not carried out into an answer, where it is certain that it was not.
func (st *Store) refusal(a *attempt, err error) error {
	if errors.Is(err, errUnsure) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if a.phase == 0 {
			a.phase = waiting // it may be in the file: Release will look there
		}
		return err
	}
	if driver.Answered(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrClosed) {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if a.phase != 0 {
		return err // it waits or holds, as before
	}
	return &driver.Refused{Err: err}
}

// ask makes sure that a is in the state, and serves. With NoWait it answers who is in the way.
func (t *tx) ask(a *attempt, r *driver.Request) (*driver.Held, error) {
	st := t.lk.store
	st.mu.Lock()
	undone, known, alone := a.undone, a.phase != 0, len(a.callers) == 1
	st.mu.Unlock()
	if undone {
		return nil, driver.ErrGone
	}
	e := t.state.find(st.id, a.hash)
	if e == nil && known {
		return nil, nil // it is no more: sync will tell
	}
	if e == nil {
		if err := t.admit(r); err != nil {
			return nil, err
		}
		e = &entry{
			phase: waiting, client: st.id, attempt: a.hash, label: a.label, mode: a.mode, n: a.n, since: t.at.now, keep: a.keep,
		}
		t.state.queue = append(t.state.queue, e)
		if t.state.permits {
			t.state.limit = r.Limit
		}
	}
	if err := t.advance(); err != nil {
		return nil, err
	}
	if e.phase != waiting {
		return nil, nil
	}
	held := t.state.held(t.at.now)
	if !r.NoWait {
		if !known {
			t.dirty = true
			t.waits(a)
		}
		return nil, nil
	}
	if alone {
		t.state.leave(e, false, t.at.now)
		if known {
			t.dirty = true
			t.forget(a)
		}
	}
	return held, nil
}

// forget ends an attempt that is in the file no longer, once that is written.
func (t *tx) forget(a *attempt) {
	t.news = append(t.news, func() { a.gone(driver.ErrGone) })
}

// admit refuses a request that contradicts those who are there. Those may be dead.
func (t *tx) admit(r *driver.Request) error {
	err := t.state.check(r)
	if err == nil {
		return nil
	}
	if buried, probeErr := t.buryDead(); probeErr != nil || !buried {
		return err
	}
	if err := t.serve(); err != nil {
		return err
	}
	return t.state.check(r)
}

// await waits for the decision, for the end of ctx, or for Close.
func (st *Store) await(ctx context.Context, a *attempt, c *call, r *driver.Request, first driver.Progress) (*driver.Grant, error) {
	if r.Waiting != nil {
		r.Waiting(first)
	}
	for {
		select {
		case <-c.news:
			st.mu.Lock()
			progress, still := a.progress(), a.phase == waiting
			st.mu.Unlock()
			if still && r.Waiting != nil && ctx.Err() == nil {
				r.Waiting(progress)
			}
			continue
		case <-a.decided:
		case <-ctx.Done():
		case <-st.closed:
		}
		return st.conclude(ctx, a)
	}
}
