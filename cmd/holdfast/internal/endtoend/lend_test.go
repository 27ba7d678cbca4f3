//go:build linux

package endtoend_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests here are about who has the terminal after the program: whoever had it before.

// notRunnable makes a file that looks like a program until somebody tries to run it.
func (w *world) notRunnable() string {
	w.t.Helper()
	return w.write("not-runnable", "neither a program nor a script\n")
}

// A command that gets the terminal before it begins, as in $(…), and then cannot be run, does not take it along.
func TestTerminalAfterFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.notRunnable()
	x := w.terminal()
	w.write("script.sh", "y=$(holdfast run x -- ./not-runnable)\necho code $?\nread l\necho read $l\n")
	for _, line := range []string{
		"(trap '' TTIN TTOU TSTP; bash script.sh)", // as a shell starts $(…)
		"y=$(holdfast run x -- ./not-runnable); echo code $?; read l; echo read $l",
		"bash script.sh",
	} {
		x.enter(line + "\n")
		x.expect("code 126\r\n")
		x.enter("hello\n")
		x.expect("read hello\r\n")
		x.prompts(0)
		x.hasForeground(x.shell.pid)
	}
}

// A command that reads at once has the terminal in $(…), too, where nobody would stop it until it has.
func TestReadAtOnceInSubstitution(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for i := range *rounds {
		x.enter(fmt.Sprintf("echo \"got $(holdfast run x -- sh -c 'read l </dev/tty; echo $l')\"\nanswer%d\n", i))
		x.expect(fmt.Sprintf("got answer%d\r\n", i))
		x.prompts(0)
	}
}

// A shell as the command has given the terminal to a job of its own when the lock is lost: the script around it can read afterwards.
func TestTerminalAfterLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	x := w.terminal()
	w.write("script.sh", "export PS1='<<$?>> '\nholdfast run --grace 0.3s x -- bash --norc --noprofile --noediting -i\necho code $?\nread l\necho read $l\n")
	x.enter("bash script.sh\n")
	x.prompts(0)
	x.enter("actor -survive $J a\n")
	job := w.cast("a", 1)[0]
	x.hasForeground(job.pid)
	w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
	x.expect("code 75\r\n")
	if job.alive() {
		t.Errorf("the shell's job outlives the hold: %v", job)
	}
	x.enter("hello\n")
	x.expect("read hello\r\n")
	x.prompts(0)
	x.hasForeground(x.shell.pid)
}

// orphan starts a run in the background of a shell that ends before the command begins, so that nobody could continue the run.
func (x *terminal) orphan(before, command string) (program, actor process) {
	x.t.Helper()
	client := x.client()
	hold, err := client.Mutex("x").Lock(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	x.do("(" + before + "holdfast run x -- " + command + " </dev/tty &)")
	x.awaitWaiters(client, "x", 1)
	var waiting []process
	until(x.t, "one of them waits, and no guard is being made", func() bool {
		waiting = processes(func(p process) bool { return x.ours(p) && strings.HasPrefix(p.read("cmdline"), "holdfast\x00run\x00") })
		return len(waiting) == 1
	})
	until(x.t, "the shell around it has ended", func() bool { return process{waiting[0].parent()}.session() != x.shell.pid })
	if err := hold.Unlock(); err != nil {
		x.t.Fatal(err)
	}
	return x.programOf("a")
}

// A command that nobody could continue is refused what is typed, as it would be without the program, and goes on: it is neither
// stopped nor told anything.
func TestReadOfAnOrphan(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"plain": "", "nohup": "trap '' HUP; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminal()
			program, command := x.orphan(before, "actor -read -until end $J a")
			refused := "end of input: read /dev/stdin: " + unix.EIO.Error()
			w.await("a", refused, 1)
			w.write("end", "")
			until(t, "the program ends", func() bool { return !program.alive() })
			if got, want := w.events(command), []string{"start", refused, "end"}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the command wrote %q, want %q", got, want)
			}
			if front := x.shell.foreground(); front != x.shell.pid {
				t.Errorf("group %d has the terminal; want the shell's, %d", front, x.shell.pid)
			}
			w.isFree("x")
		})
	}
}

// A run that becomes an orphan while its command runs: when that then wants what is typed it is hung up, once, as the kernel does to
// stopped groups that nobody can continue. A command that ignores it stays stopped, and can still be ended.
func TestReadOfALaterOrphan(t *testing.T) {
	t.Parallel()
	for before, code := range map[string]string{"": "129\n", "trap '' HUP; ": "137\n"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminal()
			x.do("mkfifo gate")
			w.write("ask.sh", before+"echo $$ >pid && mv pid command\nuntil test -e ask; do sleep 0.01; done\nread l </dev/tty\necho went on >>code\n")
			w.write("around.sh", "holdfast run x -- sh ask.sh\necho $? >>code\n")
			x.do("(sh around.sh </dev/tty & read l <gate) &")
			until(t, "the command has begun", func() bool { return unix.Access(w.path("command"), unix.R_OK) == nil })
			pid, err := strconv.Atoi(strings.TrimSpace(w.readFile("command")))
			if err != nil {
				t.Fatal(err)
			}
			command := process{pid}
			program := process{command.parent()}
			around := process{program.parent()}
			shell := process{around.parent()}
			x.do("echo >gate")
			until(t, "the shell around it has ended", func() bool { return !shell.alive() && around.parent() != shell.pid })
			w.write("ask", "")
			if before != "" {
				stopped(t, program, command)
				w.holdfast(1, "run", "-n", "x", "--", "true")
				signalled(t, command, unix.SIGKILL)
			}
			until(t, "all have ended", func() bool { return !around.alive() })
			if got := w.readFile("code"); got != code {
				t.Errorf("the code is %q, want %q", got, code)
			}
			if front := x.shell.foreground(); front != x.shell.pid {
				t.Errorf("group %d has the terminal; want the shell's, %d", front, x.shell.pid)
			}
			w.isFree("x")
		})
	}
}
