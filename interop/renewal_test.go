package interop_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
	"holdfast.dev/interop/peers"
)

// What we hold is renewed, without being told to: they stay out beyond the first TTL.
func TestRenewal(t *testing.T) {
	each(t, func(t *testing.T, peer peers.Peer, f *fleet) {
		ctx, we, they := t.Context(), start(t, ours, f), start(t, peer, f)
		for range tries {
			name := newName(t)
			must(t, we.Lock(ctx, name, brief, wait))
			out := true // they are
			for ends := time.Now().Add(brief + brief/2); out && time.Now().Before(ends); time.Sleep(time.Millisecond) {
				if err := they.Try(ctx, name, forLong); err != nil {
					mustBe(t, err, line.ErrHeld)
				} else {
					out = false
				}
			}
			switch err := we.Unlock(ctx, name); {
			case err == nil && out:
				return
			case err == nil:
				t.Fatal("both hold it")
			case !errors.Is(err, line.ErrGone):
				t.Fatal(err)
			}
		}
		t.Fatalf("it was lost, %d times", tries)
	})
}
