package filelock

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"holdfast.dev/driver"
)

// A client that is killed goes on looking alive until the kernel has closed its pipe; on a busy machine that lasts. The guard that it
// had may be free long before. Nobody is refused a lock because of that, and nobody gets one that the file says is held.

// dying is a client that ends after a step of the next change, once it is told so: it lets go of the guard, does nothing more,
// and looks alive until it is killed.
type dying struct {
	*Store
	after atomic.Pointer[string] // nil: it lives on
}

func openedDying(t *testing.T, dir string, c config) *dying {
	d := &dying{}
	c.step = func(done string) {
		if after := d.after.Load(); after != nil && done == *after {
			runtime.Goexit()
		}
	}
	d.Store = opened(t, dir, c)
	t.Cleanup(d.die)
	return d
}

// die ends what is left of it, once.
func (d *dying) die() {
	if !d.isClosed() {
		kill(d.Store)
	}
}

// ends does something that the client does not survive.
func (d *dying) ends(t *testing.T, after string, do func()) {
	t.Helper()
	d.after.Store(&after)
	survived, over := false, make(chan struct{})
	go func() {
		defer close(over)
		do()
		survived = true
	}()
	if <-over; survived {
		t.Fatalf("there was no step %q", after)
	}
}

// asleep is a client that nothing wakes but what the test does with it: what another one finds is then that one's own doing.
func asleep(c config) config {
	c.refresh = soon
	return c
}

func TestSlowToDie(t *testing.T) {
	plays := []struct {
		when, after string
		free        bool // as the file says, while the client is dying
	}{
		{"locks", stepClaimed, true},
		{"locks", stepWritten, false},
		{"locks", stepRaised, false},
		{"unlocks", stepClaimed, false},
		{"unlocks", stepWritten, true},
	}
	for _, p := range plays {
		t.Run(p.when+", "+p.after, func(t *testing.T) {
			both(t, func(t *testing.T, c config) {
				dir := newDir(t)
				a, b := openedDying(t, dir, asleep(c)), opened(t, dir, asleep(c))
				r := ask("x", driver.Exclusive)
				act := func() { a.Acquire(t.Context(), r) }
				if p.when == "unlocks" {
					act()
					act = func() { a.Release(t.Context(), r) }
				}
				a.ends(t, p.after, act)
				if p.free {
					twice(t, b, "x")
					return
				}
				taken(t, b, "x")
				a.die()
				twice(t, b, "x")
			})
		})
	}
}

// twice takes a lock, and takes it again after its file was removed as one that nobody uses.
func twice(t *testing.T, st *Store, name string) {
	t.Helper()
	for range 2 {
		r := ask(name, driver.Exclusive, noWait)
		take(t, st, r)
		free(t, st, r)
		if err := st.locks[keyOf(name, driver.Exclusive)].removeIfEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(st.dir.lockPath(keyOf(name, driver.Exclusive))); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("the file of a lock that nobody uses: %v; want it removed", err)
		}
	}
}

// What a killed holder has left is cleared away by somebody who opens the directory, just while another one makes the lock's
// file and has seen there that it claims to hold. Nobody holds it.
func TestClearedWhileAsked(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a := opened(t, dir, c)
		cleared := 0
		c.step = func(done string) {
			if done == stepAsked {
				cleared++
				if err := a.dir.disappear(a.id); err != nil { // as the end of a sweep that has removed the lock's file before
					t.Error(err)
				}
			}
		}
		b := opened(t, dir, c)
		take(t, a, ask("x", driver.Exclusive))
		kill(a)
		if err := b.stray(keyOf("x", driver.Exclusive)).change(t.Context(), tidying, func(t *tx) error {
			t.dirty, t.unlink = t.state.bury(a.id, t.at.now), true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if claim, err := b.claimOf(a.id, sumOf(keyOf("x", driver.Exclusive))); err != nil || claim.kind != claimHold {
			t.Fatalf("the claim that the killed one has left: %q, %v; want %q", claim.kind, err, claimHold)
		}
		take(t, b, ask("x", driver.Exclusive, noWait))
		if cleared == 0 {
			t.Error("the file was made without asking for claims")
		}
	})
}

// A release that cannot be written is none: whoever holds goes on to be protected.
func TestClaimOfAFailedRelease(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	r := ask("x", driver.Exclusive)
	take(t, a, r)
	lk := a.locks[keyOf("x", driver.Exclusive)]
	err := lk.change(t.Context(), existing, func(t *tx) error {
		t.state.leave(t.state.find(a.id, attemptHash(r.Attempt)), false, t.at.now)
		t.dirty = true
		return t.file.Close() // so that it cannot be written
	})
	if err == nil {
		t.Fatal("a file that was closed was written")
	}
	if lk.claim != claimHold {
		t.Errorf("the claim is %q; want %q", lk.claim, claimHold)
	}
	removeLock(t, a, "x")
	_, err = b.Acquire(t.Context(), ask("x", driver.Exclusive, noWait))
	isRefused(t, err, "it was removed while")
}

// The file is removed by hand, after a step of a grant, and another client asks for the lock just then: one of the two gets it.
func TestRemovedWhileGranted(t *testing.T) {
	for _, after := range []string{stepClaimed, stepWritten, stepRaised} {
		t.Run(after, func(t *testing.T) {
			both(t, func(t *testing.T, c config) {
				dir := newDir(t)
				b := opened(t, dir, asleep(c))
				var other error
				removed := false
				c.step = func(done string) {
					if done == after && !removed {
						removed = true
						removeLock(t, b, "x")
						_, other = b.Acquire(t.Context(), ask("x", driver.Exclusive, noWait))
					}
				}
				a := opened(t, dir, asleep(c))
				_, err := a.Acquire(t.Context(), ask("x", driver.Exclusive, noWait))
				if granted := after == stepRaised; !removed || (err == nil) != granted || (other == nil) == granted {
					t.Errorf("the client itself: %v, and the other one: %v", err, other)
				}
			})
		})
	}
}
