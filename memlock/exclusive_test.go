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

func TestExclusiveExcludes(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		second := queue(t, st, ask("x", driver.Exclusive))
		reader := queue(t, st, ask("x", driver.Shared))
		take(t, st, ask("y", driver.Exclusive)) // another lock

		release(t, st, first)
		second.granted(t)
		reader.waits(t)
		release(t, st, second.r)
		reader.granted(t)
	})
}

func TestTwoConnectionsOneServer(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		other := st.Server().Connect()
		r := ask("x", driver.Exclusive)
		take(t, st, r)
		next := queue(t, other, ask("x", driver.Exclusive))
		release(t, other, r) // by its id, whatever the connection
		next.granted(t)
	})
}

func TestServersAreStrangers(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive))
		take(t, memlock.New(), ask("x", driver.Exclusive))
	})
}

// R3: a release frees nothing but its own attempt.
func TestReleaseOfAStranger(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive)
		take(t, st, first)
		second := queue(t, st, ask("x", driver.Exclusive))
		wantError(t, st.Release(background, ask("x", driver.Exclusive)), driver.ErrGone)
		second.waits(t)

		release(t, st, first)
		second.granted(t)
		wantError(t, st.Release(background, first), driver.ErrGone) // a second time: it is somebody else's now
		refused(t, st, ask("x", driver.Exclusive))
	})
}

// The same attempt id with another name is another attempt.
func TestAttemptsBelongToANameAndAKind(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		take(t, st, r)
		other, semaphore := *r, *r
		other.Name = "y"
		semaphore.Mode, semaphore.N, semaphore.Limit = driver.Permits, 1, 1
		wantError(t, st.Release(background, &other), driver.ErrGone)
		wantError(t, st.Release(background, &semaphore), driver.ErrGone)
		refused(t, st, ask("x", driver.Exclusive))
	})
}

// A5: without waiting the answer is who holds and when it is worth asking again, and nothing is queued.
func TestNoWait(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive, label("first"))
		grant := take(t, st, first)
		time.Sleep(3 * time.Second)
		held := refused(t, st, ask("x", driver.Exclusive, label("second")))
		equal(t, "RetryIn", held.RetryIn, 7*time.Second)
		equal(t, "holders", len(held.Holders), 1)
		equal(t, "holder", held.Holders[0], driver.Holder{
			Label: "first", Token: grant.Token, Mode: driver.Exclusive, Held: 3 * time.Second, Left: 7 * time.Second,
		})
		equal(t, "waiters", len(look(t, st, "x", driver.Exclusive).Waiters), 0)

		release(t, st, first)
		take(t, st, ask("x", driver.Exclusive, noWait))
	})
}

// NoWait does not overtake those who wait, although there would be room for it.
func TestNoWaitDoesNotOvertake(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Shared))
		queue(t, st, ask("x", driver.Exclusive))
		refused(t, st, ask("x", driver.Shared))
	})
}

// A4: a wait that is cut off says who held, and that it was cut off; and it is no answer.
func TestCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive, label("first")))
		ctx, cancel := context.WithTimeout(background, 4*time.Second)
		defer cancel()
		second := begin(ctx, t, st, ask("x", driver.Exclusive))
		second.waits(t)
		time.Sleep(4 * time.Second)
		err := second.failed(t, context.DeadlineExceeded)
		var held *driver.Held
		if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Label != "first" {
			t.Errorf("the error does not say who holds: %v", err)
		}
		if driver.Answered(err) {
			t.Error("it is called an answer, but the attempt may still wait")
		}
	})
}

// A4: a grant that is there is returned, although ctx has ended as well.
func TestGrantedWhileContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		for range 50 { // whatever case the select picks
			first := ask("x", driver.Exclusive)
			take(t, st, first)
			ctx, cancel := context.WithCancel(background)
			second := begin(ctx, t, st, ask("x", driver.Exclusive))
			release(t, st, first)
			cancel()
			second.granted(t)
			release(t, st, second.r)
		}
	})
}

func TestContextAlreadyDone(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		ctx, cancel := context.WithCancel(background)
		cancel()
		r := ask("x", driver.Exclusive)
		begin(ctx, t, st, r).failed(t, context.Canceled)
		wantError(t, st.Release(ctx, r), context.Canceled)
		equal(t, "remains", st.Server().Remains(), "")

		grant := take(t, st, r)
		_, err := grant.Lease.Renew(ctx, ttl)
		wantError(t, err, context.Canceled)
		if driver.Answered(err) {
			t.Error("a renewal that was never asked for is called answered")
		}
	})
}

// A7: what is malformed is refused before anything happens.
func TestMalformed(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		for what, r := range map[string]*driver.Request{
			"no name":     ask("", driver.Exclusive),
			"bad name":    ask("a\x00b", driver.Exclusive),
			"no mode":     ask("x", 0),
			"no TTL":      ask("x", driver.Exclusive, lasting(0)),
			"no attempt":  {Name: "x", Mode: driver.Exclusive, TTL: ttl},
			"no permits":  ask("x", driver.Permits),
			"too many":    ask("x", driver.Permits, permits(3, 2)),
			"with limits": ask("x", driver.Exclusive, permits(1, 1)),
		} {
			_, acquired := st.Acquire(background, r)
			released := st.Release(background, r)
			if !driver.Answered(acquired) || !driver.Answered(released) || errors.Is(released, driver.ErrGone) {
				t.Errorf("%s: Acquire: %v, Release: %v", what, acquired, released)
			}
		}
		equal(t, "remains", st.Server().Remains(), "")
	})
}

// An attempt that comes back for something else is a mistake of the program: a reader must not take its grant for a writer's.
func TestRepeatedForSomethingElse(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Shared)
		take(t, st, r)
		r.Mode = driver.Exclusive
		begin(background, t, st, r).failed(t, driver.ErrRequest)
		p := ask("x", driver.Permits, permits(1, 5))
		take(t, st, p)
		p.N = 2
		begin(background, t, st, p).failed(t, driver.ErrRequest)
	})
}

// A bubble of its own shows that nothing but the test's own goroutines run: the server has none.
func TestNoGoroutineAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memlock.New()
		take(t, st, ask("x", driver.Exclusive, lasting(time.Hour)))
	}) // would panic if a goroutine were left when the test function has returned and all others block
}
