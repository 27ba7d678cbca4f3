//go:build linux

package endtoend_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// ^C while the program waits for its lock ends a script around it, as it does while the command runs.
func TestInterruptWaitingScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Unlock()
	x := w.terminal()
	for _, script := range []string{
		"holdfast run x -- true\necho the script goes on\n",
		"for i in 1 2 3; do holdfast run x -- true; done\necho the script goes on\n",
	} {
		w.write("script.sh", script)
		x.enter("bash script.sh\n")
		w.awaitWaiters(client, "x", 1)
		until(t, "the shell gives the terminal away", func() bool { return x.shell.foreground() != x.shell.pid })
		x.enter(controlC)
		if shown := x.prompts(130); contains(shown, "goes on") {
			t.Errorf("%q goes on after ^C", script)
		}
		w.hasWaiters(client, "x", 0)
	}
}

// ^C ends a script whose pipeline the program is part of.
func TestInterruptPipelineInScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for run, line := range map[string]string{
		"left":  "holdfast run x -- actor $J left | cat",
		"right": "echo data | holdfast run x -- actor $J right",
		"both":  "echo data | holdfast run x -- actor $J both | cat",
	} {
		w.write("script.sh", line+"\necho the script goes on\n")
		x.enter("bash script.sh\n")
		program, command := w.programOf(run)
		x.hasForeground(program.group())
		x.enter(controlC)
		if shown := x.prompts(130); contains(shown, "goes on") {
			t.Errorf("%s: the script goes on after ^C", line)
		}
		if got := w.events(command); fmt.Sprint(got) != "[start got INT]" {
			t.Errorf("%s: the command wrote %q; want its start and one INT", line, got)
		}
	}
	w.isFree("x")
}

// ^C ends a loop that was typed at a prompt, while the command runs and while it waits.
func TestInterruptLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client()
	x := w.terminal()
	x.enter("for i in 1 2 3; do holdfast run x -- actor $J run$i; done\n")
	_, command := w.programOf("run1")
	x.hasForeground(command.pid)
	x.enter(controlC)
	x.prompts(130)
	if w.saw("run2", "start") > 0 {
		t.Error("the loop goes on after ^C")
	}
	hold, err := client.Mutex("x").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Unlock()
	x.enter("for i in 1 2 3; do echo round $i; holdfast run x -- true; done\n")
	w.awaitWaiters(client, "x", 1)
	until(t, "the shell gives the terminal away", func() bool { return x.shell.foreground() != x.shell.pid })
	x.enter(controlC)
	if shown := x.prompts(130); contains(shown, "round 2") {
		t.Error("the loop goes on after ^C while it waited")
	}
}

// INT that was sent to the program alone, and not typed, is no ^C: the command dies of it, and the script goes on.
func TestInterruptByKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "holdfast run x -- actor $J a\necho the script goes on, code $?\n")
	x.enter("bash script.sh\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	signalled(t, program, unix.SIGINT)
	x.expect("the script goes on, code 130")
	x.prompts(0)

	x.enter("for i in 1 2; do holdfast run x -- actor $J run$i; done\n")
	for i := range 2 {
		program, command = w.programOf(fmt.Sprint("run", i+1))
		x.hasForeground(command.pid)
		signalled(t, program, unix.SIGINT)
	}
	x.prompts(130)
}

// Whoever stands beside the program in a script's pipeline gets a ^C once: from the terminal, and not from the program again.
func TestInterruptOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "trap : INT\nholdfast run x -- actor $J a | actor -survive -until end $J beside\n")
	x.enter("bash script.sh\n")
	program, _ := w.programOf("a")
	beside := w.cast("beside", 1)[0]
	x.hasForeground(program.group())
	x.enter(controlC)
	until(t, "the program has ended", func() bool { return !program.alive() })
	signalled(t, beside, unix.SIGUSR1)
	w.await("beside", "got USR1", 1)
	if got := w.events(beside); fmt.Sprint(got) != "[start got INT got USR1]" {
		t.Errorf("who stands beside wrote %q; want one INT", got)
	}
	w.write("end", "")
	x.prompt()
}

// A script is stopped with the program each time that ^Z is typed, and so is a pipeline whose command has the terminal.
func TestStopAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	w.write("script.sh", "holdfast run x -- actor -read $J script\necho code $?\n")
	for run, line := range map[string]string{"script": "bash script.sh", "pipe": "holdfast run x -- sh -c 'actor -read $J pipe </dev/tty' | cat"} {
		x.enter(line + "\n")
		actor := w.cast(run, 1)[0]
		x.hasForeground(actor.group())
		jobs := processes(func(p process) bool { return p.session() == x.shell.pid && p != x.shell && p.alive() })
		if len(jobs) < 3 {
			t.Fatalf("%s: there are only\n%s", line, listing(jobs))
		}
		for range 3 {
			x.enter(controlZ)
			x.expect("Stopped")
			x.prompt()
			stopped(t, jobs...)
			x.enter("fg\n")
			x.hasForeground(actor.group())
		}
		x.enter("quit\n")
		x.prompts(0)
	}
}

// After ^Z and bg the program heeds a stop that comes to it as it did before.
func TestStopByKillAfterStop(t *testing.T) {
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
	for i := range 3 {
		x.do("bg")
		w.await("a", "got CONT", i+1)
		until(t, "both run", func() bool { return !program.isStopped() && !command.isStopped() })
		signalled(t, program, unix.SIGTSTP)
		stopped(t, program, command)
		x.knowsOfTheStop() // else it takes the job for one that runs, and does not continue it
	}
	x.do("bg; kill %1; wait")
	w.isFree("x")
}

// TSTP that was ignored at the start stays so in the program, too: it does not stop what its caller wanted never to stop.
func TestIgnoredStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("(trap '' TSTP; exec holdfast run x -- actor -deaf -until end $J a)\n")
	program, command := w.programOf("a")
	x.hasForeground(command.pid)
	for _, p := range []process{program, command} {
		if p.signals("SigIgn")&bit(unix.SIGTSTP) == 0 {
			t.Errorf("TSTP is not ignored any more by %v", p)
		}
	}
	w.write("end", "")
	x.prompts(0)
}
