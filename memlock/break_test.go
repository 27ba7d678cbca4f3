package memlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func breaks(t *testing.T, st *memlock.Store, b driver.BreakRequest) {
	t.Helper()
	if err := st.Break(background, &b); err != nil {
		t.Fatalf("Break: %v", err)
	}
	synctest.Wait()
}

// isBroken checks an error for being *driver.Broken.
func isBroken(t *testing.T, err error, want driver.Broken) {
	t.Helper()
	var broken *driver.Broken
	if !errors.As(err, &broken) || *broken != want {
		t.Fatalf("got %v, want %+v", err, want)
	}
}

// B1 and B2: the holder is told, is not renewed, and the lock moves on when it releases.
func TestBreak(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		r := ask("x", driver.Exclusive, losing(lost.lost))
		grant := take(t, st, r)
		next := queue(t, st, ask("x", driver.Exclusive))
		breaks(t, st.Server().Connect(), driver.BreakRequest{Name: "x", Token: grant.Token, By: "ops"})
		equal(t, "told", len(lost.heard()), 1)
		isBroken(t, lost.heard()[0], driver.Broken{By: "ops"})
		_, err := grant.Lease.Renew(background, ttl)
		isBroken(t, err, driver.Broken{By: "ops"})
		if errors.Is(err, driver.ErrGone) {
			t.Error("it is called gone, but still excludes")
		}
		next.waits(t)
		equal(t, "shown", look(t, st, "x", driver.Exclusive).Holders[0].Broken, true)

		release(t, st, r)
		next.granted(t)
	})
}

// B2: nothing renews it, so it ends with its TTL at the latest. Lost has been called, and is not called again; Renew still says
// why, and that it is gone.
func TestBrokenRunsOut(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		r := ask("x", driver.Exclusive, losing(lost.lost))
		grant := take(t, st, r)
		next := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(4 * time.Second)
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token, By: "ops"})
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token, By: "others"}) // a second time
		again := take(t, st, r)                                                         // asked for again it is the same hold
		equal(t, "token", again.Token, grant.Token)
		equal(t, "TTL", again.TTL, 6*time.Second) // but is not renewed
		time.Sleep(6*time.Second - 1)
		next.waits(t)
		time.Sleep(time.Nanosecond)
		next.granted(t)
		equal(t, "told", len(lost.heard()), 1)
		_, err := grant.Lease.Renew(background, ttl)
		isBroken(t, err, driver.Broken{By: "ops"})
		wantError(t, err, driver.ErrGone)
	})
}

// B3: with Now it is free at once, Keep included.
func TestBreakNow(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		r := ask("x", driver.Exclusive, losing(lost.lost), keeping(minimum))
		grant := take(t, st, r)
		next := queue(t, st, ask("x", driver.Exclusive))
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token, Now: true, By: "ops"})
		if after := next.granted(t); after.Token <= grant.Token {
			t.Errorf("token %d after %d", after.Token, grant.Token)
		}
		equal(t, "told", len(lost.heard()), 1)
		isBroken(t, lost.heard()[0], driver.Broken{By: "ops", Now: true})
		_, err := grant.Lease.Renew(background, ttl)
		isBroken(t, err, driver.Broken{By: "ops", Now: true})
		wantError(t, err, driver.ErrGone)
		wantError(t, st.Release(background, r), driver.ErrGone)
	})
}

// First asked to end, then ended: told once, and Renew says how it ended.
func TestBreakThenNow(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		grant := take(t, st, ask("x", driver.Exclusive, losing(lost.lost)))
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token, By: "ops"})
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token, By: "ops", Now: true})
		equal(t, "told", len(lost.heard()), 1)
		_, err := grant.Lease.Renew(background, ttl)
		isBroken(t, err, driver.Broken{By: "ops", Now: true})
		take(t, st, ask("x", driver.Exclusive))
	})
}

