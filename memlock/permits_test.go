package memlock_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func TestPermitsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		two := ask("x", driver.Permits, permits(2, 5))
		take(t, st, two)
		take(t, st, ask("x", driver.Permits, permits(3, 5)))
		next := queue(t, st, ask("x", driver.Permits, permits(1, 5)))
		release(t, st, two)
		next.granted(t)
		take(t, st, ask("x", driver.Permits, permits(1, 5)))
		refused(t, st, ask("x", driver.Permits, permits(1, 5)))
	})
}

// A request for many at the head is not starved by the small ones behind it.
func TestManyPermitsHoldBackFew(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		a := ask("x", driver.Permits, permits(2, 5))
		b := ask("x", driver.Permits, permits(2, 5))
		take(t, st, a)
		take(t, st, b)
		many := queue(t, st, ask("x", driver.Permits, permits(4, 5)))
		few := queue(t, st, ask("x", driver.Permits, permits(1, 5))) // there would be room
		refused(t, st, ask("x", driver.Permits, permits(1, 5)))
		release(t, st, a)
		many.waits(t)
		few.waits(t)
		release(t, st, b)
		many.granted(t)
		few.granted(t)
	})
}

// When the one that did not fit leaves, those behind it that do are served.
func TestManyPermitsLeaveTheHead(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Permits, permits(3, 5)))
		many := queue(t, st, ask("x", driver.Permits, permits(5, 5)))
		a := queue(t, st, ask("x", driver.Permits, permits(1, 5)))
		b := queue(t, st, ask("x", driver.Permits, permits(1, 5)))
		release(t, st, many.r)
		a.granted(t)
		b.granted(t)
	})
}

func TestSemaphoreAndLockAreStrangers(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive))
		take(t, st, ask("x", driver.Permits, permits(1, 1)))
		refused(t, st, ask("x", driver.Exclusive))
		refused(t, st, ask("x", driver.Permits, permits(1, 1)))
	})
}

// Everybody who uses a semaphore must name the same limit, for as long as anybody uses it.
func TestLimit(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Permits, permits(1, 2), lasting(2*time.Second))
		take(t, st, first)
		other := ask("x", driver.Permits, permits(1, 3))
		_, err := st.Acquire(background, other)
		var limit *driver.LimitError
		if !errors.As(err, &limit) || *limit != (driver.LimitError{N: 1, Want: 3, Have: 2}) || !driver.Answered(err) {
			t.Fatalf("Acquire: %v", err)
		}
		first.Limit = 3 // nor may a holder come back with another one
		_, err = st.Acquire(background, first)
		wantError(t, err, driver.ErrRequest)

		time.Sleep(2 * time.Second) // runs out
		take(t, st, other)
		_, err = st.Acquire(background, ask("x", driver.Permits, permits(1, 2)))
		wantError(t, err, driver.ErrRequest)
	})
}

// A tombstone is no use of the semaphore.
func TestLimitAfterUndo(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		wantError(t, st.Release(background, ask("x", driver.Permits, permits(1, 2))), driver.ErrGone)
		take(t, st, ask("x", driver.Permits, permits(1, 3)))
	})
}

// A limit as large as an int can be is a limit too.
func TestPermitsDoNotOverflow(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Permits, permits(math.MaxInt, math.MaxInt)))
		refused(t, st, ask("x", driver.Permits, permits(math.MaxInt, math.MaxInt)))
		refused(t, st, ask("x", driver.Permits, permits(1, math.MaxInt)))
	})
}
