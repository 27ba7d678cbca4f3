package locktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var files = topic{"files", []casus{
	{"kill", keeper | processed, filesKeep,
		"K1, K2: what a killed process held stays held while copies of its files are open, and is free when the last is closed"},
	{"break", keeper | processed | breaker | tokens, filesBreak,
		"K4: a hold that only copies keep can be broken: gently it stays, with Now it is free at once"},
	{"living", keeper, filesOfTheLiving,
		"K3, K5: for a client that lives a copy changes nothing: it holds when the copy is closed, and what it releases is free"},
	{"close", keeper, filesOfTheClosed,
		"K3: what Close has ended is not kept by a copy; a closed client has no files"},
}}

// hasFiles reports whether a store is a driver.Keeper, here.
func hasFiles(t testing.TB, store driver.Store) bool {
	t.Helper()
	keeper, ok := store.(driver.Keeper)
	if !ok {
		return false
	}
	copies, err := keeper.Files()
	closeAll(copies)
	if err != nil && !errors.Is(err, driver.ErrUnsupported) {
		t.Fatalf("locktest: Files of a store at rest: %v", err)
	}
	return err == nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// files returns copies of the files of a client, closed at the end of the case, if not before.
func (t *trial) files(of interface{ Files() ([]*os.File, error) }) []*os.File {
	t.Helper()
	copies, err := of.Files()
	if err != nil || len(copies) == 0 {
		t.Fatalf("Files: %d of them, %v", len(copies), err)
	}
	t.Cleanup(func() { closeAll(copies) })
	return copies
}

// guarded starts a process that holds the lock, and gives copies of its files to another, the guard, which has them until end is
// called.
func (t *trial) guarded(name string) (holder *child, token uint64, end func()) {
	t.Helper()
	input, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	t.Cleanup(func() { pipe.Close() })
	holder = t.child(task{Do: "hold", Name: name, TTL: t.ttl}, input)
	token = holder.hears("granted").Token
	holder.tell("guard")
	holder.hears("guarded")
	return holder, token, func() { pipe.Close() }
}

// startGuard starts, from a child, a process that has the files of its locks, and ends when the pipe ends that the child was started
// with: so it outlives the child, but not the parent.
func (todo *task) startGuard(locks *holdfast.Client) error {
	copies, err := locks.Files()
	if err != nil {
		return fmt.Errorf("its files: %w", err)
	}
	defer closeAll(copies)
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, childArguments(todo.Test)...)
	cmd.Env, err = (&task{Test: todo.Test, Do: "guard"}).environment()
	cmd.Stdin = os.NewFile(3, "the guard's input")
	cmd.ExtraFiles = copies
	if err != nil {
		return err
	}
	return cmd.Start()
}

func filesKeep(t *trial) {
	name := t.name("lock")
	here := t.locks()
	holder, token, end := t.guarded(name)
	holder.kill()
	t.heldByOther(here, name)
	t.heldByOther(t.locks(), name) // and for a client that opens the store only now
	waiting := t.queue(func(locks *holdfast.Client) holdfast.Locker { return t.mutexOf(locks, name) })
	t.heldByOther(here, name)
	waiting.waits()
	end()
	next := waiting.granted()
	if token != 0 && next.Token() <= token {
		t.Errorf("token %d was granted after token %d", next.Token(), token)
	}
	t.unlock(next)
}

func filesBreak(t *trial) {
	name := t.name("lock")
	here := t.locks()
	holder, token, _ := t.guarded(name)
	holder.kill()
	for _, opts := range [][]holdfast.BreakOption{nil, {holdfast.Now()}} {
		t.heldByOther(here, name)
		if err := here.Break(t.ctx, name, token, opts...); err != nil {
			t.Fatalf("Break of a hold that only copies keep: %v", err)
		}
	}
	t.unlock(t.takeNow(t.ctx, t.mutexOf(here, name)))
}

func filesOfTheLiving(t *trial) {
	name := t.name("lock")
	here, there := t.locks(), t.locks()
	before := t.files(here)
	hold := t.takeNow(t.ctx, t.mutexOf(here, name))
	during := t.files(here)
	closeAll(before)
	closeAll(during)
	t.heldByOther(there, name)
	if err := hold.Check(t.ctx); err != nil {
		t.Errorf("Check when copies were closed: %v", err)
	}
	t.files(here) // open until the end of the case
	t.unlock(hold)
	t.unlock(t.takeNow(t.ctx, t.mutexOf(there, name)))
}

func filesOfTheClosed(t *trial) {
	r := t.ask(t.name("lock"))
	a, b := t.open(), t.open()
	a.grant(r)
	keeper := a.Store.(driver.Keeper)
	t.files(keeper)
	if err := a.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	b.free(t.ask(r.Name))
	if copies, err := keeper.Files(); !errors.Is(err, driver.ErrClosed) {
		closeAll(copies)
		t.Errorf("Files of a closed client: %d of them, %v; the answer must be ErrClosed", len(copies), err)
	}
}
