//go:build linux

package endtoend_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// ^C while the command runs: the command gets it, once; it dies of it, and so the code is 130; the lock is free at once.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for key, name := range map[string]unix.Signal{controlC: unix.SIGINT, quitKey: unix.SIGQUIT} {
		run := fmt.Sprint("run", int(name))
		x.enter("holdfast run x -- actor $J " + run + "\n")
		_, command := w.programOf(run)
		if command.group() != command.pid {
			t.Errorf("the command's group is %d, want its own, %d", command.group(), command.pid)
		}
		x.hasForeground(command.pid)
		x.enter(key)
		x.prompts(128 + int(name))
		w.isFree("x")
		if got := w.events(command); len(got) != 2 || got[1] != "got "+unix.SignalName(name)[3:] {
			t.Errorf("the command wrote %q; want its start and one %v", got, name)
		}
	}
}

// A command that goes on after ^C is not alone then: the program stays, and so does the lock.
func TestInterruptSurvived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -survive -read -code 3 $J a\n")
	_, command := w.programOf("a")
	x.hasForeground(command.pid)
	for i := range 3 {
		x.enter(controlC)
		w.await("a", "got INT", i+1)
	}
	w.holdfast(1, "run", "-n", "x", "--", "true")
	x.enter("quit\n")
	x.prompts(3)
	if got := w.saw("a", "got INT"); got != 3 {
		t.Errorf("the command got INT %d times, want 3", got)
	}
}

// ^C while it waits for the lock: it leaves the queue, and ends with 130.
func TestInterruptWhileWaiting(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		client := w.client()
		hold, err := client.Mutex("x").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x := w.terminal()
		x.enter("holdfast run x -- actor $J a\n")
		w.awaitWaiters(client, "x", 1)
		x.enter(controlC)
		x.prompts(130)
		w.hasWaiters(client, "x", 0)
		if err := hold.Unlock(); err != nil {
			t.Fatal(err)
		}
		w.isFree("x")
		if got := w.entries(); len(got) > 0 {
			t.Errorf("the command ran: %v", got)
		}
	})
}

// HUP, INT, QUIT and TERM while it waits for the lock: it leaves the queue, and ends with 128+n.
func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		client := w.client()
		hold, err := client.Mutex("x").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer hold.Unlock()
		for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM} {
			waiter := w.start("holdfast", "run", "x", "--", "true")
			w.awaitWaiters(client, "x", 1)
			waiter.kill(s)
			if got := waiter.ends(128 + int(s)); got.out != "" {
				t.Errorf("%v: it printed %q", s, got.out)
			}
			w.hasWaiters(client, "x", 0)
		}
	})
}

// A script around the program ends on ^C, as it would without the program; after a command that goes on, so does the script.
func TestInterruptScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "holdfast run x -- actor $J a\necho the script goes on\n")
	x.enter("bash script.sh\n")
	_, command := w.programOf("a")
	x.hasForeground(command.pid)
	x.enter(controlC)
	if shown := x.prompts(130); contains(shown, "goes on") {
		t.Error("the script goes on after ^C")
	}
	if got := w.saw("a", "got INT"); got != 1 {
		t.Errorf("the command got INT %d times, want once", got)
	}
	w.write("script.sh", "holdfast run x -- actor -survive -read $J b\necho the script goes on, code $?\n")
	x.enter("bash script.sh\n")
	_, command = w.programOf("b")
	x.hasForeground(command.pid)
	x.enter(controlC)
	w.await("b", "got INT", 1)
	x.enter("quit\n")
	x.expect("the script goes on, code 0")
	x.prompts(0)
}
