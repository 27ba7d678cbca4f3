package round_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A running is a process as the kernel knows it.
type running struct {
	pid   int
	state string // T: stopped, Z: it has ended, and nobody has asked how
	since string // which tells it from another one of that number
}

// processes returns those that run, of that parent.
func processes(parent int) (all []running) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if p, itsParent := status(pid); itsParent == parent && p.state != "Z" {
			all = append(all, p)
		}
	}
	return all
}

func status(pid int) (p running, parent int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return running{pid: pid}, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return running{pid, fields[0], fields[19]}, parent
}

// runs reports whether it still does, stopped or not.
func (p running) runs() bool {
	now, _ := status(p.pid)
	return now.since == p.since && now.state != "Z" && now.state != "X"
}

// Whoever kills the controller leaves no worker behind, also none that stands still and hears of nothing.
func TestControllerKilled(t *testing.T) {
	t.Parallel()
	temporary, err := os.MkdirTemp("", "killed-") // short: there will be a socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temporary) })
	controller := exec.Command(os.Args[0], "control", t.TempDir())
	controller.Env = append(os.Environ(), "TMPDIR="+temporary)
	controller.Stderr = os.Stderr
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	defer controller.Wait()
	defer controller.Process.Kill()
	const patience = 30 * time.Second
	var workers []running
	stopped := func() bool {
		workers = processes(controller.Process.Pid)
		for _, w := range workers {
			if w.state == "T" && len(workers) == 3 {
				return true
			}
		}
		return false
	}
	for begun := time.Now(); !stopped(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("of three processes one should be stopped: %+v", workers)
		}
	}
	controller.Process.Kill()
	controller.Wait()
	for _, w := range workers {
		for begun := time.Now(); w.runs(); time.Sleep(time.Millisecond) {
			if time.Since(begun) > patience/3 {
				t.Errorf("process %d is left, in state %s", w.pid, w.state)
				syscall.Kill(w.pid, syscall.SIGKILL)
				break
			}
		}
	}
}
