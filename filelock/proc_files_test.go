//go:build linux

package filelock_test

import (
	"errors"
	"os"
	"testing"

	"holdfast.dev"
)

// guard starts a child that has copies of the files of this actor's client.
func (a *actor) guard() (pid int, err error) {
	files, err := a.locks.Files()
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	return bear(files)
}

// guarded makes a party start a guard, and returns its process.
func (p *party) guarded() *os.Process {
	p.t.Helper()
	p.tell(order{Do: "guard", ID: "guard"})
	born := p.hears("born", "guard")
	if born.Error != "" {
		p.t.Fatalf("starting a guard: %s", born.Error)
	}
	guard, err := os.FindProcess(born.Count)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { guard.Kill() }) // an error: it has ended already
	return guard
}

// A holder is killed, but a process that it has started has its files: what it held stays held until that one ends, and is then the
// next one's. So it is for those who wait, for those who ask, and for those who come.
func TestKilledWithAGuard(t *testing.T) {
	for name, poll := range map[string]bool{"woken": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			holder, waiter := spawn(t, task{Do: "obey", Dir: dir, Poll: poll}), spawn(t, task{Do: "obey", Dir: dir, Poll: poll})
			first := holder.holds("h", "lock")
			guard, another := holder.guarded(), holder.guarded()
			waiter.queues("w", "lock")
			holder.kill()

			stays := func(when string) {
				t.Helper()
				_, err := open(t, dir).Mutex("lock").TryLock(t.Context())
				if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || len(held.Holders) != 1 || held.Holders[0].Token != first.Token {
					t.Errorf("%s, TryLock says %v; want that token %d holds", when, err, first.Token)
				}
			}
			stays("when the holder was killed")
			if err := guard.Kill(); err != nil {
				t.Fatal(err)
			}
			stays("when one of two guards was killed")
			ends := now()
			if err := another.Kill(); err != nil {
				t.Fatal(err)
			}
			if w := waiter.grantedSince("w", ends); w.Token <= first.Token {
				t.Errorf("token %d after %d", w.Token, first.Token)
			}
			waiter.unlocks("w")
		})
	}
}

// A program that is not killed gives its locks back as always, whoever has its files.
func TestUnlockedWithAGuard(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder, waiter := there(t, dir), there(t, dir)
	holder.holds("a", "a")
	holder.holds("b", "b")
	guard := holder.guarded()
	waiter.queues("a", "a")
	waiter.queues("b", "b")
	waiter.grantedSince("a", holder.unlocks("a"))
	closes := now()
	holder.tell(order{Do: "close"})
	waiter.grantedSince("b", closes)
	holder.hears("closed", "")
	waiter.tell(order{Do: "close"})
	waiter.hears("closed", "")
	if left := filesIn(t, dir+"/clients"); len(left) > 0 {
		t.Errorf("all clients are closed, and there is %q", left)
	}
	if state := processState(guard.Pid); state == 0 || state == 'Z' {
		t.Error("the guard did not live until here")
	}
}
