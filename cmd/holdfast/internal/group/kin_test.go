//go:build linux

package group

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const mark = "0123456789abcdef"

// begin starts a shell in a group of its own, with a mark in its environment, and returns the numbers that it prints: one a line, as
// many as are wanted.
func begin(t *testing.T, script string, wanted int) (group int, pids []int) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append(os.Environ(), MarkVariable+"=before/"+mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		for _, pid := range append(pids, cmd.Process.Pid) {
			if !isOver(pid) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		<-ended
	})
	lines := bufio.NewScanner(out)
	for len(pids) < wanted && lines.Scan() {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	go func() {
		cmd.Wait()
		close(ended)
	}()
	if len(pids) < wanted {
		t.Fatalf("%d of %d numbers came", len(pids), wanted)
	}
	return cmd.Process.Pid, pids
}

func isOver(pid int) bool {
	p, err := Look(pid)
	return err != nil || p.Over
}

func kinOf(group int) *Kin {
	session, _ := unix.Getsid(0)
	return &Kin{Group: group, Session: session, Mark: mark}
}

// shielded runs something that only KILL ends, and prints its number.
const shielded = `bash -c 'trap "" TERM HUP INT; echo $$; while :; do read -t 600 <> <(:); done'`

// Everything that belongs to a command is killed: jobs of a shell that manages them, commands that su puts into a session of their own.
// A daemon is not.
func TestKinKill(t *testing.T) {
	for _, c := range []struct {
		name, script string
		survives     bool
	}{
		{"in the group", shielded + ` & wait`, false},
		{"a job with a group of its own", `set -m; ` + shielded + ` & wait`, false},
		{"a job in the foreground", `set -m; ` + shielded, false},
		{"a job whose parent has ended", `set -m; (` + shielded + ` &); sleep 600`, false},
		{"a session of its own, awaited", `setsid -w ` + shielded + `; :`, false},
		{"below a job", `set -m; bash -c "setsid -w ` + strings.ReplaceAll(strings.ReplaceAll(shielded, `"`, `\"`), `$$`, `\$\$`) + `; :"; :`, false},
		{"a daemon", `(setsid ` + shielded + ` &); sleep 600`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			group, pids := begin(t, c.script, 1)
			if c.survives { // only once it is nobody's child any more
				for descends(pids[0], group) {
					time.Sleep(time.Millisecond)
				}
			}
			kinOf(group).Kill()
			if !isOver(group) {
				t.Error("the command runs on")
			}
			if isOver(pids[0]) == c.survives {
				t.Errorf("over: %v, want %v", isOver(pids[0]), !c.survives)
			}
		})
	}
}

func descends(pid, from int) bool {
	for pid > 1 {
		if pid == from {
			return true
		}
		p, err := Look(pid)
		if err != nil {
			return false
		}
		pid = p.Parent
	}
	return false
}

// Where the command may be dead already, what has left the session never counts: it would otherwise be a matter of microseconds.
func TestKinOfOrphans(t *testing.T) {
	group, pids := begin(t, `setsid `+shielded+` & `+shielded+` & wait`, 2)
	kin := kinOf(group)
	kin.Orphans = true
	kin.Kill()
	for _, pid := range pids {
		p, err := Look(pid)
		if left := err == nil && p.Session != kin.Session; left == isOver(pid) {
			t.Errorf("left the session: %v, over: %v", left, isOver(pid))
		}
	}
}

// The command is dead already, and its group not known: what it has started is known by the mark.
func TestKinByMark(t *testing.T) {
	leader, pids := begin(t, `set -m; `+shielded+` & `+shielded+` & wait`, 2)
	syscall.Kill(leader, syscall.SIGKILL)
	stranger, _ := begin(t, `echo $$; exec sleep 600`, 1)
	kin := kinOf(0)
	kin.Mark = "another"
	kin.Kill()
	if isOver(pids[0]) || isOver(stranger) {
		t.Fatal("processes with another mark were killed")
	}
	kinOf(0).Kill()
	for _, pid := range pids {
		if !isOver(pid) {
			t.Errorf("%d runs on", pid)
		}
	}
}

// A signal reaches what has left the group.
func TestKinSignal(t *testing.T) {
	group, pids := begin(t, `set -m; sleep 600 & echo $!; wait; sleep 600`, 1)
	kinOf(group).Signal(syscall.SIGTERM)
	for !isOver(pids[0]) {
		time.Sleep(time.Millisecond)
	}
}

// The guard of an inner run is left alone.
func TestKinLeavesGuards(t *testing.T) {
	group, pids := begin(t, `setsid bash -c 'echo $$; exec -a `+GuardName+` sleep 600' & wait`, 1)
	named := func() bool {
		arguments, _ := os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/cmdline")
		return strings.HasPrefix(string(arguments), GuardName)
	}
	for !named() {
		time.Sleep(time.Millisecond)
	}
	kinOf(group).Kill()
	if isOver(pids[0]) {
		t.Error("it was killed")
	}
}
