//go:build linux

package endtoend_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A terminal is a pseudo-terminal with an interactive bash on it.
type terminal struct {
	*world
	master *os.File
	shell  process
	done   chan struct{} // the shell has ended

	mu   sync.Mutex
	seen []byte // all that was ever shown
	read int    // what was expected before, and found
}

const (
	controlC = "\x03"
	controlD = "\x04"
	controlZ = "\x1a"
	quitKey  = "\x1c"
)

// prompt is what the shell's PS1 looks like; nothing that is typed does.
var prompt = regexp.MustCompile(`<<(\d+)>> `)

// terminal opens one, with a shell that is ready.
func (w *world) terminal(env ...string) *terminal {
	w.t.Helper()
	x := &terminal{world: w, done: make(chan struct{})}
	master, slave, err := openPTY()
	if err != nil {
		w.t.Fatal(err)
	}
	x.master = master
	bash := &exec.Cmd{
		Path:  filepath.Join("/bin", "bash"),
		Args:  []string{"bash", "--norc", "--noprofile", "--noediting", "-i"},
		Env:   append(append(w.env[:len(w.env):len(w.env)], "PS1=<<$?>> ", "HISTFILE="), env...),
		Dir:   w.dir,
		Stdin: slave, Stdout: slave, Stderr: slave,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	if err := bash.Start(); err != nil {
		w.t.Fatal(err)
	}
	slave.Close()
	x.shell = process{bash.Process.Pid}
	go func() {
		defer close(x.done)
		bash.Wait()
	}()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		x.watch()
	}()
	w.t.Cleanup(func() {
		x.isQuiet()
		if w.dump(); w.t.Failed() {
			w.t.Logf("the screen:\n%s", x.screen())
		}
		bash.Process.Kill()
		<-x.done
		master.Close()
		<-reading
	})
	x.prompt()
	return x
}

// isQuiet checks that the shell has no jobs left: killing it ends some, and hides that.
func (x *terminal) isQuiet() {
	jobs := func(p process) bool { return p != x.shell && p.session() == x.shell.pid && p.alive() }
	if x.t.Failed() {
		return
	}
	if left := awaitNobody(jobs); len(left) > 0 {
		x.t.Errorf("the shell has jobs left:\n%s", listing(left))
	}
}

// openPTY makes a pseudo-terminal of 80 by 24 characters.
func openPTY() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	var n uint32
	if err == nil {
		n, err = unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	return master, slave, nil
}

// watch keeps all that is shown.
func (x *terminal) watch() {
	buffer := make([]byte, 4096)
	for {
		n, err := x.master.Read(buffer)
		x.mu.Lock()
		x.seen = append(x.seen, buffer[:n]...)
		x.mu.Unlock()
		if err != nil {
			return // EIO: nobody has the other side open any more
		}
	}
}

func (x *terminal) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.seen)
}

// resize changes the window.
func (x *terminal) resize(rows, columns uint16) {
	x.t.Helper()
	x.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
}

// modes are how the terminal treats what is typed and shown.
func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	var modes unix.Termios
	x.control(func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			modes = *m
		}
		return err
	})
	return modes
}

func (x *terminal) control(f func(fd int) error) {
	x.t.Helper()
	raw, err := x.master.SyscallConn()
	if err == nil {
		var failed error
		if err = raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err == nil {
			err = failed
		}
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// enter types. A line needs its "\n".
func (x *terminal) enter(text string) {
	x.t.Helper()
	if _, err := x.master.WriteString(text); err != nil {
		x.t.Fatalf("type %q: %v", text, err)
	}
}

// expect waits until this is shown, after what was expected before.
func (x *terminal) expect(text string) {
	x.t.Helper()
	x.find(fmt.Sprintf("the terminal shows %q", text), func(fresh []byte) []int {
		if i := bytes.Index(fresh, []byte(text)); i >= 0 {
			return []int{i, i + len(text)}
		}
		return nil
	})
}

// prompt waits for the shell's prompt, and returns what was shown before it and the last command's code.
func (x *terminal) prompt() (string, int) {
	x.t.Helper()
	before, match := x.find("the shell prompts", prompt.FindSubmatchIndex)
	code, err := strconv.Atoi(prompt.FindStringSubmatch(match)[1])
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.ReplaceAll(before, "\r\n", "\n"), code
}

// find waits until look finds something in what is new, and takes it: what was before it, and it.
func (x *terminal) find(what string, look func([]byte) []int) (before, found string) {
	x.t.Helper()
	until(x.t, what, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		fresh := x.seen[x.read:]
		at := look(fresh)
		if at == nil {
			return false
		}
		before, found = string(fresh[:at[0]]), string(fresh[at[0]:at[1]])
		x.read += at[1]
		return true
	})
	return before, found
}

// do types a line and waits for the prompt; what it shows, without the line itself, and the code.
func (x *terminal) do(line string) (string, int) {
	x.t.Helper()
	x.enter(line + "\n")
	shown, code := x.prompt()
	_, shown, _ = strings.Cut(shown, "\n")
	return shown, code
}

// prompts waits for the prompt and checks the last command's code.
func (x *terminal) prompts(code int) string {
	x.t.Helper()
	shown, got := x.prompt()
	if got != code {
		x.t.Errorf("the code is %d, want %d", got, code)
	}
	return shown
}

// hasForeground waits until a group has the terminal.
func (x *terminal) hasForeground(group int) {
	x.t.Helper()
	until(x.t, fmt.Sprintf("group %d has the terminal", group), func() bool { return x.shell.foreground() == group })
}

// stopped waits until all of these are.
func stopped(t *testing.T, all ...process) {
	t.Helper()
	for _, p := range all {
		until(t, fmt.Sprintf("this is stopped: %v", p), p.isStopped)
	}
}

// The rig itself: the shell works, codes are read, jobs can be stopped and continued.
func TestTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal()
	if shown, code := x.do("echo one; (exit 7)"); shown != "one\n" || code != 7 {
		t.Errorf("shown %q, code %d", shown, code)
	}
	x.enter("actor -read $J bare\n")
	bare := w.cast("bare", 1)[0]
	x.hasForeground(bare.pid)
	x.enter(controlZ)
	x.expect("Stopped")
	x.prompts(128 + int(unix.SIGTSTP))
	stopped(t, bare)
	x.enter("fg\nhello\n")
	w.await("bare", "line hello", 1)
	x.enter(controlC)
	x.prompts(130)
	if got := w.saw("bare", "got INT"); got != 1 {
		t.Errorf("%d INT, want 1", got)
	}
	x.enter("exit\n")
	<-x.done
}
