package filelock

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

func removeLock(t *testing.T, st *Store, name string) {
	t.Helper()
	if err := os.Remove(st.dir.lockPath(keyOf(name, driver.Exclusive))); err != nil {
		t.Fatal(err)
	}
}

// isRefused checks for an answer that contains a text.
func isRefused(t *testing.T, err error, text string) {
	t.Helper()
	if _, ok := errors.AsType[*driver.Refused](err); !ok || !driver.Answered(err) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v; want a *driver.Refused that says %q", err, text)
	}
}

// The file is removed by hand while the lock is held: nobody else gets it, until it is released.
func TestRemovedWhileHeld(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		r := ask("x", driver.Exclusive)
		g := take(t, a, r)
		removeLock(t, a, "x")
		for _, st := range []*Store{a, b} {
			_, err := st.Acquire(t.Context(), ask("x", driver.Exclusive, noWait))
			isRefused(t, err, "it was removed while")
		}
		free(t, a, r)
		if next := take(t, b, ask("x", driver.Exclusive, noWait)); next.Token <= g.Token {
			t.Errorf("token %d after %d", next.Token, g.Token)
		}
	})
}

// Those who wait in a file that was removed begin anew when its holder releases, or ends.
func TestRemovedWhileWaitedFor(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		for _, end := range []func(*Store, *driver.Request){
			func(st *Store, r *driver.Request) { st.Release(t.Context(), r) },
			func(st *Store, _ *driver.Request) { kill(st) },
		} {
			dir := newDir(t)
			a, b := opened(t, dir, c), opened(t, dir, c)
			r := ask("x", driver.Exclusive)
			take(t, a, r)
			w, mine := queue(t, b, ask("x", driver.Exclusive)), queue(t, a, ask("x", driver.Exclusive))
			removeLock(t, a, "x")
			w.waits()
			end(a, r)
			if err := w.failed(); !errors.Is(err, driver.ErrGone) {
				t.Errorf("Acquire in a file that was removed: %v; want ErrGone", err)
			}
			mine.failed()
			take(t, b, ask("x", driver.Exclusive, noWait))
		}
	})
}

// A claim stays for as long as one of a client's attempts holds, and no longer; slots are used again.
func TestClaimsAreExact(t *testing.T) {
	st := opened(t, newDir(t))
	kind := func(name string) byte {
		text, err := os.ReadFile(st.presence.claims.path)
		if err != nil {
			t.Fatal(err)
		}
		return findClaim(text, sumOf(keyOf(name, driver.Exclusive)))
	}
	for round := range 300 {
		first, second := ask("x", driver.Shared), ask("x", driver.Shared)
		take(t, st, first)
		take(t, st, second)
		w := queue(t, st, ask("x", driver.Exclusive))
		other := ask("y", driver.Exclusive)
		take(t, st, other)
		free(t, st, first)
		if kind("x") != claimHold || kind("y") != claimHold {
			t.Fatalf("round %d: claims %q and %q, while both are held", round, kind("x"), kind("y"))
		}
		free(t, st, second)
		w.granted()
		free(t, st, w.r)
		free(t, st, other)
		if kind("x") != claimNone || kind("y") != claimNone {
			t.Fatalf("round %d: claims %q and %q, while nothing is held", round, kind("x"), kind("y"))
		}
	}
	if n := st.presence.used; n > 2 {
		t.Errorf("%d slots were used for two locks", n)
	}
}

// Nobody can tell whether a client lives whose directory was removed: the lock is refused, and can be broken.
func TestClientRemoved(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		g := take(t, a, ask("x", driver.Exclusive))
		w := queue(t, b, ask("x", driver.Exclusive))
		if err := os.RemoveAll(a.dir.clientPath(a.id)); err != nil {
			t.Fatal(err)
		}
		_, err := b.Acquire(t.Context(), ask("x", driver.Exclusive, noWait))
		if held, ok := errors.AsType[*driver.Held](err); !ok { // it stands behind its own waiter, or sees the holder
			isRefused(t, err, "break the hold with Now")
		} else if len(held.Holders) != 1 {
			t.Errorf("held by %+v", held.Holders)
		}
		if !c.poll && !c.network {
			b.poke(b.locks[keyOf("x", driver.Exclusive)])
		}
		isRefused(t, w.failed(), "break the hold with Now")
		if err := b.Break(t.Context(), &driver.BreakRequest{Name: "x", Token: g.Token, Now: true}); err != nil {
			t.Fatalf("Break: %v", err)
		}
		take(t, b, ask("x", driver.Exclusive, noWait))
	})
}

// A holder that was broken is told, whether it is woken or polls.
func TestBrokenIsTold(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		for _, now := range []bool{false, true} {
			told := make(chan error, 2)
			r := ask("x", driver.Exclusive, func(r *driver.Request) { r.Lost = func(err error) { told <- err } })
			g := take(t, a, r)
			if err := b.Break(t.Context(), &driver.BreakRequest{Name: "x", Token: g.Token, Now: now, By: "ops"}); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-told:
				if broken, ok := errors.AsType[*driver.Broken](err); !ok || *broken != (driver.Broken{By: "ops", Now: now}) {
					t.Errorf("Lost(%v); want it broken by ops, now %v", err, now)
				}
			case <-time.After(soon):
				t.Fatal("the holder was not told")
			}
			if err := a.Release(t.Context(), r); now != errors.Is(err, driver.ErrGone) {
				t.Errorf("Release of a hold that was broken, now %v: %v", now, err)
			}
			if len(told) > 0 {
				t.Error("told twice")
			}
		}
	})
}
