//go:build unix

package program_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopped uses the program in a process group of its own, and sends a signal to all of the group, as a terminal does, when it is ready.
// Nothing of the group is left afterwards.
func (w *world) stopped(signal syscall.Signal, ready func() bool, args ...string) result {
	w.t.Helper()
	cmd := exec.Command(self(w.t), args...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = w.env, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	over := time.AfterFunc(generous, func() { cmd.Process.Kill() })
	defer over.Stop()
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for going := true; going && !ready(); time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			going = false
		default:
		}
	}
	syscall.Kill(-cmd.Process.Pid, signal)
	<-ended
	if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		w.t.Errorf("%q: there are processes left: %v", args, err)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// works reports whether there are worker processes that do something, in a round that begins after that of the file.
func works(temporary, after string) bool {
	if _, err := os.Stat(after); err != nil {
		return false
	}
	histories, _ := filepath.Glob(filepath.Join(temporary, "torture-round-*", "process-*.hist"))
	return len(histories) > 0
}

// ^C prints what was done until then, and ends everything. That there was a violation says more than that it was stopped; and one who
// has asked for no end gets what he asked for.
func TestTortureStops(t *testing.T) {
	temporary := t.TempDir()
	w := newWorld(t, "TMPDIR="+temporary)
	dir := filepath.Join(w.home, "proof")
	judged := filepath.Join(dir, "round-000001.json")
	got := w.stopped(syscall.SIGINT, func() bool { return works(temporary, judged) },
		"torture", "--store", "memory,file", "--duration", "1", "--workers", "4", "--seed", "3", "--faults", "worker-stop", "--into", dir)
	if got.code != 130 || !strings.Contains(got.stdout, "1 round in ") || !strings.Contains(got.stdout, "\nmemory, ") ||
		!strings.HasSuffix(got.stderr, "holdfast: stopped before the end\n") {
		t.Errorf("%d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	for _, c := range []struct {
		bundle, duration, verdict string
		signal                    syscall.Signal
		code                      int
	}{
		{w.bundle(false), "0", "PASSED: no violation in 1 operation", syscall.SIGINT, 0},
		{w.bundle(false), "1h", "NOT FINISHED: Not all was done", syscall.SIGTERM, 143},
		{w.bundle(true), "1h", "FAILED: 1 violation found", syscall.SIGINT, 1},
	} {
		got := w.stopped(c.signal, func() bool { return works(temporary, c.bundle) },
			"torture", "-q", "--store", "memory", "--duration", c.duration, "--workers", "4", "--into", c.bundle)
		if got.code != c.code || !strings.Contains(got.stdout, c.verdict) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if left, err := os.ReadDir(temporary); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
