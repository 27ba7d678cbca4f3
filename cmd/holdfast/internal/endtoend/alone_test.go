//go:build linux

package endtoend_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"holdfast.dev"
	"holdfast.dev/locktest/netfault"
)

// The tests here are about a command, or its program, that somebody stops and continues by kill, without the other.

// signalled sends a signal to a process that must be there.
func signalled(t *testing.T, p process, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(p.pid, s); err != nil {
		t.Fatalf("kill -%v %v: %v", s, p, err)
	}
}

// Where nobody would continue the program, as under cron, whoever continues or kills the command alone is enough.
func TestCommandGoesOnAlone(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		start := func(run string) (*running, process) {
			r := w.start("holdfast", "run", "--ttl", "60s", "x", "--", "actor", "-until", w.path("end"), w.journal, run)
			command := w.cast(run, 1)[0]
			signalled(t, command, unix.SIGSTOP)
			stopped(t, command, r.process())
			return r, command
		}
		r, _ := start("killed")
		command := w.cast("killed", 1)[0]
		signalled(t, command, unix.SIGKILL)
		r.ends(137)
		r, command = start("continued")
		signalled(t, command, unix.SIGCONT)
		until(t, "the program goes on", func() bool { return !r.process().isStopped() })
		r.kill(unix.SIGUSR1)
		w.await("continued", "got USR1", 1)
		w.write("end", "")
		r.ends(0)
	})
}

// The command is stopped and the program continued at the same moment: whichever is noticed first, the program is never left stopped
// beside a command that runs.
func TestStopMeetsContinue(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		r := w.start("holdfast", "run", "--ttl", "5m", "x", "--", "actor", "-until", w.path("end"), w.journal, "a")
		command := w.cast("a", 1)[0]
		for i := range 30 {
			signalled(t, command, unix.SIGSTOP)
			r.kill(unix.SIGCONT)
			r.kill(unix.SIGUSR1)
			until(t, "both go on", func() bool {
				if r.process().isStopped() && command.isStopped() { // the program was continued before it had stopped
					r.kill(unix.SIGCONT)
				}
				return w.saw("a", "got USR1") > i
			})
		}
		w.write("end", "")
		r.ends(0)
	})
}

// A program that was stopped asks for its lock before its command goes on: while the store does not answer the command stays stopped,
// and when the answer is that the lock is lost it gets to do nothing but what TERM tells it to.
func TestCheckBeforeGoingOn(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	client := w.client()
	w.write("lines.sh", "trap 'echo CONT >>lines' CONT; trap 'echo TERM >>lines; exit' TERM; trap : USR1 USR2 WINCH\nactor $J a & while :; do wait; done\n")
	x := w.terminal()
	x.enter("holdfast run --ttl 10m --grace 4m x -- sh lines.sh\n")
	actor := w.cast("a", 1)[0]
	command := process{actor.parent()}
	program := process{command.parent()}
	x.hasForeground(command.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompt()
	stopped(t, program, command, actor)
	w.proxy.HoldRequests()
	w.proxy.HoldReplies() // so that nobody tells it, either
	if err := client.Break(t.Context(), "x", w.tokenOf(client, "x"), holdfast.Now()); err != nil {
		t.Fatal(err)
	}
	x.enter("fg\n")
	until(t, "the program goes on", func() bool { return !program.isStopped() })
	for _, s := range []unix.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH} { // which shows that it is not busy
		signalled(t, program, s)
		until(t, "the program passes signals on", func() bool { return command.signals("ShdPnd")&bit(s) != 0 })
		if !command.isStopped() || !actor.isStopped() {
			t.Fatal("the command goes on before the store has answered")
		}
	}
	w.proxy.Heal()
	x.prompts(75)
	if got := w.readFile("lines"); !strings.HasPrefix(got, "TERM\n") {
		t.Errorf("the command wrote %q; want TERM first", got)
	}
}

// Signals are passed on while the program, once continued, waits for an answer of its store, and however many others came before.
func TestSignalsWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	// The store may take longer than this test waits.
	r := w.start("holdfast", "run", "--ttl", "10m", "--grace", "4m", "x", "--", "actor", "-survive", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 1)
	w.proxy.HoldRequests()
	until(t, "it asks the store", func() bool {
		r.kill(unix.SIGCONT) // again: the command may have begun before the program listens
		soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return w.proxy.AwaitHeld(soon, netfault.Requests, 1) == nil
	})
	for range 200 {
		r.kill(unix.SIGWINCH)
	}
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		r.kill(s)
		w.await("a", fmt.Sprint("got ", unix.SignalName(s)[3:]), 1)
	}
	w.proxy.Heal()
	w.write("end", "")
	r.ends(0)
}
