//go:build linux

package group

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A group of zombies does not run: nobody may ever look at them.
func TestZombies(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if !Running(group) {
		t.Fatal("it does not run")
	}
	signals := 0
	Await(group, func() { // it is a zombie now, and nobody has waited for it
		signals++
		if err := Signal(group, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	if signals == 0 {
		t.Error("Await did nothing before it looked")
	}
	if err := syscall.Kill(-group, 0); err != nil {
		t.Fatalf("the zombie is gone (%v): this test shows nothing", err)
	}
	if Running(group) {
		t.Error("a zombie counts as running")
	}
	cmd.Wait()
	if Running(group) {
		t.Error("a group without members counts as running")
	}
	if err := Signal(group, syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a group that has ended: %v", err)
	}
}

// A stopped process runs: it may go on.
func TestStopped(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if err := Signal(cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for stopped := false; !stopped; time.Sleep(time.Millisecond) {
		p, err := Look(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		stopped = p.Stopped
	}
	if !Running(cmd.Process.Pid) {
		t.Error("a stopped process counts as ended")
	}
}

// Numbers that mean everybody, or ourselves, are refused.
func TestNobodyElse(t *testing.T) {
	for _, group := range []int{-1, 0, 1} {
		if err := Signal(group, 0); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Signal(%d): %v", group, err)
		}
	}
}
