package interop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast.dev"
	"holdfast.dev/interop/internal/line"
	"holdfast.dev/interop/peers"
)

// openHere opens ours in this process.
func openHere(t *testing.T, f *fleet, opts ...holdfast.OpenOption) *holdfast.Client {
	t.Helper()
	client, err := holdfast.Open(t.Context(), peers.URL(f.addrs()...), opts...)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// Our error says that another program holds it, and until when. Who waits gets it by the unlock, long before the end of the TTL.
func TestHeldByThem(t *testing.T) {
	each(t, func(t *testing.T, peer peers.Peer, f *fleet) {
		waiting := make(chan struct{}, 100)
		client := openHere(t, f, holdfast.WithObserver(holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
			if e.Kind == holdfast.EventWaiting {
				waiting <- struct{}{}
			}
		})))
		they := start(t, peer, f)
		ctx, name := t.Context(), newName(t)
		must(t, they.Lock(ctx, name, forLong, wait))
		held := refused(t, client, name)
		if holder := held.Holders[0]; holder.Left <= 0 || holder.Left > forLong {
			t.Errorf("another minute or two are left, not %v", holder.Left)
		}
		if held.RetryIn <= 0 || held.RetryIn > forLong {
			t.Errorf("it is worth asking again within the TTL, not in %v", held.RetryIn)
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		got := make(chan error, 1)
		go func() {
			hold, err := client.Mutex(name).Lock(ctx)
			if err == nil {
				err = hold.Unlock()
			}
			got <- err
		}()
		select {
		case <-waiting:
		case err := <-got:
			t.Fatalf("both hold it, or it did not wait: %v", err)
		}
		must(t, they.Unlock(ctx, name))
		must(t, <-got)
		f.isFree(t, name)
	})
}

// refused tries a lock that another program has, and returns why it cannot be had.
func refused(t *testing.T, client *holdfast.Client, name string) *holdfast.HeldError {
	t.Helper()
	_, err := client.Mutex(name).TryLock(t.Context())
	var held *holdfast.HeldError
	if !errors.As(err, &held) || !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("TryLock says %v, not that it is held", err)
	}
	if len(held.Holders) != 1 || held.Holders[0].Label != "another program" || held.Holders[0].Token != 0 || held.Own {
		t.Fatalf("it is another program's, without a token, but the holders are %+v", held.Holders)
	}
	return held
}

// A lock of theirs that never runs out is said to be one.
func TestNeverExpires(t *testing.T) {
	endless := slices.DeleteFunc(all(), func(p peers.Peer) bool { return !p.Endless })
	eachOf(t, endless, func(t *testing.T, peer peers.Peer, f *fleet) {
		client, they := openHere(t, f), start(t, peer, f)
		ctx, name := t.Context(), newName(t)
		must(t, they.Lock(ctx, name, 0, wait))
		neverExpires(t, refused(t, client, name))
		must(t, they.Unlock(ctx, name))
		hold, err := client.Mutex(name).Lock(ctx)
		must(t, err)
		mustBe(t, they.Try(ctx, name, 0), line.ErrHeld)
		must(t, hold.Unlock())
	})
}

func neverExpires(t *testing.T, held *holdfast.HeldError) {
	t.Helper()
	if text := held.Error(); !strings.Contains(text, "never expires") {
		t.Errorf("that it never expires is not said: %s", text)
	}
	if left := held.Holders[0].Left; left != holdfast.Forever {
		t.Errorf("it is left for ever, not for %v", left)
	}
}

// So is a key without a TTL, whoever wrote it.
func TestKeyWithoutTTL(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{{1, false}, {3, false}, {3, true}} {
		f, name := newFleet(t, k), newName(t)
		client := openHere(t, f)
		f.do(t, "SET", name, "somebody")
		neverExpires(t, refused(t, client, name))
		f.do(t, "DEL", name)
		hold, err := client.Mutex(name).TryLock(t.Context())
		must(t, err)
		must(t, hold.Unlock())
	}
}

// What a minority of the nodes has of theirs, after a crash for instance, does not keep us out, and we leave it alone.
func TestMinorityOfTheirs(t *testing.T) {
	t.Parallel()
	f, name := newFleet(t, kind{nodes: 3}), newName(t)
	client := openHere(t, f)
	_, err := f.nodes[1].Do(t.Context(), "SET", name, "somebody", "PX", "120000")
	must(t, err)
	hold, err := client.Mutex(name).Lock(t.Context())
	must(t, err)
	must(t, hold.Extend(t.Context(), forLong)) // and nodes that have nothing of it are asked again
	must(t, hold.Unlock())
	if value, err := f.nodes[1].Do(t.Context(), "GET", name); value != "somebody" {
		t.Fatalf("its node has %v now (%v)", value, err)
	}
}
