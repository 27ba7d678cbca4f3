package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// calm is a client that never looks by itself while it waits: what it must notice, somebody has to tell it.
func calm() config { return config{boot: systemBoot(), refresh: time.Hour} }

func (st *Store) known(t testing.TB, name string) *lock {
	t.Helper()
	st.mu.Lock()
	defer st.mu.Unlock()
	lk := st.locks[keyOf(name, driver.Exclusive)]
	if lk == nil {
		t.Fatalf("this client does not know %s", name)
	}
	return lk
}

// linked gives a lock's file a second name, as a backup does: it is refused until that is removed.
func linked(t *testing.T, st *Store, name string) (unlink func()) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "backup")
	if err := os.Link(st.dir.lockPath(keyOf(name, driver.Exclusive)), other); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
}

// quiet waits until a client has looked.
func quiet(t *testing.T, st *Store, lk *lock) {
	t.Helper()
	until(t, "the end of a look", func() bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		return !lk.looking && !lk.poked
	})
}

// A waiter is refused because of something that passes, and its entry cannot be taken out just then: it is taken out later, and
// nobody is granted the lock who does not want it any more.
func TestFailedWaiterIsTakenOut(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		c.refresh = time.Hour
		dir := newDir(t)
		h, w, o := opened(t, dir, c), opened(t, dir, c), opened(t, dir, c)
		held := ask("x", driver.Exclusive)
		take(t, h, held)
		p := queue(t, w, ask("x", driver.Exclusive))
		unlink := linked(t, h, "x")
		w.poke(w.known(t, "x"))
		isRefused(t, p.failed(), "link")
		quiet(t, w, w.known(t, "x"))
		text, err := readClaims(w.presence.claims.path)
		if kind := findClaim(text, sumOf(keyOf("x", driver.Exclusive))); err != nil || kind != claimWait {
			t.Errorf("the claim is %q, %v, while its entry may be in the file", kind, err)
		}
		unlink()
		until(t, "the queue without it", func() bool { return len(look(t, o, "x").Waiters) == 0 })
		free(t, h, held)
		take(t, o, ask("x", driver.Exclusive))
	})
}

// The same, if its entry was granted the lock before it could be taken out, and the bell is all that its client hears of it.
func TestStrayEntryIsTakenOutWhenRung(t *testing.T) {
	dir := newDir(t)
	h, w, o := opened(t, dir, calm()), opened(t, dir, calm()), opened(t, dir, calm())
	held := ask("x", driver.Exclusive)
	take(t, h, held)
	p := queue(t, w, ask("x", driver.Exclusive))
	next := queue(t, o, ask("x", driver.Exclusive))
	lk := w.known(t, "x")
	<-lk.turn
	w.mu.Lock()
	for _, a := range lk.attempts { // as if an error had ended it
		a.gone(driver.ErrGone)
	}
	w.mu.Unlock()
	lk.cache = nil
	lk.turn <- struct{}{}
	p.failed()
	free(t, h, held)
	next.granted()
}

// An entry of ours that holds, and that we know nothing of, is taken out; that makes room, and whoever waits for that is served.
func TestStrayHoldMakesRoom(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir, calm()), opened(t, dir, calm())
	take(t, a, ask("x", driver.Exclusive))
	p := queue(t, b, ask("x", driver.Exclusive))
	lk := a.known(t, "x")
	<-lk.turn
	a.mu.Lock()
	clear(lk.attempts)
	a.mu.Unlock()
	lk.cache = nil
	lk.turn <- struct{}{}
	a.poke(lk)
	p.granted()
}

// A holder that cannot look when its hold is broken looks again, although nobody waits.
func TestBreakIsToldInTheEnd(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir, calm()), opened(t, dir, calm())
	told := make(chan error, 1)
	g := take(t, a, ask("x", driver.Exclusive, func(r *driver.Request) { r.Lost = func(err error) { told <- err } }))
	lk := a.known(t, "x")
	<-lk.turn // it is slow
	if err := b.Break(t.Context(), &driver.BreakRequest{Name: "x", Mode: driver.Exclusive, Token: g.Token}); err != nil {
		t.Fatal(err)
	}
	until(t, "the bell", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return lk.looking || a.polls
	})
	unlink := linked(t, a, "x")
	lk.turn <- struct{}{}
	quiet(t, a, lk)
	unlink()
	select {
	case <-told:
	case <-time.After(soon):
		t.Error("the holder was never told that its hold is broken")
	}
}

// Granted and broken at once, before it knew of its grant: its Acquire says that it is gone, and nothing was lost.
func TestBrokenBeforeItKnew(t *testing.T) {
	dir := newDir(t)
	h, w, b := opened(t, dir, calm()), opened(t, dir, calm()), opened(t, dir, calm())
	held := ask("x", driver.Exclusive)
	g := take(t, h, held)
	lost := make(chan error, 1)
	p := queue(t, w, ask("x", driver.Exclusive, func(r *driver.Request) { r.Lost = func(err error) { lost <- err } }))
	lk := w.known(t, "x")
	<-lk.turn // it is slow
	free(t, h, held)
	if err := b.Break(t.Context(), &driver.BreakRequest{Name: "x", Mode: driver.Exclusive, Token: g.Token + 1, Now: true}); err != nil {
		t.Fatal(err)
	}
	lk.turn <- struct{}{}
	if err := p.failed(); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Acquire: %v; want ErrGone", err)
	}
	quiet(t, w, lk)
	select {
	case err := <-lost:
		t.Errorf("it was told to have lost what it never had: %v", err)
	default:
	}
}

