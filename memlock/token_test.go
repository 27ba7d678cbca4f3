package memlock_test

import (
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Tokens begin at 1 and rise over release, expiry and break, for every name.
func TestTokensRise(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		equal(t, "first", take(t, st, r).Token, 1)
		release(t, st, r)
		second := take(t, st, ask("x", driver.Exclusive)).Token
		equal(t, "after a release", second, 2)
		time.Sleep(ttl)
		third := take(t, st, ask("x", driver.Exclusive)).Token
		equal(t, "after an expiry", third, 3)
		if err := st.Break(background, &driver.BreakRequest{Name: "x", Token: third, Now: true}); err != nil {
			t.Fatal(err)
		}
		equal(t, "after a break", take(t, st, ask("x", driver.Exclusive)).Token, 4)
	})
}

// A grant's spare tokens are nobody else's.
func TestReserve(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive, reserving(9))
		first := take(t, st, r)
		equal(t, "spare", first.Spare, 9)
		release(t, st, r)
		many := ask("x", driver.Exclusive, reserving(1<<32-1))
		second := take(t, st, many)
		equal(t, "next", second.Token, first.Token+10)
		equal(t, "spare of too many", second.Spare, memlock.MaxReserve)
		next := queue(t, st, ask("x", driver.Exclusive, reserving(1)))
		release(t, st, many)
		third := next.granted(t)
		equal(t, "after a wait", third.Token, second.Token+1+memlock.MaxReserve)
		equal(t, "spare after a wait", third.Spare, 1)
	})
}

// Readers that overlap share a token, without spare ones; it is greater than every earlier writer's and less than every later one's.
func TestGenerations(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		w1 := ask("x", driver.Exclusive)
		first := take(t, st, w1)
		a := queue(t, st, ask("x", driver.Shared, reserving(5)))
		b := queue(t, st, ask("x", driver.Shared, reserving(5)))
		release(t, st, w1)
		generation := a.granted(t)
		equal(t, "of those granted together", b.granted(t).Token, generation.Token)
		late := ask("x", driver.Shared)
		equal(t, "of one who joins", take(t, st, late).Token, generation.Token)
		equal(t, "spare", generation.Spare, 0)
		w2 := queue(t, st, ask("x", driver.Exclusive))
		release(t, st, a.r)
		release(t, st, b.r)
		release(t, st, late)
		second := w2.granted(t)
		if first.Token >= generation.Token || generation.Token >= second.Token {
			t.Errorf("writer %d, readers %d, writer %d", first.Token, generation.Token, second.Token)
		}
		release(t, st, w2.r)

		r := ask("x", driver.Shared)
		third := take(t, st, r)
		release(t, st, r)
		if fourth := take(t, st, ask("x", driver.Shared)); fourth.Token <= third.Token || third.Token <= second.Token {
			t.Errorf("readers that do not overlap: %d, then %d", third.Token, fourth.Token)
		}
	})
}

// A generation outlives the reader that began it.
func TestGenerationStaysWithItsReaders(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		a, b := ask("x", driver.Shared), ask("x", driver.Shared)
		first := take(t, st, a)
		take(t, st, b)
		release(t, st, a)
		equal(t, "token", take(t, st, ask("x", driver.Shared)).Token, first.Token)
	})
}

// Every hold of permits has a token of its own.
func TestTokensOfPermits(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		a := take(t, st, ask("x", driver.Permits, permits(1, 5), reserving(2)))
		b := take(t, st, ask("x", driver.Permits, permits(1, 5)))
		equal(t, "spare", a.Spare, 2)
		equal(t, "next", b.Token, a.Token+3)
	})
}
