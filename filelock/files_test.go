//go:build unix

package filelock

import (
	"errors"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// copies returns copies of a client's files, to be closed at the end of the test, if not before.
func copies(t testing.TB, st *Store) (closeThem func()) {
	t.Helper()
	files, err := st.Files()
	if err != nil || len(files) != 1 {
		t.Fatalf("Files: %v, %v; want one", files, err)
	}
	t.Cleanup(func() { files[0].Close() })
	return func() {
		if err := files[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// Everything that a killed client held stays held while a copy is open: for those who wait, for those who ask, and for those who open
// the directory when nobody else is there. The last copy that is closed ends it, at once; then nothing is left.
func TestCopyKeepsHolds(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		c.refresh = time.Hour // so that nobody finds out what it was not told
		dir := newDir(t)
		a := opened(t, dir, c)
		first := take(t, a, ask("x", driver.Exclusive))
		take(t, a, ask("r", driver.Shared))
		take(t, a, ask("s", driver.Permits, permits(2, 3)))
		one, another := copies(t, a), copies(t, a)
		kill(a)

		b := opened(t, dir, c)
		if held := taken(t, b, "x"); len(held.Holders) != 1 || held.Holders[0].Token != first.Token {
			t.Errorf("held by %+v; want token %d", held.Holders, first.Token)
		}
		waiters := []*pending{
			queue(t, b, ask("x", driver.Exclusive)), queue(t, b, ask("r", driver.Exclusive)),
			queue(t, b, ask("s", driver.Permits, permits(2, 3))),
		}
		one()
		for _, name := range []string{"x", "r"} {
			if info := look(t, b, name); len(info.Holders) != 1 || len(info.Waiters) != 1 {
				t.Errorf("with one copy left %s is shown as %+v; want a holder and a waiter", name, info)
			}
		}
		for _, w := range waiters {
			w.waits()
		}
		another()
		for _, w := range waiters {
			if g := w.granted(); g.Token <= first.Token {
				t.Errorf("token %d after %d", g.Token, first.Token)
			}
		}
		opened(t, dir, c).Close() // it sweeps
		b.Close()
		isEmpty(t, dir)
	})
}

// A client that is killed while it waits keeps its place while a copy is open, and its turn comes, with nobody to use it.
func TestCopyKeepsAPlaceInTheQueue(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b, d := opened(t, dir, c), opened(t, dir, c), opened(t, dir, c)
		r := ask("x", driver.Exclusive)
		take(t, a, r)
		queue(t, b, ask("x", driver.Exclusive, func(r *driver.Request) { r.Label = "killed" }))
		last := queue(t, d, ask("x", driver.Exclusive))
		closeThem := copies(t, b)
		kill(b)
		if info := look(t, a, "x"); len(info.Waiters) != 2 || info.Waiters[0].Label != "killed" {
			t.Errorf("it is shown as %+v; want two who wait", info)
		}
		free(t, a, r)
		if info := look(t, a, "x"); len(info.Holders) != 1 || info.Holders[0].Label != "killed" || len(info.Waiters) != 1 {
			t.Errorf("it is shown as %+v; want that the one who was killed holds", info)
		}
		last.waits()
		closeThem()
		last.granted()
	})
}

// A hold that only a copy keeps can be broken: gently it stays until the copy is closed, with Now it is free at once.
func TestBreakWhatACopyKeeps(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		g := take(t, a, ask("gently", driver.Exclusive))
		h := take(t, a, ask("now", driver.Exclusive))
		closeThem := copies(t, a)
		kill(a)
		gently, now := queue(t, b, ask("gently", driver.Exclusive)), queue(t, b, ask("now", driver.Exclusive))
		for _, r := range []*driver.BreakRequest{
			{Name: "gently", Mode: driver.Exclusive, Token: g.Token, By: "b"}, {Name: "now", Mode: driver.Exclusive, Token: h.Token, Now: true, By: "b"},
		} {
			if err := b.Break(t.Context(), r); err != nil {
				t.Fatalf("Break of %s: %v", r.Name, err)
			}
		}
		now.granted()
		if info := look(t, b, "gently"); len(info.Holders) != 1 || !info.Holders[0].Broken || info.Holders[0].Token != g.Token {
			t.Errorf("it is shown as %+v; want its holder, broken", info)
		}
		gently.waits()
		closeThem()
		gently.granted()
		free(t, b, gently.r)
		free(t, b, now.r)
		opened(t, dir, c).Close() // it sweeps
		b.Close()
		isEmpty(t, dir)
	})
}

