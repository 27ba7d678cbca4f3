//go:build linux

package filelock_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// bear starts a child that has those files, does nothing, and lives on when this process is killed: for a while, should nobody end it.
func bear(files []*os.File) (pid int, err error) {
	binary, err := os.Executable()
	if err != nil {
		return 0, err
	}
	value, err := json.Marshal(task{Do: "linger"})
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childVariable+"="+string(value))
	cmd.ExtraFiles = files
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// linger is what such a child does.
func linger() { <-time.After(2 * patience) }

// A holder is killed that has started a child: what it held is free at once, though the child lives on.
func TestKilledWithAChild(t *testing.T) {
	dir := newDir(t)
	holder, waiter := there(t, dir), there(t, dir)
	holder.holds("a", "lock")
	holder.tell(order{Do: "bear", ID: "child"})
	child := holder.hears("born", "child").Count
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	waiter.queues("b", "lock")
	died := holder.dies()
	waiter.grantedSince("b", died)
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the child did not live on: %v", err)
	}
}
