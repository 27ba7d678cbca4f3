//go:build linux

package endtoend_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A script has no job control: what it runs in its background is in its own group, and must not take the terminal from it.
func TestBackgroundOfAScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "holdfast run x -- actor -until end $J a &\nread l\necho read $l\ntouch end\nwait\n")
	x.enter("bash script.sh\n")
	w.cast("a", 1)
	x.enter("hello\n")
	x.expect("read hello\r\n")
	x.prompts(0)
}

// Nor does it keep ^C from the script.
func TestInterruptBesideTheBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "holdfast run x -- actor -until end $J a &\nsleep 1000\necho goes on\n")
	x.enter("bash script.sh\n")
	w.cast("a", 1)
	x.enter(controlC)
	x.prompts(130)
	w.write("end", "")
	w.await("a", "end", 1)
}

// Two runs of one script: the one that asks for the terminal while the other has it gets it when that has ended.
func TestTerminalInTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("ask.sh", "until test -e ask; do sleep 0.01; done\nread l </dev/tty\necho $1 read $l\n")
	w.write("script.sh", "holdfast run x -- sh ask.sh first &\nholdfast run y -- actor -until end $J a\nwait\n")
	x.enter("bash script.sh\n")
	_, actor := w.programOf("a")
	x.hasForeground(actor.pid)
	w.write("ask", "")
	w.write("end", "")
	w.await("a", "end", 1)
	x.enter("hello\n")
	x.expect("first read hello\r\n")
	x.prompts(0)
}

// What has left the group has the same grace as the group: it is not killed as soon as that has ended.
func TestGraceOutsideTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	w.write("clean.sh", "trap 'until test -e go; do sleep 0.01; done; touch cleaned; exit 0' TERM\ntouch ready\nwhile :; do sleep 0.01; done\n")
	r := w.start("holdfast", "run", "--grace", "20s", "x", "--", "bash", "-c", "timeout 600 sh clean.sh; :")
	isThere := func(name string) bool {
		_, err := os.Stat(w.path(name))
		return err == nil
	}
	until(t, "it is ready", func() bool { return isThere("ready") })
	w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
	w.write("go", "")
	r.ends(75)
	if !isThere("cleaned") {
		t.Error("it was killed before it had cleaned up")
	}
}

// A guard that cannot be replaced for want of descriptors: the program goes on, also when its command stops, and replaces it later.
func TestGuardCannotBeReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start("holdfast", "run", "x", "--", "actor", "-until", w.path("end"), w.journal, "a")
	program, command := w.programOf("a")
	guard := w.guardOf(program)
	var limit unix.Rlimit
	if err := unix.Prlimit(program.pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 5, Max: limit.Max}
	if err := unix.Prlimit(program.pid, unix.RLIMIT_NOFILE, &low, nil); err != nil {
		t.Fatal(err)
	}
	signalTo(t, guard, unix.SIGKILL)
	until(t, "the guard is gone", func() bool { return !guard.alive() })
	signalTo(t, command, unix.SIGSTOP)
	stopped(t, program)
	if err := unix.Prlimit(program.pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	signalTo(t, program, unix.SIGCONT)
	w.guardOf(program)
	w.write("end", "")
	r.ends(0)
}

func signalTo(t *testing.T, p process, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(p.pid, s); err != nil {
		t.Fatal(err)
	}
}
