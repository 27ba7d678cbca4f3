//go:build linux

package endtoend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// guardOf waits until a program has a guard, other than those in before.
func (w *world) guardOf(program process, before ...process) process {
	w.t.Helper()
	var found []process
	until(w.t, fmt.Sprintf("a guard is there for %v", program), func() bool {
		found = processes(func(p process) bool {
			return p.exe() == ourExe && p.parent() == program.pid && p.args()[0] == "holdfast-guard" && !slices.Contains(before, p)
		})
		return len(found) > 0
	})
	if len(found) > 1 {
		w.t.Errorf("%v has several guards:\n%s", program, listing(found))
	}
	return found[0]
}

// Nothing reaches the guard by accident: it has a session of its own, no terminal, and of the environment only the name of the run.
func TestGuardIsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor $J a\n")
	program, command := w.programOf("a")
	guard := w.guardOf(program)
	if guard.session() != guard.pid || guard.session() == program.session() {
		t.Errorf("the guard's session is %d; want one of its own, %d", guard.session(), guard.pid)
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(guard.read("environ"), "\x00"), "\x00") {
		if name, _, _ := strings.Cut(entry, "="); name != "HOLDFAST_RUN" && name != "GOMAXPROCS" {
			t.Errorf("the guard has %s in its environment; want the name of the run, and how it is to be run", name)
		}
	}
	for _, f := range guard.files() {
		if f == command.file(0) || f == "/dev/tty" {
			t.Errorf("the guard has the terminal open, as %s", f)
		}
	}
	x.hasForeground(command.pid)
	x.enter(controlC)
	x.prompts(130)
	until(t, "the guard ends with its program", func() bool { return !guard.alive() })
}

// A guard that dies is replaced, as often as it takes, and the last one does what the first one would have done.
func TestKilledGuard(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "--ttl", "5s", "--grace", "0.2s", "x", "--", "actor", "-stubborn", "-beat", "-children", "2", w.journal, "a")
		w.cast("a", 3)
		var before []process
		for range 5 {
			guard := w.guardOf(r.process(), before...)
			if err := unix.Kill(guard.pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			before = append(before, guard)
		}
		w.guardOf(r.process(), before...)
		if r.hasEnded() {
			t.Fatal("the program ended with its guard")
		}
		next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
		r.kill(unix.SIGKILL)
		r.ends(128 + int(unix.SIGKILL))
		next.ends(0)
		w.apart()
	})
}

// Program and guard both killed: at least the command itself dies.
func TestKilledProgramAndGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-stubborn", w.journal, "a")
	command := w.cast("a", 1)[0]
	guard := w.guardOf(r.process())
	r.kill(unix.SIGSTOP) // it must not start another guard
	stopped(t, r.process())
	if err := unix.Kill(guard.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.kill(unix.SIGKILL)
	r.ends(128 + int(unix.SIGKILL))
	until(t, "the command is dead", func() bool { return !command.alive() })
	until(t, "the lock is free", func() bool { return w.start("holdfast", "run", "-n", "x", "--", "true").wait().code == 0 })
}

// A guard that is ready dies of no signal that somebody might send to everything that is called holdfast, and tells nobody of it.
func TestGuardIgnoresSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-survive", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 1)
	guard := w.guardOf(r.process())
	until(t, "the guard is ready", func() bool { return guard.signals("SigIgn")&bit(unix.SIGTERM) != 0 })
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM} {
		if err := unix.Kill(guard.pid, s); err != nil {
			t.Fatal(err)
		}
	}
	r.kill(unix.SIGUSR1)
	w.await("a", "got USR1", 1)
	if now := w.guardOf(r.process()); now != guard {
		t.Errorf("the guard has died of a signal that it could ignore")
	}
	w.write("end", "")
	r.ends(0)
	if got := w.saw("a", "got TERM"); got > 0 {
		t.Error("the command was told of the guard's signals")
	}
}
