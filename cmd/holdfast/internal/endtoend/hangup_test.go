//go:build linux

package endtoend_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nohup holds for the command too: the terminal goes, the command goes on.
func TestNohup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.do("nohup holdfast run x -- actor -deaf -until end $J a >out 2>&1 &")
	program, command := w.programOf("a")
	if command.signals("SigIgn")&bit(unix.SIGHUP) == 0 {
		t.Errorf("the command does not ignore HUP: %x", command.signals("SigIgn"))
	}
	x.hangUp()
	w.holdfast(1, "run", "-n", "x", "--", "true")
	if err := unix.Kill(program.pid, unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.write("end", "")
	w.await("a", "end", 1)
	until(t, "the program ends", func() bool { return !program.alive() })
	w.isFree("x")
}

// Without nohup the command is told when the terminal goes, in the foreground and in the background.
func TestHangUp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"holdfast run x -- actor $J a", "holdfast run x -- actor $J a &",
		"holdfast run x -- actor $J a | cat", "bash -c 'holdfast run x -- actor $J a; true'",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminal()
			x.enter(line + "\n")
			program, command := w.programOf("a")
			if front := x.shell.foreground(); !strings.HasSuffix(line, "&") {
				until(t, "the shell gives the terminal away", func() bool { front = x.shell.foreground(); return front != x.shell.pid })
			}
			x.hangUp()
			until(t, "both end", func() bool { return !program.alive() && !command.alive() })
			if got := w.saw("a", "got HUP"); got == 0 {
				t.Errorf("the command was not told: %q", w.events(command))
			}
			w.isFree("x")
		})
	}
}

// hangUp closes the terminal, and waits for the shell's end.
func (x *terminal) hangUp() {
	x.t.Helper()
	x.master.Close()
	<-x.done
}

// What is ignored when the program starts is ignored by the command: HUP, INT, and QUIT with it, as shells start what runs in the
// background. So are the stops that a terminal sends. Nothing else is ignored or
// blocked.
func TestIgnoredSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const look = "grep -E '^Sig(Ign|Blk)' /proc/self/status"
	for _, before := range []string{"", "trap '' HUP; ", "trap '' INT QUIT; ", "trap '' HUP INT QUIT; ", "trap '' TSTP TTIN TTOU; "} {
		bare := w.start("sh", "-c", before+look).ends(0)
		under := w.start("sh", "-c", before+"holdfast run x -- "+look).ends(0)
		if under.out != bare.out {
			t.Errorf("%q: under the program %q, want %q", before, under.out, bare.out)
		}
	}
	bare := w.start("sh", "-c", look+" & wait").ends(0)
	under := w.start("sh", "-c", "holdfast run x -- "+look+" & wait").ends(0)
	both := bit(unix.SIGINT) | bit(unix.SIGQUIT) // and what whoever runs the tests ignores
	if under.out != bare.out || statusSet(bare.out, "SigIgn")&both != both {
		t.Errorf("in a script's background: under the program %q, want %q, with INT and QUIT", under.out, bare.out)
	}
}

// A signal that is ignored does not end the wait for the lock either.
func TestIgnoredWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := w.start("sh", "-c", "trap '' HUP INT QUIT; exec holdfast run x -- true")
	w.awaitWaiters(client, "x", 1)
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		r.kill(s)
	}
	w.hasWaiters(client, "x", 1)
	if err := hold.Unlock(); err != nil {
		t.Fatal(err)
	}
	r.ends(0)
}
