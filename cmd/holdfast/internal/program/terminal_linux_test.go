package program_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal of 60 columns: the side that people see, and the program's.
func terminal(t *testing.T) (people, program *os.File) {
	t.Helper()
	people, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { people.Close() })
	fd := int(people.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return people, program
}

// onTerminal runs the program on a terminal of its own, and returns what is to be seen there, as it comes.
func (w *world) onTerminal(args ...string) (screen chan string) {
	w.t.Helper()
	return w.commandOnTerminal(exec.Command(self(w.t), args...))
}

// commandOnTerminal is onTerminal for any command.
func (w *world) commandOnTerminal(cmd *exec.Cmd) (screen chan string) {
	w.t.Helper()
	people, program := terminal(w.t)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.env, program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	program.Close()
	w.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	screen = make(chan string, 1000)
	go func() {
		defer close(screen)
		buffer := make([]byte, 4096)
		for {
			n, err := people.Read(buffer) // an error when nobody has the other side any more
			if n > 0 {
				screen <- string(buffer[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return screen
}

// until reads the screen until a text is there, or to its end.
func until(t *testing.T, screen chan string, text string) (seen string) {
	t.Helper()
	late := time.After(generous)
	for text == "" || !strings.Contains(seen, text) {
		select {
		case more, open := <-screen:
			if seen += more; !open {
				return seen
			}
		case <-late:
			t.Fatalf("waited for %q, seen is %q", text, seen)
		}
	}
	return seen
}

// On a terminal a wait of more than a second is shown on one line, cut to its width, and wiped before the command begins.
func TestWaitingOnATerminal(t *testing.T) {
	w := newWorld(t, "TERM=xterm")
	hold := w.hold(w.locks().Mutex("x"))
	screen := w.onTerminal("run", "x", "--", "echo", "mine")
	seen := until(t, screen, `"x": place 1, held since `)
	hold.Unlock()
	seen += until(t, screen, "")
	for i, line := range strings.Split(strings.TrimSuffix(seen, "\r\n"), "\r")[1:] {
		if shown := strings.TrimSuffix(line, "\x1b[K"); len([]rune(shown)) > 57 || i == 0 && !strings.HasPrefix(shown, `holdfast: "x": place 1, held since `) {
			t.Errorf("shown is %q", line)
		}
	}
	if !strings.HasSuffix(seen, "\r\x1b[Kmine\r\n") || strings.Count(seen, "\n") != 1 {
		t.Errorf("seen is %q", seen)
	}
}

func TestWaitingOnADumbTerminal(t *testing.T) {
	w := newWorld(t, "TERM=dumb")
	hold := w.hold(w.locks().Mutex("x"))
	screen := w.onTerminal("run", "x", "--", "echo", "mine")
	seen := until(t, screen, "\n")
	hold.Unlock()
	seen += until(t, screen, "")
	if !regexp.MustCompile(`^holdfast: "x": place 1, held since \S+ by \S+, waiting for \d\S*s\r\nmine\r\n$`).MatchString(seen) {
		t.Errorf("seen is %q", seen)
	}
}

// In the background the line is somebody else's: a plain line tells about the wait, and nothing is rewritten.
func TestWaitingInTheBackgroundOfATerminal(t *testing.T) {
	w := newWorld(t, "TERM=xterm")
	hold := w.hold(w.locks().Mutex("x"))
	screen := w.commandOnTerminal(exec.Command("/bin/sh", "-c", `set -m; "$0" run x -- echo mine & wait`, self(t)))
	seen := until(t, screen, "waiting for ")
	hold.Unlock()
	seen += until(t, screen, "")
	if !regexp.MustCompile(`(?m)^holdfast: "x": place 1, held since \S+ by \S+, waiting for \d\S*s\r$`).MatchString(seen) || strings.Contains(seen, "\x1b") {
		t.Errorf("seen is %q", seen)
	}
}

// What cannot be printed is no fault of the store's.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"ls", "--json"}, {"inspect", "x"}, {"version"}} {
		cmd := exec.Command(self(t), args...)
		cmd.Env, cmd.Stdout = w.env, full
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 71 {
			t.Errorf("%q: %v, want code 71", args, err)
		}
	}
}
