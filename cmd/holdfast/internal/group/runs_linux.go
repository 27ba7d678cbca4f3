package group

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Process as /proc shows it.
type Process struct {
	Pid, Parent, Group, Session int
	Began                       int  // when, in ticks since the machine started: numbers are used again, but not in the same tick
	Over                        bool // it cannot do anything any more: it waits for a parent that looks
	Stopped                     bool
}

// member returns a process of the group that can still do something; 0 if there is one that cannot be seen.
func member(group int) (pid int, running bool) {
	if !exists(group) { // the usual end, for one system call
		return 0, false
	}
	zombies := false
	err := Each(func(p Process) bool {
		switch {
		case p.Group != group:
		case p.Over:
			zombies = true
		default:
			pid = p.Pid
		}
		return pid == 0
	})
	if pid != 0 {
		return pid, true
	}
	// Nothing that runs was seen. If there were only zombies it is over; but /proc may be missing, or hide the processes of others.
	return 0, (err != nil || !zombies) && exists(group)
}

// awaitEnd returns when the process has ended, or after the pause.
func awaitEnd(pid int, pause time.Duration) {
	fd, err := unix.PidfdOpen(pid, 0)
	if pid == 0 || err != nil { // it is gone, or cannot be seen, or the kernel is an old one
		time.Sleep(min(pause, 50*time.Millisecond))
		return
	}
	defer unix.Close(fd)
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(pause/time.Millisecond))
}

// Each calls f with every process that it can see, until f returns false.
func Each(f func(Process) bool) error {
	proc, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := Look(pid)
		switch {
		case isGone(err): // it has ended meanwhile
		case err != nil:
			return err
		case !f(p):
			return nil
		}
	}
	return nil
}

// isGone reports whether a process could not be looked at because it has ended.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// Look looks at one process.
func Look(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	// pid (name) state parent group session … threads, and the name may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return Process{}, fs.ErrNotExist
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(fields[i]))
		return n
	}
	state := fields[0][0]
	return Process{
		Pid: pid, Parent: number(1), Group: number(2), Session: number(3),
		Began: number(19),
		// A process whose first thread has ended is called a zombie, though others may be at work.
		Over:    (state == 'Z' || state == 'X') && number(17) <= 1,
		Stopped: state == 'T' || state == 't',
	}, nil
}

// identity is what stays the same while a process lives.
func (p Process) identity() Process { return Process{Pid: p.Pid, Began: p.Began} }

// isOver looks again whether the process has ended.
func (p Process) isOver() bool {
	now, err := Look(p.Pid)
	return isGone(err) || err == nil && (now.Over || now.Began != p.Began)
}

// outside returns what belongs to the command but not to its group. unclear: a process was just becoming another program, and may
// belong to it or not.
func (k *Kin) outside() (found []Process, unclear bool) {
	children := make(map[int][]int)
	all := make(map[int]Process)
	err := Each(func(p Process) bool {
		children[p.Parent] = append(children[p.Parent], p.Pid)
		all[p.Pid] = p
		return true
	})
	k.blind = k.blind || scarce(err)
	seen := make(map[int]bool)
	var add func(pid int)
	add = func(pid int) {
		if seen[pid] || pid == os.Getpid() {
			return
		}
		seen[pid] = true
		if p := all[pid]; p.Group != k.Group && !p.Over {
			guard, known := isGuard(p)
			unclear = unclear || !known
			if guard || !known {
				return
			}
			found = append(found, p)
		}
		for _, child := range children[pid] {
			if !k.Orphans {
				add(child)
			}
		}
	}
	for pid, p := range all {
		switch {
		case p.Group == k.Group && k.Group > 1:
			add(pid)
		case p.Session == k.Session && !p.Over:
			environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			if isMarked(environment, k.Mark) {
				add(pid)
			}
			k.blind = k.blind || scarce(err)
			unclear = unclear || err == nil && len(environment) == 0 && isBecoming(pid)
		}
	}
	return found, unclear
}

// isGuard reports whether a process is the guard of an inner run. That must live until it has ended the inner command, or the inner
// lock would be free too early; and then it ends by itself.
func isGuard(p Process) (guard, known bool) {
	if p.Session != p.Pid {
		return false, true
	}
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid) + "/cmdline")
	return bytes.HasPrefix(arguments, []byte(GuardName+"\x00")), len(arguments) > 0 || err != nil && !scarce(err)
}

// isBecoming reports whether a process is just being replaced by another program: then it has no arguments either, not even a name.
func isBecoming(pid int) bool {
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && len(arguments) == 0 || scarce(err)
}

// isMarked reports whether an environment is that of a process of a run.
func isMarked(environment []byte, mark string) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if runs, ok := bytes.CutPrefix(variable, []byte(MarkVariable+"=")); ok {
			return mark != "" && bytes.Contains(runs, []byte(mark))
		}
	}
	return false
}
