package memlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

const minimum = 30 * time.Second // longer than ttl

// R4: after a release the lock stays taken, by nobody, until its minimum hold is over, counted from the grant.
func TestKeptAfterRelease(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, keeping(minimum), label("former"))
		grant := take(t, st, r)
		time.Sleep(time.Second)
		release(t, st, r)
		held := refused(t, st, ask("x", driver.Exclusive))
		equal(t, "RetryIn", held.RetryIn, minimum-time.Second)
		equal(t, "holder", held.Holders[0], driver.Holder{
			Label: "former", Token: grant.Token, Mode: driver.Exclusive, Held: time.Second, Left: minimum - time.Second, Kept: true,
		})
		wantError(t, st.Release(background, r), driver.ErrGone) // it has no owner any more
		_, err := grant.Lease.Renew(background, ttl)
		wantError(t, err, driver.ErrGone)

		next := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(minimum - time.Second - 1)
		next.waits(t)
		time.Sleep(time.Nanosecond)
		next.granted(t)
	})
}

// R4: an undone attempt keeps nothing: nobody ran under it.
func TestUndoneKeepsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, keeping(minimum))
		take(t, st, r)
		undo := *r
		undo.Keep = 0
		release(t, st, &undo)
		equal(t, "remains", st.Server().Remains(), "")
		take(t, st, ask("x", driver.Exclusive))
	})
}

// A hold that was granted without Keep is not kept, whatever its release says.
func TestKeepBelongsToTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		take(t, st, r)
		later := *r
		later.Keep = minimum
		release(t, st, &later)
		equal(t, "remains", st.Server().Remains(), "")
		take(t, st, ask("x", driver.Exclusive))
	})
}

// The end of its holder does not skip the minimum hold; and the owner is told when its hold ends, not when the lock is free.
func TestKeptAfterExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var lost hearing
		start := time.Now()
		r := ask("x", driver.Exclusive, keeping(minimum), losing(lost.lost))
		take(t, st, r)
		held := refused(t, st, ask("x", driver.Exclusive))
		equal(t, "RetryIn", held.RetryIn, minimum) // asking when the TTL is over would be too early
		next := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(ttl)
		synctest.Wait()
		equal(t, "told", len(lost.heard()), 1)
		equal(t, "told after", lost.at.Sub(start), ttl)
		next.waits(t)
		time.Sleep(minimum - ttl - 1)
		next.waits(t)
		time.Sleep(time.Nanosecond)
		next.granted(t)
		equal(t, "told", len(lost.heard()), 1)
	})
}

// A minimum hold that is over when the hold ends keeps nothing.
func TestMinimumOverBeforeTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		a := ask("x", driver.Exclusive, keeping(time.Second))
		take(t, st, a)
		time.Sleep(time.Second)
		release(t, st, a)
		take(t, st, ask("x", driver.Exclusive, keeping(time.Second)))
		next := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(ttl)
		next.granted(t)
	})
}

// A kept reader keeps writers out and readers in. A new reader beside it begins a new generation: nobody else reads.
func TestKeptReader(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Shared, keeping(minimum))
		first := take(t, st, r)
		release(t, st, r)
		second := take(t, st, ask("x", driver.Shared, lasting(time.Second)))
		if second.Token <= first.Token {
			t.Errorf("tokens %d, then %d", first.Token, second.Token)
		}
		third := take(t, st, ask("x", driver.Shared, lasting(time.Second)))
		equal(t, "token of those who read together", third.Token, second.Token)
		writer := queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(minimum - 1)
		writer.waits(t)
		time.Sleep(time.Nanosecond)
		writer.granted(t)
	})
}

// A reader that stays when another one is kept goes on being the generation.
func TestKeptReaderBesideAnother(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := take(t, st, ask("x", driver.Shared))
		r := ask("x", driver.Shared, keeping(minimum))
		take(t, st, r)
		release(t, st, r)
		equal(t, "token", take(t, st, ask("x", driver.Shared)).Token, first.Token)
	})
}

// A kept permit occupies as many as it had.
func TestKeptPermits(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Permits, permits(2, 3), keeping(minimum))
		take(t, st, r)
		release(t, st, r)
		take(t, st, ask("x", driver.Permits, permits(1, 3), lasting(time.Hour)))
		next := queue(t, st, ask("x", driver.Permits, permits(2, 3)))
		_, err := st.Acquire(background, ask("x", driver.Permits, permits(1, 4)))
		wantError(t, err, driver.ErrRequest) // it is in use
		time.Sleep(minimum - 1)
		next.waits(t)
		time.Sleep(time.Nanosecond)
		next.granted(t)
	})
}

// An attempt that comes back while its own former hold is kept waits like everybody else, and the end of the old one does not
// touch the new one.
func TestComesBackToItsOwnKeptHold(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, keeping(minimum))
		first := take(t, st, r)
		time.Sleep(ttl)
		again := queue(t, st, r)
		time.Sleep(minimum - ttl)
		second := again.granted(t)
		if second.Token <= first.Token {
			t.Errorf("tokens %d, then %d", first.Token, second.Token)
		}
		if _, err := second.Lease.Renew(background, ttl); err != nil {
			t.Error(err)
		}
		release(t, st, r)

		again = queue(t, st, r) // once more, but now the kept one is broken
		breaks(t, st, driver.BreakRequest{Name: "x", Token: second.Token, Now: true})
		again.granted(t)
		release(t, st, r)
	})
}
