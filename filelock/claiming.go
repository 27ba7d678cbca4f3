package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"holdfast.dev/driver"
)

// What a lock's own client claims (see commit), and what the claims of others mean to whoever makes the lock's file.

// checkClaims refuses to make a lock's file anew while somebody holds that lock: the old file was removed. Those who wait in it
// are told to look again.
func (t *tx) checkClaims() error {
	lk := t.lk
	if lk.claim == claimHold {
		return &driver.Refused{Err: lk.removed("this client")}
	}
	others, err := lk.store.claimants(lk.sum)
	if err != nil {
		return err
	}
	lk.store.did(stepAsked)
	switch c, err := lk.store.holderAmong(others, lk.sum, func(id string) (life, error) { return lk.store.probeAgain(t.ctx, id) }); {
	case err != nil:
		return lk.problem(advise(err))
	case c != nil:
		return &driver.Refused{Err: lk.removed(c.who)}
	}
	for _, c := range others {
		if err := lk.store.ring(c.id, lk.sum); err != nil {
			return lk.problem(advise(err))
		}
	}
	return nil
}

// probeAgain gives a client that is being killed a moment to end. It is asked about one whose lock's file was removed by hand, and only
// then: whoever has a claim to hold has an entry, from before the claim until after it (see commit), however it ends and however
// long that takes. So nothing depends on how long this waits.
func (st *Store) probeAgain(ctx context.Context, id string) (life, error) {
	for tries := 1; ; tries++ {
		l, err := st.probe(id)
		if err != nil || l != alive || tries == 20 || driver.Sleep(ctx, 5*time.Millisecond) != nil {
			return l, err
		}
	}
}

func (lk *lock) removed(who string) error {
	return lk.problem(fmt.Errorf("it was removed while %s holds the lock: try again when it has released it, or has ended", who))
}

func rank(claim byte) int {
	switch claim {
	case claimHold:
		return 2
	case claimWait:
		return 1
	}
	return 0
}

// fitClaim lowers the claim to what this client's attempts need, as far as they know. Whoever calls it has the turn.
func (lk *lock) fitClaim() {
	wanted := claimNone
	lk.store.mu.Lock()
	if lk.strays {
		wanted = claimWait
	}
	for _, a := range lk.attempts {
		switch a.phase {
		case holding:
			wanted = claimHold
		case waiting:
			wanted = higher(wanted, claimWait)
		}
	}
	lk.store.mu.Unlock()
	if rank(wanted) < rank(lk.claim) {
		lk.setClaim(wanted)
	}
}

func higher(a, b byte) byte {
	if rank(a) > rank(b) {
		return a
	}
	return b
}

func (lk *lock) setClaim(kind byte) (err error) {
	if lk.slot, err = lk.store.presence.set(lk.slot, lk.sum, kind); err == nil {
		lk.claim = kind
	}
	return err
}

// raiseClaim raises the claim to what the state needs, which is written. If it cannot, what is written says more than is claimed: that
// is to be taken out again, unless Close has given up waiting for us, and all this client's entries have ended with it.
func (t *tx) raiseClaim(wanted byte) error {
	if rank(wanted) <= rank(t.lk.claim) {
		return nil
	}
	err := t.lk.setClaim(wanted)
	switch {
	case errors.Is(err, os.ErrClosed):
		return errClosed
	case err != nil && t.dirty:
		return fmt.Errorf("%w: %w", errUnsure, err)
	}
	return err
}

// Steps of a change, for tests.
const (
	stepAsked   = "asked"   // the claims of others were read
	stepClaimed = "claimed" // the claim to an entry is there, and the entry is not; or the claim to hold is gone, and the entry is not
	stepWritten = "written" // the state is there
	stepRaised  = "raised"  // the claim to hold is there, and nobody was told
)

// did lets a test end the client after a step.
func (st *Store) did(step string) {
	if st.step != nil {
		st.step(step)
	}
}
