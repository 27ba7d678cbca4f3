package servers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// isolate gives the process a group of its own, and lets the kernel kill it with the thread that starts it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// send signals the process, and whatever it has forked: both are in its group.
func send(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }

// standsStill reports whether a process that was told to stop has done so, with all of its threads: they go on until each gets to
// hear of it.
func standsStill(pid int) (bool, error) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return false, err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(tasks + "/" + thread.Name() + "/stat")
		if err != nil {
			return false, nil // the thread has ended meanwhile: look again
		}
		// The state follows the name, which is in parentheses and may contain some itself.
		end := bytes.LastIndexByte(stat, ')')
		if end < 0 || end+2 >= len(stat) || stat[end+2] != 'T' {
			return false, nil
		}
	}
	return true, nil
}