// noTokens makes st the holder of a lock that has no token left, and the record useless until it is mended.
func noTokens(t *testing.T, st *Store) (held *driver.Request, mend func()) {
	t.Helper()
	for {
		held = ask("x", driver.Exclusive)
		if g := take(t, st, held); g.Token%tokenBlock == 0 {
			break
		}
		free(t, st, held)
	}
	record := filepath.Join(st.dir.path, recordName)
	chmod(t, record, 0o644)
	return held, func() { chmod(t, record, 0o600) }
}

// Somebody makes room but can give the next no token: that is told, and tries by itself; and if it gives up, so is the next. Nobody
// sleeps while the lock is free.
func TestNobodySleepsForWantOfTokens(t *testing.T) {
	dir := newDir(t)
	h, w, x := opened(t, dir, calm()), opened(t, dir, calm()), opened(t, dir, calm())
	held, mend := noTokens(t, h)
	mine := queue(t, h, ask("x", driver.Exclusive))
	first, second := queue(t, w, ask("x", driver.Exclusive)), queue(t, x, ask("x", driver.Exclusive))
	free(t, h, held)
	isRefused(t, mine.failed(), recordName)
	isRefused(t, first.failed(), recordName)
	isRefused(t, second.failed(), recordName)
	mend()
	take(t, w, ask("x", driver.Exclusive, noWait))
}

// Who waits for the end of a minimum hold is woken by nobody but its own alarm.
func TestAlarmForMinimumHold(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir, calm()), opened(t, dir, calm())
	held := ask("x", driver.Exclusive, keeping(100*time.Millisecond))
	g := take(t, a, held)
	free(t, a, held)
	p := queue(t, b, ask("x", driver.Exclusive))
	p.granted()
	if early := g.Asked.Add(100 * time.Millisecond).Sub(b.Clock().Now()); early > 0 {
		t.Errorf("granted %v before the minimum hold was over", early)
	}
}

// Whoever sweeps serves those who waited for the dead, whether they look or not.
func TestSweepServes(t *testing.T) {
	dir := newDir(t)
	a, w := opened(t, dir, calm()), opened(t, dir, calm())
	take(t, a, ask("x", driver.Exclusive))
	p := queue(t, w, ask("x", driver.Exclusive, func(r *driver.Request) { r.Label = "waiter" }))
	lk := w.known(t, "x")
	<-lk.turn // it is slow
	kill(a)
	info := look(t, opened(t, dir), "x")
	lk.turn <- struct{}{}
	if len(info.Holders) != 1 || info.Holders[0].Label != "waiter" || len(info.Waiters) != 0 {
		t.Errorf("after a sweep: %+v; want the waiter as holder", info)
	}
	p.granted()
}

// A grant that was written into a file that is not there any more is none.
func TestGrantInARemovedFile(t *testing.T) {
	st := opened(t, newDir(t))
	r := ask("x", driver.Exclusive)
	a, c, err := st.join(r)
	if err != nil {
		t.Fatal(err)
	}
	defer st.quit(a, c)
	asked := 0
	err = a.lock.change(t.Context(), creating, func(t *tx) error {
		if asked++; asked == 1 {
			if err := os.Remove(a.lock.path()); err != nil {
				return err
			}
		}
		_, err := t.ask(a, r)
		return err
	})
	if info := look(t, st, "x"); err != nil || asked != 2 || len(info.Holders) != 1 {
		t.Errorf("%v, asked %d times, %+v; want it to be asked again, in a new file", err, asked, info)
	}
	a.returned = true
	free(t, st, r)
}

// The claim is written first: where it cannot be, nothing is written at all.
func TestClaimComesFirst(t *testing.T) {
	dir := newDir(t)
	st, other := opened(t, dir), opened(t, dir)
	st.presence.claims.file.Close()
	if _, err := st.Acquire(t.Context(), ask("x", driver.Exclusive, noWait)); err == nil {
		t.Fatal("granted, without a claim")
	}
	if info := look(t, other, "x"); len(info.Holders) != 0 {
		t.Errorf("%+v; want nobody", info.Holders)
	}
	take(t, other, ask("x", driver.Exclusive, noWait))
}

// All files of a client that holds a lock are removed by hand: nobody can tell whether it lives, so nobody else gets the lock, and
// whoever opens the directory leaves it alone. A client that went, and was killed just then, looks the same, but has no entries.
func TestSweepLeavesBareClients(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a := opened(t, dir, c)
		held := ask("x", driver.Exclusive)
		take(t, a, held)
		for _, name := range []string{aliveName, bellName, claimsName} {
			os.Remove(a.dir.clientPath(a.id, name))
		}
		went := a.dir.clientPath("00000000000000000000000000000001")
		if err := os.Mkdir(went, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second sees what the first has left
			b := opened(t, dir, c)
			_, err := b.Acquire(t.Context(), ask("x", driver.Exclusive, noWait))
			isRefused(t, err, "break the hold with Now")
		}
		if _, err := os.Lstat(a.dir.clientPath(a.id)); err != nil {
			t.Errorf("the directory of a client that has an entry: %v", err)
		}
		if _, err := os.Lstat(went); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a client without entries is left: %v", err)
		}
		free(t, a, held)
		take(t, opened(t, dir, c), ask("x", driver.Exclusive, noWait))
	})
}
