//go:build linux

package endtoend_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ^Z stops command and program, and the shell has the terminal; fg gives it to the command again, which reads what is typed then.
// The lock stays held.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -read $J a\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	for range 3 {
		x.enter(controlZ)
		x.expect("Stopped")
		x.prompt()
		stopped(t, program, command)
		x.hasForeground(x.shell.pid)
		w.holdfast(1, "run", "-n", "x", "--", "true")
		x.enter("fg\n")
		x.hasForeground(command.pid)
	}
	x.enter("hello\n")
	w.await("a", "line hello", 1)
	x.enter(controlC)
	x.prompts(130)
	w.isFree("x")
}

// After ^Z and bg the command runs on; when it reads the terminal it is stopped, the program with it, until fg.
func TestReadInBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -read -later $J a\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, program, command)
	x.do("bg")
	until(t, "both run", func() bool { return !program.isStopped() && !command.isStopped() })
	if err := unix.Kill(program.pid, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	w.await("a", "got USR1", 1)
	stopped(t, program, command)
	x.hasForeground(x.shell.pid)
	x.knowsOfTheStop()
	x.enter("fg\n")
	x.hasForeground(command.pid)
	x.enter("hello\n")
	w.await("a", "line hello", 1)
	x.enter("quit\n")
	x.prompts(0)
}

// knowsOfTheStop waits until the shell has seen that its job is stopped, where it does not say so: fg continues only what it knows of.
func (x *terminal) knowsOfTheStop() {
	x.t.Helper()
	until(x.t, "the shell knows of the stop", func() bool {
		jobs, _ := x.do("jobs")
		return strings.Contains(jobs, "Stopped")
	})
}

// Begun in the background, the program leaves the terminal alone, and takes it with fg: ^C reaches the command, and so does what is
// typed once it reads.
func TestBackgroundThenForeground(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.do("holdfast run x -- actor $J a &")
	_, command := w.programOf("a")
	if got := x.shell.foreground(); got != x.shell.pid {
		t.Errorf("group %d has the terminal; want the shell's, %d", got, x.shell.pid)
	}
	x.enter("fg\n")
	until(t, "the shell gives the terminal away", func() bool { return x.shell.foreground() != x.shell.pid })
	x.enter(controlC)
	x.prompts(130)
	if got := w.events(command); len(got) != 2 || got[1] != "got INT" {
		t.Errorf("the command wrote %q; want its start and one INT", got)
	}

	x.do("holdfast run x -- actor -read $J b &")
	program, command := w.programOf("b")
	stopped(t, program, command)
	x.knowsOfTheStop()
	x.enter("fg\n")
	x.hasForeground(command.pid)
	x.enter("hello\n")
	w.await("b", "line hello", 1)
	x.enter("quit\n")
	x.prompts(0)

	x.do("holdfast run x -- actor -read -later $J c &")
	_, command = w.programOf("c")
	x.enter("fg\n") // a job that runs is told nothing of this
	until(t, "the shell gives the terminal away", func() bool { return x.shell.foreground() != x.shell.pid })
	if err := unix.Kill(command.pid, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	x.enter("hello\n")
	w.await("c", "line hello", 1)
	x.enter("quit\n")
	x.prompts(0)
}

// A script around the program is stopped and continued with it.
func TestStopScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "holdfast run x -- actor -read $J a\necho code $?\n")
	x.enter("bash script.sh\n")
	program, command := w.programOf("a")
	script := process{program.parent()}
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, script, program, command)
	x.enter("fg\n")
	x.hasForeground(command.pid)
	x.enter("hello\n")
	w.await("a", "line hello", 1)
	x.enter("quit\n")
	x.expect("code 0")
	x.prompts(0)
}

// A command that is stopped by somebody's kill takes the program with it, and is continued with it.
func TestStoppedByKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor $J a\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	if err := unix.Kill(command.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	x.expect("Stopped")
	x.prompt()
	stopped(t, program, command)
	x.enter("fg\n")
	x.hasForeground(command.pid)
	x.enter(controlC)
	x.prompts(130)
}

// TSTP by kill stops both, CONT continues both: a terminal is not needed, but somebody who could continue them is.
func TestStopByKillOfProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.do("holdfast run x -- actor $J a &")
	program, command := w.programOf("a")
	for i := range 3 {
		for _, s := range []unix.Signal{unix.SIGTSTP, unix.SIGCONT} {
			if err := unix.Kill(program.pid, s); err != nil {
				t.Fatal(err)
			}
			if s == unix.SIGTSTP {
				stopped(t, program, command)
			}
		}
		w.await("a", "got CONT", i+1)
	}
	x.do("kill %1")
	x.do("wait")
	w.isFree("x")
}

// In a session that nobody could continue it in, the program does not stop for TSTP, and the command goes on.
func TestStopWithoutShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 1)
	r.kill(unix.SIGTSTP)
	w.write("end", "")
	r.ends(0)
}

// A command that reads before it has got the terminal is not left stopped.
func TestReadAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for i := range *rounds {
		x.enter(fmt.Sprintf("holdfast run x -- sh -c 'read l; echo got $l'\nanswer%d\n", i))
		x.expect(fmt.Sprintf("got answer%d", i))
		x.prompts(0)
	}
}
