//go:build linux

package endtoend_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Standard input, output and error are the command's, whatever is joined to them.
func TestPipelines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for line, want := range map[string]string{
		"holdfast run x -- echo one | cat":                                    "one\n",
		"echo two | holdfast run x -- cat":                                    "two\n",
		"echo three | holdfast run x -- cat | cat":                            "three\n",
		"echo four | holdfast run x -- cat | holdfast run y -- tr f F":        "Four\n",
		"echo \"<$(holdfast run x -- echo five)>\"":                           "<five>\n",
		"holdfast run x -- sh -c 'echo six >&2' 2>&1 >/dev/null | cat":        "six\n",
		"holdfast run x -- cat </dev/null":                                    "",
		"holdfast run x -c 'echo seven; echo eight >&2' 2>/dev/null":          "seven\n",
		"holdfast run x -- sh -c 'exit 3' | cat; echo ${PIPESTATUS[*]}":       "3 0\n",
		"holdfast run x -- yes | head -n 1; echo ${PIPESTATUS[*]}":            "y\n141 0\n",
		"diff <(holdfast run x -- echo same) <(holdfast run y -- echo same)":  "",
		"holdfast run x -- test -t 0 && holdfast run x -- test -t 1; echo $?": "0\n",
		"holdfast run x -- stty size":                                         "24 80\n",
	} {
		if shown, _ := x.do(line); shown != want {
			t.Errorf("%s shows %q, want %q", line, shown, want)
		}
	}
}

// In a pipeline ^C reaches every part, and the command once.
func TestInterruptPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for run, line := range map[string]string{
		"left":       "holdfast run x -- actor $J left | cat",
		"right":      "sleep 1000 | holdfast run x -- actor $J right",
		"substitute": "y=$(holdfast run x -- actor $J substitute)",
	} {
		x.enter(line + "\n")
		program, command := w.programOf(run)
		until(t, "one of them has the terminal", func() bool {
			front := x.shell.foreground()
			return front == program.group() || front == command.group()
		})
		x.enter(controlC)
		x.prompts(130)
		if got := w.events(command); len(got) != 2 || got[1] != "got INT" {
			t.Errorf("%s: the command wrote %q; want its start and one INT", line, got)
		}
		w.isFree("x")
	}
}

// In a pipeline ^Z stops every part, and fg continues them.
func TestStopPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -until end $J a | cat\n")
	program, command := w.programOf("a")
	x.hasForeground(program.group())
	for range 3 {
		x.enter(controlZ)
		x.expect("Stopped")
		x.prompt()
		stopped(t, program, command)
		x.enter("fg\n")
		x.hasForeground(program.group())
		until(t, "the command runs", func() bool { return !command.isStopped() })
	}
	w.write("end", "")
	x.prompts(0)
}

// Whoever reads the keyboard in a pipeline can: a pager behind the program at any time, and the command itself when it asks.
func TestKeyboardInPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- actor -until end $J a | sh -c 'read l </dev/tty; echo pager: $l; touch end'\n")
	w.programOf("a")
	x.enter("space\n")
	x.expect("pager: space")
	x.prompts(0)

	w.write("ask.sh", "read l </dev/tty; echo asked: $l\n")
	for _, line := range []string{
		"holdfast run x -- sh ask.sh | cat",
		"echo data | holdfast run x -- sh ask.sh",
		"echo data | holdfast run x -- sh ask.sh | cat",
		"echo \"$(holdfast run x -- sh ask.sh)\"",
	} {
		x.enter(line + "\nanswer\n")
		x.expect("asked: answer")
		x.prompts(0)
	}
}

// A program that takes the terminal as editors do works, and so does the shell after it.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	before := x.modes()
	w.write("keys.sh", `saved=$(stty -g)
stty -icanon -echo min 1 time 0
echo ready
key=$(dd bs=1 count=1 2>/dev/null)
stty "$saved"
echo key=$key
`)
	x.enter("holdfast run x -- sh keys.sh\n")
	x.expect("ready")
	x.enter("k") // and no end of line
	x.expect("key=k")
	x.prompts(0)
	if after := x.modes(); after != before {
		t.Errorf("the terminal's modes were %+v, and are %+v", before, after)
	}
}

// A new size of the window reaches the command, with the terminal and without.
func TestResize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	for i, line := range []string{"holdfast run x -- actor $J run0", "holdfast run x -- actor $J run1 | cat"} {
		run := fmt.Sprint("run", i)
		x.enter(line + "\n")
		_, command := w.programOf(run)
		until(t, "the shell gives the terminal away", func() bool { return x.shell.foreground() != x.shell.pid })
		if i == 0 {
			x.hasForeground(command.pid)
		}
		width := uint16(100)
		until(t, "a new size reaches "+run, func() bool { // one that comes before the program listens for it reaches nobody
			width++
			x.resize(30, width)
			return w.saw(run, "got WINCH") > 0
		})
		x.enter(controlC)
		x.prompts(130)
	}
}

// Much input passes unchanged.
func TestMuchInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	input := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstu\n"), 200_000)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	go func() {
		defer writer.Close()
		io.Copy(writer, bytes.NewReader(input))
	}()
	cmd := w.command("holdfast", "run", "x", "--", "sha256sum")
	cmd.Stdin = reader
	got := w.startCmd(cmd).ends(0).out
	if want := fmt.Sprintf("%x", sha256.Sum256(input)); !strings.HasPrefix(got, want) {
		t.Errorf("the sum of the input is %s, want %s", got, want)
	}
}

// The end of the standard input is the command's to see.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	x.enter("holdfast run x -- cat\n")
	until(t, "the command has the terminal", func() bool {
		front := process{x.shell.foreground()}
		return front != x.shell && front.args()[0] == "cat"
	})
	x.enter("line\n")
	x.expect("line\r\nline\r\n")
	x.enter(controlD)
	x.prompts(0)
	if got := unix.Kill(x.shell.pid, 0); got != nil {
		t.Errorf("the shell has ended: %v", got)
	}
}