// Exactly the hold with that token: anything else is ErrGone and changes nothing.
func TestBreakOfNothing(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		old := take(t, st, r)
		release(t, st, r)
		var lost hearing
		grant := take(t, st, ask("x", driver.Exclusive, losing(lost.lost)))
		queue(t, st, ask("x", driver.Exclusive))
		for what, b := range map[string]driver.BreakRequest{
			"an earlier token":    {Name: "x", Token: old.Token},
			"a later token":       {Name: "x", Token: grant.Token + 1},
			"a waiter":            {Name: "x", Token: 0},
			"another name":        {Name: "y", Token: grant.Token},
			"the semaphore":       {Name: "x", Token: grant.Token, Mode: driver.Permits},
			"an earlier, at once": {Name: "x", Token: old.Token, Now: true},
		} {
			if err := st.Break(background, &b); !errors.Is(err, driver.ErrGone) {
				t.Errorf("Break of %s: %v", what, err)
			}
		}
		equal(t, "told", len(lost.heard()), 0)
		if _, err := grant.Lease.Renew(background, ttl); err != nil {
			t.Errorf("Renew: %v", err)
		}
		wantError(t, st.Break(background, &driver.BreakRequest{Token: 1}), driver.ErrName)
		ctx, cancel := context.WithCancel(background)
		cancel()
		wantError(t, st.Break(ctx, &driver.BreakRequest{Name: "x", Token: grant.Token}), context.Canceled)
	})
}

// Of readers all of the generation are broken, and nobody joins it any more: later tokens are greater.
func TestBreakOfReaders(t *testing.T) {
	for _, now := range []bool{false, true} {
		bubble(t, func(t *testing.T, st *memlock.Store) {
			var a, b, c hearing
			first := take(t, st, ask("x", driver.Shared, losing(a.lost)))
			take(t, st, ask("x", driver.Shared, losing(b.lost)))
			breaks(t, st, driver.BreakRequest{Name: "x", Mode: driver.Shared, Token: first.Token, Now: now})
			equal(t, "told the one", len(a.heard()), 1)
			equal(t, "told the other", len(b.heard()), 1)

			third := take(t, st, ask("x", driver.Shared, losing(c.lost)))
			if third.Token <= first.Token {
				t.Errorf("a reader after the break has token %d, the broken ones %d", third.Token, first.Token)
			}
			equal(t, "of one who joins", take(t, st, ask("x", driver.Shared)).Token, third.Token)
			again := st.Break(background, &driver.BreakRequest{Name: "x", Token: first.Token})
			if gone := errors.Is(again, driver.ErrGone); gone != now {
				t.Errorf("broken again: %v", again)
			}
			equal(t, "told the later one", len(c.heard()), 0)
		})
	}
}

func TestBreakOfPermits(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		grant := take(t, st, ask("x", driver.Permits, permits(2, 3)))
		take(t, st, ask("x", driver.Permits, permits(1, 3)))
		next := queue(t, st, ask("x", driver.Permits, permits(2, 3)))
		breaks(t, st, driver.BreakRequest{Name: "x", Mode: driver.Permits, Token: grant.Token, Now: true})
		next.granted(t)
	})
}

// What is kept by a minimum hold can be freed at once; to be told to end there is nobody.
func TestBreakOfAKeptHold(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, keeping(minimum))
		grant := take(t, st, r)
		release(t, st, r)
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token})
		next := queue(t, st, ask("x", driver.Exclusive))
		holder := look(t, st, "x", driver.Exclusive).Holders[0]
		equal(t, "kept", holder.Kept, true)
		equal(t, "broken", holder.Broken, true)
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token, Now: true})
		next.granted(t)
	})
}

// A soft break does not skip the minimum hold.
func TestBrokenIsStillKept(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, keeping(minimum))
		grant := take(t, st, r)
		breaks(t, st, driver.BreakRequest{Name: "x", Token: grant.Token})
		release(t, st, r)
		equal(t, "RetryIn", refused(t, st, ask("x", driver.Exclusive)).RetryIn, minimum)
	})
}
