//go:build linux

package guard

import (
	"syscall"
	"testing"
	"time"

	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/driver"
)

func isStopped(pid int) bool {
	p, err := group.Look(pid)
	return err == nil && p.Stopped
}

// stop stops a process, and returns when it is, or has ended.
func stop(t *testing.T, pid int) {
	t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	await(t, "a process to stop", func() bool { return isStopped(pid) || isOver(pid) })
}

// listens returns when the guard has read everything that was said: it continues a program that is stopped although its command is not.
// It also returns when the guard has ended.
func listens(t *testing.T, g *Guard, program int) {
	t.Helper()
	must(t, g.say(message{kind: pause, value: int64(program)}, nil))
	await(t, "the guard to have read everything", func() bool { return !isStopped(program) || isOver(g.Pid()) })
	g.Resume()
}

// A guard that was stopped, and goes on after the end that it knew, reads what was said meanwhile before it looks at the clock.
func TestStoppedGuardReadsFirst(t *testing.T) {
	command, _ := startCommand(t)
	program, _ := startCommand(t) // stands for it
	for wait := time.Second; ; wait *= 2 {
		g := start(t, "")
		must(t, g.Watch(command))
		end := Now().Add(wait)
		must(t, g.Until(end))
		stop(t, program)
		listens(t, g, program)
		stop(t, g.Pid())
		if !Now().Before(end) { // too late, on a machine that has much else to do: it may have acted
			g.Kill()
			<-g.Ended()
			command, _ = startCommand(t)
			continue
		}
		await(t, "the first end to pass", func() bool { return end.Before(Now()) })
		stop(t, program)
		must(t, g.Until(driver.Never))
		must(t, syscall.Kill(g.Pid(), syscall.SIGCONT))
		listens(t, g, program)
		if isOver(command) || isOver(g.Pid()) {
			t.Error("it acted on the end that it knew, although the hold was renewed")
		}
		g.Leave()
		<-g.Ended()
		return
	}
}
