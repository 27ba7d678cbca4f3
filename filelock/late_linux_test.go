package filelock

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// What is decided too late: for a client that has closed, for one that is just being killed, for a file whose maker has gone.

// busyFile takes the flock of a file, as a process does that is stopped at the wrong moment.
func busyFile(t *testing.T, path string) (free func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// A call that waits for the record ends with its client.
func TestCloseEndsTheWaitForTokens(t *testing.T) {
	dir := newDir(t)
	st := opened(t, dir)
	for range tokenBlock {
		take(t, st, ask("s", driver.Permits, permits(1, 2*tokenBlock)))
	}
	free := busyFile(t, dir+"/holdfast")
	defer free()
	ended := make(chan error, 1)
	go func() {
		_, err := st.Acquire(context.Background(), ask("s", driver.Permits, permits(1, 2*tokenBlock)))
		ended <- err
	}()
	lk := func() *lock {
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.locks[keyOf("s", driver.Permits)]
	}()
	for len(lk.turn) > 0 { // until the call has the turn
		if driver.Sleep(t.Context(), time.Millisecond) != nil {
			t.Fatal("it does not ask")
		}
	}
	if err := st.Close(); err != nil {
		t.Log(err) // it could not clean up
	}
	if err := <-ended; !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Acquire of a closed client: %v", err)
	}
}

// A grant that is written while Close has given up waiting is nobody's: the client has ended.
func TestClosedClientIsGrantedNothing(t *testing.T) {
	dir := newDir(t)
	st, other := opened(t, dir), opened(t, dir)
	writing, closed := make(chan struct{}, 16), make(chan struct{})
	slow := func(f *os.File) {
		if strings.Contains(f.Name(), "l-x") {
			writing <- struct{}{}
			<-closed
		}
	}
	whenSynced.Store(&slow)
	defer whenSynced.Store(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := st.Acquire(context.Background(), ask("x", driver.Exclusive, keeping(time.Millisecond)))
		ended <- err
	}()
	<-writing
	st.Close()
	close(closed)
	if err := <-ended; !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Acquire of a closed client: %v", err)
	}
	take(t, other, ask("x", driver.Exclusive))
}

// A lock's file is removed by hand, and its holder killed, who is not dead at once: its claim is not held against the next one.
func TestClaimOfADyingClient(t *testing.T) {
	dir := newDir(t)
	dying, other := opened(t, dir), opened(t, dir)
	if _, err := dying.presence.set(0, sumOf(keyOf("x", driver.Exclusive)), claimHold); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(5*time.Millisecond, func() { kill(dying) })
	take(t, other, ask("x", driver.Exclusive))
}

// A power failure between the two names of a new file leaves it without text: the first to come removes it.
func TestRestartFinishesMaking(t *testing.T) {
	for _, text := range [][]byte{nil, make([]byte, 4096)} {
		dir := newDir(t)
		st := opened(t, dir, booted("a"))
		take(t, st, ask("x", driver.Exclusive))
		kill(st)
		path := dir + "/locks/" + keyOf("x", driver.Exclusive)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(path, dir+"/clients/"+st.id+"/"+makingName); err != nil {
			t.Fatal(err)
		}
		take(t, opened(t, dir, booted("b")), ask("x", driver.Exclusive))
	}
}

// Many who find a file with two names at once, whose maker was killed, all get their answer.
func TestManyFinishMaking(t *testing.T) {
	dir := newDir(t)
	st, victim, other := opened(t, dir), opened(t, dir), opened(t, dir)
	kill(victim)
	take(t, st, ask("x", driver.Shared))
	path, making := dir+"/locks/"+keyOf("x", driver.Exclusive), dir+"/clients/"+victim.id+"/"+makingName
	for range 2000 {
		if err := os.Link(path, making); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := other.Inspect(t.Context(), "x", driver.Exclusive); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		os.Remove(making)
		if t.Failed() {
			return
		}
	}
}
