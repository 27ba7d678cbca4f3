//go:build linux

package group

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// headless is a name of this test binary under which it lets its first thread end, and works on until its input does.
const headless = "holdfast-headless"

func init() {
	if os.Args[0] != headless {
		return
	}
	runtime.LockOSThread() // init runs on the first thread
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	syscall.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // of the thread alone
}

// A process whose first thread has ended is called a zombie, and is at work all the same.
func TestHeadless(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: []string{headless}, Env: append(os.Environ(), "GOMAXPROCS=4", "GOGC=off"),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid
	for state(t, pid) != "Z" {
		time.Sleep(time.Millisecond)
	}
	p, err := Look(pid)
	if err != nil || p.Over {
		t.Errorf("it is over: %t, %v", p.Over, err)
	}
	if !Running(pid) {
		t.Error("its group does not run")
	}
	input.Close()
	Await(pid, nil) // it is a zombie still, and now that is all: nobody has waited for it
	if p, err := Look(pid); err != nil || !p.Over {
		t.Errorf("it is over: %t, %v; want that it is", p.Over, err)
	}
}

// state is what /proc calls it.
func state(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, after, found := strings.Cut(string(status), "\nState:\t")
	if err != nil || !found {
		t.Fatalf("%v in %q", err, status)
	}
	return after[:1]
}

// A process may be called anything, also what looks like the rest of its line in /proc.
func TestOddNames(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a b", "a) Z 1 (b", ") Z 1 1 1", "((", "x\ny) T"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(sleep, path); err != nil {
			t.Fatal(err)
		}
		cmd := &exec.Cmd{Path: path, Args: []string{"sleep", "600"}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		p, err := Look(pid)
		session, _ := unix.Getsid(0)
		want := Process{Pid: pid, Parent: os.Getpid(), Group: pid, Session: session, Began: p.Began}
		if err != nil || p != want || p.Began == 0 {
			t.Errorf("%q: %+v, %v; want %+v", name, p, err, want)
		}
		if comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm"); err != nil || string(comm) != name+"\n" {
			t.Errorf("it is called %q, %v: this test shows nothing of %q", comm, err, name)
		}
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := Look(pid); err == nil {
			t.Errorf("%q is seen after its end", name)
		}
	}
}
