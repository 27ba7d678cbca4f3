//go:build linux

package endtoend_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Signals to the program reach the whole group: the command and what it has started, each once.
func TestSignalsReachTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-survive", "-children", "2", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 3)
	signals := []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH,
	}
	for _, s := range signals {
		r.kill(s)
		w.await("a", "got "+unix.SignalName(s)[3:], 3)
	}
	w.write("end", "")
	r.ends(0)
	for _, s := range signals {
		if got := w.saw("a", "got "+unix.SignalName(s)[3:]); got != 3 {
			t.Errorf("%d times %v for three processes", got, s)
		}
	}
}

// A command that dies of a signal that the program passed on: 128+n, and the lock is free.
func TestSignalsEndTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM} {
		run := fmt.Sprint("run", int(s))
		r := w.start("holdfast", "run", "x", "--", "actor", w.journal, run)
		w.cast(run, 1)
		r.kill(s)
		r.ends(128 + int(s))
		w.isFree("x")
	}
}

// A signal at any moment around the start either ends the program before the command began, or reaches the command.
func TestSignalAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	random := newRandom(t)
	began := 0
	for i := range *rounds {
		run := fmt.Sprint("run", i)
		r := w.start("holdfast", "run", "x", "--", "actor", w.journal, run)
		pause(random, 40)
		r.kill(unix.SIGTERM)
		r.ends(128 + int(unix.SIGTERM))
		began += w.saw(run, "start")
	}
	t.Logf("the command had begun in %d rounds of %d", began, *rounds)
	w.isFree("x")
}

// The lock is held until the last process of the group has ended; the code is the command's.
func TestForkAndExit(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "x", "--", "actor", "-leave", "-code", "7", "-children", "2", "-until", w.path("end"), w.journal, "a")
		cast := w.cast("a", 3)
		until(t, "the command has ended", func() bool { return !cast[0].alive() })
		w.holdfast(1, "run", "-n", "x", "--", "true")
		if r.hasEnded() {
			t.Error("the program has ended, and processes of the group have not")
		}
		w.write("end", "")
		r.ends(7)
		w.isFree("x")
	})
}

// With -o what the command leaves behind is left alone, and does not keep the lock.
func TestForkAndExitLeft(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "-o", "x", "--", "actor", "-leave", "-code", "7", "-children", "1", "-until", w.path("end"), w.journal, "a")
		cast := w.cast("a", 2)
		r.ends(7)
		w.isFree("x")
		w.write("end", "")
		w.await("a", "end", 1)
		until(t, "the child ends", func() bool { return !cast[1].alive() })
	})
}

// A daemon has left the group: nobody waits for it, and nobody ends it, also when the program is killed.
func TestDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-leave", "-daemons", "-children", "1", "-until", w.path("end"), w.journal, "a")
	r.ends(0)
	w.isFree("x")
	w.cast("a", 2)

	r = w.start("holdfast", "run", "x", "--", "actor", "-daemons", "-children", "1", "-until", w.path("end"), w.journal, "b")
	cast := w.cast("b", 2)
	r.kill(unix.SIGKILL)
	r.ends(128 + int(unix.SIGKILL))
	w.holdfast(0, "run", "x", "--", "true")
	if cast[0].alive() {
		t.Error("the command lives, and another run of the same name was started")
	}
	w.write("end", "")
	w.await("a", "end", 1)
	w.await("b", "end", 1)
}
