package memlock_test

import (
	"context"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func TestReadersTogether(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		a, b := ask("x", driver.Shared), ask("x", driver.Shared)
		take(t, st, a)
		take(t, st, b)
		writer := queue(t, st, ask("x", driver.Exclusive))
		release(t, st, a)
		writer.waits(t)
		release(t, st, b)
		writer.granted(t)
		refused(t, st, ask("x", driver.Shared))
	})
}

// Readers that come after a waiting writer wait behind it; after it all of them are granted together, up to the next writer.
func TestReadersDoNotOvertakeAWriter(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Shared)
		take(t, st, first)
		writer := queue(t, st, ask("x", driver.Exclusive))
		a := queue(t, st, ask("x", driver.Shared))
		b := queue(t, st, ask("x", driver.Shared))
		second := queue(t, st, ask("x", driver.Exclusive))
		c := queue(t, st, ask("x", driver.Shared))

		release(t, st, first)
		writer.granted(t)
		a.waits(t)
		release(t, st, writer.r)
		a.granted(t)
		b.granted(t)
		second.waits(t)
		c.waits(t)
		release(t, st, a.r)
		second.waits(t)
		release(t, st, b.r)
		second.granted(t)
		c.waits(t)
		release(t, st, second.r)
		c.granted(t)
	})
}

// When the writer at the head leaves, the readers behind it go in at once.
func TestWriterLeavesTheHead(t *testing.T) {
	for how, leave := range map[string]func(*testing.T, *memlock.Store, *call, context.CancelFunc){
		"released": func(t *testing.T, st *memlock.Store, c *call, _ context.CancelFunc) { release(t, st, c.r) },
		"cut off":  func(_ *testing.T, _ *memlock.Store, _ *call, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *memlock.Store) {
				take(t, st, ask("x", driver.Shared))
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				writer := begin(ctx, t, st, ask("x", driver.Exclusive))
				writer.waits(t)
				reader := queue(t, st, ask("x", driver.Shared))
				leave(t, st, writer, cancel)
				reader.granted(t)
			})
		})
	}
}

// Each reader has a TTL of its own: one that renews stays, one that does not runs out, whatever the others do.
func TestEveryReaderHasItsOwnTTL(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var short, long, renewed hearing
		take(t, st, ask("x", driver.Shared, lasting(2*time.Second), losing(short.lost)))
		take(t, st, ask("x", driver.Shared, lasting(20*time.Second), losing(long.lost)))
		grant := take(t, st, ask("x", driver.Shared, lasting(3*time.Second), losing(renewed.lost)))
		start := time.Now()
		equal(t, "RetryIn", refused(t, st, ask("x", driver.Exclusive)).RetryIn, 2*time.Second) // when the first of them runs out
		writer := queue(t, st, ask("x", driver.Exclusive))

		time.Sleep(2 * time.Second)
		writer.waits(t)
		equal(t, "the short one was told", len(short.heard()), 1)
		equal(t, "holders", len(look(t, st, "x", driver.Shared).Holders), 2)
		if _, err := grant.Lease.Renew(background, 28*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(18 * time.Second)
		writer.waits(t)
		equal(t, "the long one was told", len(long.heard()), 1)
		equal(t, "when", long.at.Sub(start), 20*time.Second)
		time.Sleep(10 * time.Second)
		writer.granted(t)
		equal(t, "the renewed one was told", len(renewed.heard()), 1)
		equal(t, "when", renewed.at.Sub(start), 30*time.Second)
	})
}
