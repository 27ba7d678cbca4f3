//go:build linux

package endtoend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"holdfast.dev/cmd/holdfast/internal/exit"
)

// The tests here are about what belongs to a command without being in its process group.

// mover is a third name of the test binary: it joins the group of its parent, and becomes what its arguments say.
const mover = "mover"

func init() {
	if filepath.Base(os.Args[0]) != mover {
		return
	}
	group, err := unix.Getpgid(os.Getppid())
	if err == nil {
		err = unix.Setpgid(0, group)
	}
	if err == nil {
		err = unix.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exit.System)
}

// outsiders are commands whose actor is not in their group, and whether it is in their session.
var outsiders = map[string]struct {
	line    string
	session bool
}{
	"a job of set -m": {"set -m; actor -stubborn -beat $J a; :", true},
	"timeout(1)":      {"timeout 600 actor -stubborn -beat $J a; :", true},
	"setsid -w":       {"setsid -w actor -stubborn -beat $J a; :", false},
}

// outside waits for the run's actor, and checks that it is where the test wants it to be.
func (w *world) outside(program process, inSession bool) process {
	w.t.Helper()
	actor := w.cast("a", 1)[0]
	parent := process{actor.parent()}
	for parent.parent() != program.pid && parent.pid > 1 {
		parent = process{parent.parent()}
	}
	if actor.group() == parent.group() || (actor.session() == program.session()) != inSession {
		w.t.Fatalf("the actor is not where it should be: %v, below %v", actor, parent)
	}
	return actor
}

// A lost lock ends what has left the command's group but still belongs to it, and nobody else gets the lock before.
func TestBreakOutsideTheGroup(t *testing.T) {
	t.Parallel()
	for name, c := range outsiders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, func(t *testing.T, w *world) {
				client := w.client()
				r := w.start("holdfast", "run", "--ttl", "60s", "--grace", "0.3s", "x", "--", "bash", "-c", c.line)
				actor := w.outside(r.process(), c.session)
				next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
				w.awaitWaiters(client, "x", 1)
				w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
				r.ends(exit.Lost)
				next.ends(0)
				if actor.alive() {
					t.Errorf("it outlives the hold: %v", actor)
				}
				w.apart()
			})
		})
	}
}

// kill −9 of the program ends what has left the group and not the session, before another run begins.
func TestKillOutsideTheGroup(t *testing.T) {
	t.Parallel()
	for name, c := range outsiders {
		if !c.session {
			continue // its parent may be dead before anybody could look whose child it was
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.start("holdfast", "run", "x", "--", "bash", "-c", c.line)
			actor := w.outside(r.process(), c.session)
			next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
			w.awaitWaiters(w.client(), "x", 1)
			r.kill(unix.SIGKILL)
			r.ends(137)
			next.ends(0)
			if actor.alive() {
				t.Errorf("it outlives the hold: %v", actor)
			}
			w.apart()
		})
	}
}

// A run that was made a daemon has left the run around it: it goes on, and does not keep the outer lock, however that ends.
func TestDaemonisedRun(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *running){
		"break": func(w *world, r *running) {
			w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(w.client(), "x")))
			r.ends(exit.Lost)
		},
		"kill": func(_ *world, r *running) {
			r.kill(unix.SIGKILL)
			r.ends(137)
		},
		"end": func(w *world, r *running) {
			w.write("end-outer", "")
			r.ends(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.start("holdfast", "run", "--grace", "0.3s", "x", "--", "sh", "-c",
				"setsid -f holdfast run y -- actor -until end-inner $J inner; actor -survive -until end-outer $J outer")
			inner := w.cast("inner", 1)[0]
			outer := w.cast("outer", 1)[0]
			end(w, r)
			w.holdfast(0, "run", "-w", "25", "x", "--", "true") // a killed one's guard may still be at work
			if outer.alive() || !inner.alive() {
				t.Errorf("the outer command is alive: %t, the inner one: %t", outer.alive(), inner.alive())
			}
			w.holdfast(1, "run", "-n", "y", "--", "true")
			w.write("end-inner", "")
			w.holdfast(0, "run", "y", "--", "true")
			if got := w.events(inner); fmt.Sprint(got) != "[start end]" {
				t.Errorf("the inner command wrote %q; want it to be left alone", got)
			}
		})
	}
}