// A minimum hold runs on when the last copy is closed, as after a kill.
func TestCopyAndMinimumHold(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive, keeping(time.Hour)))
	closeThem := copies(t, a)
	kill(a)
	if info := look(t, b, "x"); len(info.Holders) != 1 || info.Holders[0].Kept {
		t.Errorf("it is shown as %+v; want that it is held", info)
	}
	closeThem()
	if info := look(t, b, "x"); len(info.Holders) != 1 || !info.Holders[0].Kept {
		t.Errorf("it is shown as %+v; want that it is kept", info)
	}
}

// Close ends everything, and leaves nothing behind, also with a copy open. The copy then means nothing to anybody.
func TestCloseWithACopy(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		take(t, a, ask("x", driver.Exclusive))
		next := queue(t, b, ask("x", driver.Exclusive))
		closeThem := copies(t, a)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		next.granted()
		free(t, b, next.r)
		if files, err := a.Files(); !errors.Is(err, driver.ErrClosed) || files != nil {
			t.Errorf("Files of a closed client: %v, %v; want ErrClosed", files, err)
		}
		d := opened(t, dir, c)
		take(t, d, ask("x", driver.Exclusive))
		d.Close()
		b.Close()
		isEmpty(t, dir)
		closeThem()
	})
}

// What Close could not end in time, because somebody else was stopped with the guard, ends with the copy.
func TestCloseThatLeavesAHoldToACopy(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir)
	take(t, a, ask("x", driver.Exclusive))
	closeThem := copies(t, a)
	guard := stopped(t, b, "x")
	a.Close()
	guard.Close()
	next := queue(t, b, ask("x", driver.Exclusive))
	if info := look(t, b, "x"); len(info.Holders) != 1 {
		t.Errorf("it is shown as %+v; want one who holds", info)
	}
	closeThem()
	next.granted()
	opened(t, dir).Close() // it sweeps
	b.Close()
	isEmpty(t, dir)
}

// For a client that lives, copies change nothing: neither open nor closed.
func TestCopiesOfTheLiving(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		copies(t, a)()
		r := ask("x", driver.Exclusive)
		take(t, a, r)
		copies(t, a)()
		next := queue(t, b, ask("x", driver.Exclusive))
		if info := look(t, b, "x"); len(info.Holders) != 1 {
			t.Errorf("when copies were closed it is shown as %+v; want one who holds", info)
		}
		next.waits()
		copies(t, a) // open until the end
		free(t, a, r)
		next.granted()
	})
}

// While a client closes, Files returns copies or ErrClosed, and no copy keeps anything.
func TestFilesWhileClosing(t *testing.T) {
	for range 20 {
		a := opened(t, newDir(t))
		var asking sync.WaitGroup
		begun := make(chan struct{}, 4)
		for range cap(begun) {
			asking.Go(func() {
				for first := true; ; first = false {
					files, err := a.Files()
					if first {
						begun <- struct{}{}
					}
					if err != nil {
						if !errors.Is(err, driver.ErrClosed) {
							t.Errorf("Files: %v", err)
						}
						return
					}
					files[0].Close()
				}
			})
		}
		for range cap(begun) {
			<-begun
		}
		a.Close()
		asking.Wait()
	}
}
