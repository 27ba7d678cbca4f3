//go:build linux

package endtoend_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process is what the kernel tells of one. Its methods look again each time, and tell nothing of one that is gone.
type process struct{ pid int }

func (p process) read(name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// exe is the file that it runs; "" for zombies too.
func (p process) exe() string {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return ""
	}
	return exe
}

// args is its command line.
func (p process) args() []string {
	return strings.Split(strings.TrimSuffix(p.read("cmdline"), "\x00"), "\x00")
}

// stat is a field of its stat file, counted as proc(5) does, from 3 on.
func (p process) stat(field int) string {
	text := p.read("stat")
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // its name may contain anything, also spaces
	if len(fields) <= field-3 {
		return ""
	}
	return fields[field-3]
}

func (p process) number(field int) int {
	n, err := strconv.Atoi(p.stat(field))
	if err != nil {
		return -1
	}
	return n
}

// state is R, S, D, T (stopped), Z (zombie); "" when it is gone.
func (p process) state() string { return p.stat(3) }
func (p process) parent() int   { return p.number(4) }
func (p process) group() int    { return p.number(5) }
func (p process) session() int  { return p.number(6) }

// foreground is the group that has the process's terminal.
func (p process) foreground() int { return p.number(8) }

// alive reports whether it can still do something.
func (p process) alive() bool {
	s := p.state()
	return s != "" && s != "Z" && s != "X"
}

func (p process) isStopped() bool { return p.state() == "T" }

// hasChild reports whether it has started something.
func (p process) hasChild() bool {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	return err == nil && slices.ContainsFunc(tasks, func(e os.DirEntry) bool { return p.read("task/"+e.Name()+"/children") != "" })
}

// signals is one of the sets of its status file: SigIgn, SigBlk.
func (p process) signals(set string) uint64 {
	return statusSet(p.read("status"), set)
}

// statusSet finds a set of signals in the text of a status file.
func statusSet(status, set string) uint64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, set+":"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err != nil {
				return 1<<64 - 1
			}
			return n
		}
	}
	return 1<<64 - 1 // all: none of the tests takes that for an answer
}

// bit is a signal in such a set.
func bit(s unix.Signal) uint64 { return 1 << (s - 1) }

// hasEnv reports whether it was started with this in its environment.
func (p process) hasEnv(entry string) bool {
	return slices.ContainsFunc(bytes.Split([]byte(p.read("environ")), []byte{0}), func(e []byte) bool { return string(e) == entry })
}

func (p process) String() string {
	return fmt.Sprintf("%d %s parent %d group %d session %d foreground %d: %q",
		p.pid, p.state(), p.parent(), p.group(), p.session(), p.foreground(), p.args())
}

// signal sends s to it, and never to another that has got its number since.
func (p process) signal(s unix.Signal, is func(process) bool) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !is(p) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}

// processes are all that there are and that are such.
func processes(such func(process) bool) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	var found []process
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && such(process{pid}) {
			found = append(found, process{pid})
		}
	}
	return found
}

func listing(all []process) string {
	var text strings.Builder
	for _, p := range all {
		fmt.Fprintln(&text, "  ", p)
	}
	return text.String()
}

// awaitNobody waits until no such process is alive, and returns those that still are.
func awaitNobody(such func(process) bool) []process {
	left := processes(such)
	for begin := time.Now(); len(left) > 0 && time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		left = processes(func(p process) bool { return such(p) && p.alive() })
	}
	return left
}

// killAll kills until nobody is left: those that it meets may start others meanwhile.
func killAll(such func(process) bool) {
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		left := processes(func(p process) bool { return such(p) && p.alive() })
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			p.signal(unix.SIGKILL, such)
		}
	}
}

// until waits for a condition that must become true.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// bootTime is the clock of journals.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// files are where its open files lead to.
func (p process) files() []string {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err == nil {
			found = append(found, p.file(n))
		}
	}
	return found
}

// file is where one of its open files leads to.
func (p process) file(n int) string {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, n))
	if err != nil {
		return ""
	}
	return target
}
