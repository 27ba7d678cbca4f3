//go:build linux

package endtoend_test

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"holdfast.dev"
)

// An interactive shell as the command has jobs of its own, with ^C, ^Z and fg.
func TestInteractiveShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- bash --norc --noprofile --noediting -i\n")
	x.prompts(0)
	x.enter("actor -read $J a\n")
	job := w.cast("a", 1)[0]
	x.hasForeground(job.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, job)
	w.holdfast(1, "run", "-n", "x", "--", "true")
	x.enter("fg\n")
	x.hasForeground(job.pid)
	x.enter("hello\n")
	w.await("a", "line hello", 1)
	x.enter(controlC)
	x.prompts(130)
	x.enter("exit 5\n")
	x.prompts(5)
	w.isFree("x")
	if shown, code := x.do("echo ok"); shown != "ok\n" || code != 0 {
		t.Errorf("afterwards the shell shows %q, code %d", shown, code)
	}
}

// A program that is killed on a terminal leaves a shell that can be used.
func TestKillOnTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -stubborn -children 1 $J a\n")
	program, command := w.programOf("a")
	cast := w.cast("a", 2)
	x.hasForeground(command.pid)
	if err := unix.Kill(program.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.prompts(137)
	w.holdfast(0, "run", "x", "--", "true")
	if cast[0].alive() || cast[1].alive() {
		t.Error("the group lives, and another run was started")
	}
	x.hasForeground(x.shell.pid)
	if shown, _ := x.do("echo ok"); shown != "ok\n" {
		t.Errorf("afterwards the shell shows %q", shown)
	}
}

// A stopped job whose program is killed ends, too.
func TestKillWhileStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -children 1 $J a\n")
	program, command := w.programOf("a")
	cast := w.cast("a", 2)
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, program, cast[0], cast[1])
	x.do("kill -9 %1")
	w.holdfast(0, "run", "x", "--", "true")
	if cast[0].alive() || cast[1].alive() {
		t.Error("the group lives, and another run was started")
	}
}

// ^Z while it waits for the lock stops the wait, and fg goes on with it.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		client := w.client()
		hold, err := client.Mutex("x").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x := w.terminal()
		x.enter("holdfast run x -- actor -read $J a\n")
		w.awaitWaiters(client, "x", 1)
		for range 2 {
			x.enter(controlZ)
			x.expect("Stopped")
			x.prompt()
			x.enter("fg\n")
			until(t, "the shell gives the terminal away", func() bool { return x.shell.foreground() != x.shell.pid })
		}
		if err := hold.Unlock(); err != nil {
			t.Fatal(err)
		}
		_, command := w.programOf("a")
		x.hasForeground(command.pid)
		x.enter("quit\n")
		x.prompts(0)
	})
}

// What was broken while it was stopped is lost: fg tells, and the command does not go on with its work.
func TestBreakWhileStopped(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		client := w.client()
		x := w.terminal()
		x.enter("holdfast run --ttl 60s x -- actor $J a\n")
		program, command := w.programOf("a")
		x.hasForeground(command.pid)
		x.enter(controlZ)
		x.expect("Stopped")
		x.prompt()
		stopped(t, program, command)
		if err := client.Break(t.Context(), "x", w.tokenOf(client, "x"), holdfast.Now()); err != nil {
			t.Fatal(err)
		}
		w.holdfast(0, "run", "x", "--", "true")
		x.enter("fg\n")
		x.prompts(75)
		if got := w.saw("a", "got TERM"); got != 1 {
			t.Errorf("the command wrote %q; want TERM", w.events(command))
		}
	})
}

// The terminal goes while the job is stopped: it ends, as any stopped job does.
func TestHangUpWhileStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor $J a\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, program, command)
	x.hangUp()
	until(t, "both end", func() bool { return !program.alive() && !command.alive() })
	w.isFree("x")
}

// On a terminal without a shell, as with ssh -t, nobody could continue what ^Z stops: it goes on. ^C works as ever.
func TestTerminalWithoutShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	master, slave, err := openPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := w.command("holdfast", "run", "x", "--", "actor", "-read", w.journal, "a")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r := w.startCmd(cmd)
	slave.Close()
	command := w.cast("a", 1)[0]
	until(t, "the command has the terminal", func() bool { return command.foreground() == command.pid })
	enter := func(text string) {
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	enter(controlZ)
	w.await("a", "got CONT", 1)
	enter("hello\n")
	w.await("a", "line hello", 1)
	enter(controlC)
	r.ends(130)
}

// timeout(1) ends the command through the program, by TERM or by KILL. It is told that the time is over: a signal does that too.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("timeout", "600", "holdfast", "run", "x", "--", "actor", w.journal, "a")
	w.cast("a", 1)
	r.kill(unix.SIGTERM)
	r.ends(143)
	if got := w.saw("a", "got TERM"); got != 1 {
		t.Errorf("the command got TERM %d times, want once", got)
	}
	r = w.start("timeout", "-k", "0.1", "600", "holdfast", "run", "x", "--", "actor", "-stubborn", "-beat", "-children", "1", w.journal, "b")
	w.cast("b", 2)
	r.kill(unix.SIGTERM)
	r.ends(137)
	w.holdfast(0, "run", "x", "--", "actor", "-leave", w.journal, "next")
	w.apart()
}

// Streams that are closed, a directory that is gone: the program has no more trouble with them than the command.
func TestOddStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, line := range []string{
		"holdfast run x -- true <&- >&- 2>&-", "holdfast run x -- sh -c 'echo into the void' >&- || true",
		"mkdir gone; cd gone; rmdir ../gone; holdfast run x -- true", "ulimit -n 20; holdfast run x -- true",
		"exec 9>&1; holdfast run x -- true", "umask 777; holdfast run x -- true; umask 0; holdfast run x -- true",
	} {
		w.start("bash", "-c", line).ends(0)
	}
	w.isFree("x")
}
