//go:build unix

package readme

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// patience is how long a command may take. The first one compiles the program, perhaps on a machine with better things to do.
const patience = 3 * time.Minute

// A terminal is a shell that somebody types commands into. Each is run by a shell of its own, which gets the directory, the exported
// variables and $? of the one before.
type terminal struct {
	house *house
	state string // a directory
	code  int    // $?
}

func newTerminal(t *testing.T, h *house) *terminal {
	t.Helper()
	term := &terminal{house: h, state: t.TempDir()}
	for name, text := range map[string]string{"exports": "", "dir": h.repository + "\n"} {
		if err := os.WriteFile(filepath.Join(term.state, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return term
}

// typed is the shell's script. Its arguments are the state, $? and the command.
const typed = `cd "$(cat "$1/dir")" || exit
. "$1/exports"
(exit "$2")
eval "$3"
set -- "$1" $?
export -p >"$1/exports"
pwd >"$1/dir"
exit "$2"`

// shell returns a shell that runs a command in a group of its own, so that all of it can be ended.
func (term *terminal) shell(ctx context.Context, command string) *exec.Cmd {
	return term.house.command(ctx, term.house.env, typed, "sh", term.state, strconv.Itoa(term.code), command)
}

// command returns /bin/sh with a script and its arguments, in a process group of its own, all of which ends with the context.
func (h *house) command(ctx context.Context, env []string, script string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script}, args...)...)
	cmd.Env = env
	cmd.Dir = h.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a command to its end and returns all that it printed.
func (term *terminal) run(t *testing.T, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := term.shell(ctx, command)
	output, err := cmd.CombinedOutput()
	term.code = codeOf(t, command, err, output)
	return string(output)
}

// codeOf is the exit code of a command that was run, whatever it is.
func codeOf(t *testing.T, command string, err error, output []byte) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0) {
		t.Fatalf("%s: %v; it printed:\n%s", command, err, output)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return 0
}

// A background is a command that goes on while others are run.
type background struct {
	term    *terminal
	command string
	cmd     *exec.Cmd
	input   io.Closer
	cancel  context.CancelFunc
	ended   chan struct{}
	output  bytes.Buffer // these two: once it has ended
	err     error
}

// begin starts a command that goes on until its input ends, or it ends itself.
func (term *terminal) begin(t *testing.T, command string) *background {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b := &background{term: term, command: command, cmd: term.shell(ctx, command), cancel: cancel, ended: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = &b.output, &b.output
	input, err := b.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.input = input
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		b.err = b.cmd.Wait()
		close(b.ended)
	}()
	t.Cleanup(func() { // also if the test has failed
		b.cancel()
		<-b.ended
	})
	return b
}

// finish types Ctrl-D, waits for the end, and returns what was printed.
func (b *background) finish(t *testing.T) string {
	t.Helper()
	b.input.Close()
	<-b.ended
	b.term.code = codeOf(t, b.command, b.err, b.output.Bytes())
	return b.output.String()
}

// runs reports whether it has not ended yet.
func (b *background) runs() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}
