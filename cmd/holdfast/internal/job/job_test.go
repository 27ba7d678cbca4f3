//go:build linux

package job

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/group"
)

// What this package sees depends on where its process stands: tests start this binary again, which looks around and writes what it
// sees into a file.
const (
	lookVariable = "HOLDFAST_TEST_LOOK" // what to do
	fileVariable = "HOLDFAST_TEST_FILE" // where to write
)

func init() {
	if os.Getenv(lookVariable) == "thread" {
		runtime.LockOSThread() // the first thread, which Go never ends, must not be the one that starts the command
	}
}

func TestMain(m *testing.M) {
	looks := map[string]func() string{"around": lookAround, "ignored": lookIgnored, "thread": lookThread}
	look, ok := looks[os.Getenv(lookVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := os.WriteFile(os.Getenv(fileVariable), []byte(look()), 0o666); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// seen runs a command, in a session of its own, on that terminal if it is not nil, in which $LOOK is this binary, and returns what that saw.
func seen(t *testing.T, look string, terminal *os.File, command ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seen")
	if len(command) == 0 {
		command = []string{self}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "LOOK="+self, "GORACE=atexit_sleep_ms=0", lookVariable+"="+look, fileVariable+"="+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
		cmd.SysProcAttr.Setctty = true
	}
	err = cmd.Run()
	text, unread := os.ReadFile(file)
	if err := errors.Join(err, unread); err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return string(text)
}

// openPTY makes a pseudo-terminal.
func openPTY(t *testing.T) (slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if unlocked := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil || unlocked != nil {
		t.Fatal(err, unlocked)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}

func lookAround() string {
	terminal := openTerminal()
	defer terminal.close()
	return fmt.Sprintf("terminal %t, ours %t, an ancestor's %t, orphaned %t", terminal != nil, terminal.isOurs(), terminal.isOfAncestor(), orphaned())
}

// Who has the terminal, and whether anybody could continue us, for the places where a program may stand.
func TestWhereWeStand(t *testing.T) {
	for _, c := range []struct {
		name, script, want string
	}{
		{"no shell, as with ssh -t", "", "terminal true, ours true, an ancestor's false, orphaned true"},
		{"a job in the foreground", `set -m; "$LOOK"; :`, "terminal true, ours true, an ancestor's false, orphaned false"},
		{"a job in the background", `set -m; "$LOOK" & wait`, "terminal true, ours false, an ancestor's true, orphaned false"},
		{"in a script that is a job", `set -m; (bash -c '"$LOOK"; :'); :`, "terminal true, ours true, an ancestor's true, orphaned false"},
		{"in a script in the background", `set -m; bash -c '"$LOOK"; :' & wait`, "terminal true, ours false, an ancestor's true, orphaned false"},
		{"in a script without a shell", `"$LOOK"; :`, "terminal true, ours true, an ancestor's true, orphaned true"},
		{"below a script without a shell", `bash -c '"$LOOK"; :'; :`, "terminal true, ours true, an ancestor's true, orphaned true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var command []string
			if c.script != "" {
				command = []string{"bash", "-c", c.script}
			}
			if got := seen(t, "around", openPTY(t), command...); got != c.want {
				t.Errorf("it is %s; want %s", got, c.want)
			}
		})
	}
	if got, want := seen(t, "around", nil), "terminal false, ours false, an ancestor's false, orphaned true"; got != want {
		t.Errorf("without a terminal it is %s; want %s", got, want)
	}
}

func lookIgnored() string {
	var found []string
	ignored := ignoredSignals()
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		if ignored(s) {
			found = append(found, unix.SignalName(s))
		}
	}
	return strings.Join(found, " ")
}

// The stops of a terminal that were ignored at the start are known.
func TestIgnoredSignals(t *testing.T) {
	for before, want := range map[string]string{
		"":                          "",
		"trap '' TSTP; ":            "SIGTSTP",
		"trap '' TTIN TTOU; ":       "SIGTTIN SIGTTOU",
		"trap '' HUP TSTP TTIN; ":   "SIGHUP SIGTSTP SIGTTIN",
		"trap : TSTP; trap '' INT;": "SIGINT",
	} {
		if got := seen(t, "ignored", nil, "bash", "-c", before+`exec "$LOOK"`); got != want {
			t.Errorf("%q: %q are ignored, want %q", before, got, want)
		}
	}
}

// lookThread starts a command and lets threads end by the dozen while it is on its way and after it was stopped.
func lookThread() string {
	endThreads := func() {
		for range 20 {
			var ended sync.WaitGroup
			for range 20 {
				ended.Go(runtime.LockOSThread) // and the thread ends with it
			}
			ended.Wait()
		}
	}
	j, err := Start(Command{Path: "/bin/sleep", Args: []string{"sleep", "600"}, Started: func(int) { endThreads() }}, make(chan os.Signal, 1))
	if err != nil {
		return err.Error()
	}
	defer func() {
		syscall.Kill(j.Group(), syscall.SIGKILL)
		for range j.Changes() {
		}
		j.Close()
	}()
	look := func() string {
		p, err := group.Look(j.Group())
		return fmt.Sprintf("ended %t %v; ", p.Over, err)
	}
	saw := look()
	j.Signal(syscall.SIGSTOP)
	<-j.Changes()
	endThreads()
	return saw + look()
}

// The command lives as long as the thread that has started it, so that must live as long as the command, whatever Go does with others.
func TestThreadOfTheCommand(t *testing.T) {
	if got, want := seen(t, "thread", nil), "ended false <nil>; ended false <nil>; "; got != want {
		t.Errorf("the command: %s; want %s", got, want)
	}
}

// Pipes and sockets make us part of something bigger; files, terminals and nothing at all do not.
func TestIsPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		name string
		fd   int
		want bool
	}{
		{"the end of a pipe to read from", int(reader.Fd()), true}, {"the one to write to", int(writer.Fd()), true}, {"a socket", pair[0], true},
		{"a file", int(file.Fd()), false}, {"nothing", int(null.Fd()), false}, {"a terminal", int(openPTY(t).Fd()), false}, {"closed", 1 << 20, false},
	} {
		if got := isPipe(c.fd); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// A command that could not be started says what to do about it.
func TestStartError(t *testing.T) {
	for err, words := range map[error]string{
		syscall.ENOEXEC: "#!",
		syscall.EACCES:  "is it executable?",
		syscall.EPERM:   "is it executable?",
		syscall.E2BIG:   "argument list too long",
	} {
		got := &StartError{"./script", err}
		if text := got.Error(); !strings.HasPrefix(text, "./script: ") || !strings.Contains(text, words) {
			t.Errorf("%v: %q does not say %q", err, text, words)
		}
		if !errors.Is(got, err) {
			t.Errorf("%v is not what it was made of", got)
		}
	}
}