// A command that has moved to another group is still the command: it gets signals, once, and is ended with a lost lock.
func TestCommandInAnotherGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	bin := filepath.Join(w.dir, "bin")
	if err := os.Symlink(ourExe, filepath.Join(bin, mover)); err != nil {
		t.Fatal(err)
	}
	start := func(run string, args ...string) (*running, process) {
		args = append([]string{"run", "--grace", "0.3s", "x", "--", mover, filepath.Join(bin, "actor")}, args...)
		r := w.start("holdfast", append(args, w.journal, run)...)
		command := w.cast(run, 1)[0]
		if command.parent() != r.process().pid || command.group() != r.process().group() {
			t.Fatalf("the command has not moved: %v", command)
		}
		return r, command
	}
	r, command := start("told")
	r.kill(unix.SIGTERM)
	r.ends(143)
	if got := w.events(command); fmt.Sprint(got) != "[start got TERM]" {
		t.Errorf("the command wrote %q; want its start and one TERM", got)
	}
	r, command = start("lost", "-survive", "-beat")
	w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
	r.ends(exit.Lost)
	if w.saw("lost", "got TERM") == 0 || command.alive() {
		t.Errorf("the command wrote %q, and is alive: %t", w.events(command), command.alive())
	}
	w.isFree("x")
}

// An inner program that is killed leaves its command to its guard: the outer lock is not free before that has done its work, for which
// it has two seconds.
func TestKilledInnerProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "holdfast", "run", "y", "--", "actor", "-stubborn", "-children", "1", w.journal, "a")
	cast := w.cast("a", 2)
	inner := process{cast[0].parent()}
	guard := w.guardOf(inner)
	signalled(t, guard, unix.SIGSTOP)
	stopped(t, guard)
	begin := bootTime()
	signalled(t, inner, unix.SIGKILL)
	until(t, "the inner program is dead, and seen to be", func() bool { return inner.state() == "" })
	another := w.start("holdfast", "run", "-n", "x", "--", "true").wait()
	signalled(t, guard, unix.SIGCONT)
	soon := bootTime()-begin < time.Second // or the machine was too busy to tell
	if soon && another.code != exit.NotGot {
		t.Errorf("another run of the outer name ended with %d, want %d", another.code, exit.NotGot)
	}
	r.ends(137)
	if soon && (cast[0].alive() || cast[1].alive()) {
		t.Error("the inner group outlives the outer lock")
	}
	w.isFree("x")
	w.holdfast(0, "run", "y", "--", "true") // the guard that keeps it ends now
}

// A guard that replaces another is told which group it is: it could not find a command that has cleared its environment.
func TestReplacedGuardKnowsTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "env", "-i", w.mark, filepath.Join(w.dir, "bin", "actor"), "-survive", "-beat", "-children", "2", w.journal, "a")
	cast := w.cast("a", 3)
	for _, p := range cast {
		if strings.Contains(p.read("environ"), "HOLDFAST_RUN") {
			t.Fatalf("%v can be found by its environment", p)
		}
	}
	first := w.guardOf(r.process())
	signalled(t, first, unix.SIGKILL)
	second := w.guardOf(r.process(), first)
	r.kill(unix.SIGUSR1) // passed on when the program has time again: then the guard was told
	w.await("a", "got USR1", 3)
	next := w.start("holdfast", "run", "x", "--", "actor", "-leave", w.journal, "next")
	w.awaitWaiters(w.client(), "x", 1)
	r.kill(unix.SIGKILL)
	r.ends(137)
	next.ends(0)
	w.apart()
	until(t, "the guard ends when it has done its work", func() bool { return !second.alive() })
}
