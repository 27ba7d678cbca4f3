package filelock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast.dev/driver"
)

// Break ends the hold with that token, or all readers that share it; see driver.Breaker. Its holder is told by a bell. A minimum hold
// whose holder is gone can be broken too: with Now it ends at once; without, nobody is left to be told.
func (st *Store) Break(ctx context.Context, b *driver.BreakRequest) error {
	if err := driver.CheckName(b.Name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	st.mu.Lock()
	if st.ended {
		st.mu.Unlock()
		return errClosed
	}
	lk := st.lockOf(b.Name, b.Mode)
	lk.users++
	st.mu.Unlock()
	defer func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		lk.users--
		st.rest(lk)
	}()

	err := lk.change(ctx, existing, func(t *tx) error {
		if err := t.buryHolders(b.Token); err != nil {
			return err
		}
		t.state.settle(t.at.now)
		if !t.state.breakHold(b, t.at.now) {
			return driver.ErrGone
		}
		t.dirty = true
		return nil
	})
	if errors.Is(err, errNoFile) {
		return fmt.Errorf("%w: nobody uses that lock", driver.ErrGone)
	}
	return err
}

// buryHolders takes those with that token out who are dead.
func (t *tx) buryHolders(token uint64) error {
	for _, h := range slices.Clone(t.state.holders) {
		if h.token != token || h.client == "" {
			continue
		}
		life, err := t.lk.store.probe(h.client)
		if err != nil && life != odd {
			return t.lk.problem(err)
		}
		if life == dead {
			t.dirty = t.state.bury(h.client, t.at.now) || t.dirty
		}
	}
	return nil
}
