package interop_test

import (
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
	"holdfast.dev/interop/peers"
)

// Who is killed while it holds keeps the other out for the rest of its TTL, and no longer.
func TestKilledHolder(t *testing.T) {
	each(t, func(t *testing.T, peer peers.Peer, f *fleet) {
		t.Run("they are killed", func(t *testing.T) {
			t.Parallel()
			killHolder(t, f, peer, ours)
		})
		t.Run("we are killed", func(t *testing.T) {
			t.Parallel()
			killHolder(t, f, ours, peer)
		})
	})
}

func killHolder(t *testing.T, f *fleet, first, second peers.Peer) {
	ctx, name := t.Context(), newName(t)
	other := start(t, second, f)
	for range tries {
		holder := start(t, first, f)
		asked := time.Now()
		must(t, holder.Lock(ctx, name, brief, wait))
		holder.Kill()
		killed := time.Now()
		free, latest := f.freeAt(t, name)
		if ends := asked.Add(brief); free.After(killed) && latest.Before(ends) {
			t.Fatalf("a majority of the nodes is free %v before its TTL is over", ends.Sub(latest))
		}
		err := other.Lock(ctx, name, forLong, wait)
		got := time.Now()
		if must(t, err); got.Before(free) {
			t.Fatalf("it has the lock %v before a majority of the nodes can have been free", free.Sub(got))
		}
		must(t, other.Unlock(ctx, name))
		f.isFree(t, name)
		if free.After(killed) {
			return // it was held when its holder was killed: this was a test
		}
	}
	t.Fatalf("the lock's TTL was over before its holder could be killed, %d times", tries)
}

// Who is killed while it waits leaves nothing behind.
func TestKilledWaiter(t *testing.T) {
	eachWay(t, func(t *testing.T, f *fleet, first, second *line.Program) {
		ctx, name := t.Context(), newName(t)
		must(t, first.Lock(ctx, name, forLong, wait))
		mustBe(t, second.Try(ctx, name, brief), line.ErrHeld)
		got := make(chan error, 1)
		go func() { got <- second.Lock(ctx, name, brief, wait) }()
		for until := time.Now().Add(100 * time.Millisecond); time.Now().Before(until); { // some tries, however many
			time.Sleep(time.Millisecond)
		}
		second.Kill()
		if err := <-got; err == nil {
			t.Fatal("both hold it")
		}
		must(t, first.Extend(ctx, name, forLong))
		must(t, first.Unlock(ctx, name))
		f.isFree(t, name)
	})
}
