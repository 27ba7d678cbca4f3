package worker_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/worker"
)

// procfs reports whether this can be counted here.
func procfs(history.Flag) bool { return true }

// A worker dies when it is its turn to, and one that is armed where its lock says; each while it holds, and after it has said so.
func TestDies(t *testing.T) {
	for name, c := range map[string]struct {
		store, command string
		mix            worker.Mix
	}{
		"by work": {"mem://dying", "", worker.Mix{Die: 1}},
		"armed":   {reaching, "arm", worker.Mix{Use: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := start(t, c.store, c.mix)
			if c.command != "" {
				child.until(history.Acquire, history.Done, some, nothing)
				if killed := child.records(history.Process, history.Killed); len(killed) > 0 {
					t.Errorf("it has died without being told to: %+v", killed)
				}
				child.tell(c.command)
			}
			if code := child.ends(); code != -1 {
				t.Errorf("it ended with %d", code)
			}
			if killed := child.records(history.Process, history.Killed); len(killed) != 1 || killed[0].Process != 7 {
				t.Errorf("%+v", killed)
			}
			if name == "by work" && (len(child.records(history.Acquire, history.Done)) != 1 || len(child.records(history.Release, history.Asked)) != 0) {
				t.Error("it did not hold")
			}
		})
	}
}

// A process that stood still says so, once, and for how long.
func TestStoodStill(t *testing.T) {
	t.Parallel()
	c := start(t, "mem://still", worker.Mix{Use: 1})
	begun := history.Now()
	c.until(history.Release, history.Done, func(r history.Record) bool { return r.At.Sub(begun) > 200*time.Millisecond }, nothing) // over many beats
	stopped := history.Now()
	c.cmd.Process.Signal(syscall.SIGSTOP)
	const length = 400 * time.Millisecond
	for history.Now().Sub(stopped) < length {
		time.Sleep(time.Millisecond)
	}
	continued := history.Now()
	c.cmd.Process.Signal(syscall.SIGCONT)
	c.until(history.Process, history.Starved, func(r history.Record) bool {
		return r.Process == 7 && driver.Instant(r.Value) < continued && r.At >= continued && r.At.Sub(driver.Instant(r.Value)) > length/2
	}, nothing)
	for _, r := range c.records(history.Process, history.Starved) {
		if lasted := r.At.Sub(driver.Instant(r.Value)); lasted < 50*time.Millisecond {
			t.Errorf("it says that it had no time for %v", lasted)
		}
	}
	c.tell("drain")
	if code := c.ends(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// Whoever burns uses all the time that it gets, until its input ends.
func TestBurns(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "child")
	cmd.Env = append(os.Environ(), worker.Variable+"="+worker.ModeBurn)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	ticks := func() int {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		_, rest, _ := strings.Cut(string(data), ") ")
		n := 0
		if fields := strings.Fields(rest); len(fields) > 11 {
			fmt.Sscan(fields[11], &n)
		}
		return n
	}
	for begun := time.Now(); ticks() < 10; time.Sleep(time.Millisecond) { // of ten milliseconds
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("it has used %d ticks", ticks())
		}
	}
	input.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
