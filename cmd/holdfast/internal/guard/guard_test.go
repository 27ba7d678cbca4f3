//go:build linux

package guard

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/driver"
)

func TestMain(m *testing.M) {
	if Invoked(os.Args) {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// A command to be ended: a shell that ignores what can be ignored, and a child of it that does too. Both are of one group.
func startCommand(t *testing.T, environment ...string) (leader int, other int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `trap "" TERM HUP INT QUIT; sleep 600 & echo $!; wait`)
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	other, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() {
		cmd.Wait()
		close(waited)
	}()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-waited
	})
	return cmd.Process.Pid, other
}

func start(t *testing.T, runs string) *Guard {
	t.Helper()
	g, err := Start(runs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.End)
	return g
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for 30 s: %s", what)
		}
	}
}

func isOver(pid int) bool {
	p, err := group.Look(pid)
	return err != nil || p.Over
}

// The program ends: the whole group is dead before the guard ends, and with it the files that it keeps.
func TestProgramEnds(t *testing.T) {
	leader, other := startCommand(t)
	reads, writes, err := os.Pipe()
	must(t, err)
	defer reads.Close()
	g := start(t, "")
	must(t, g.Keep([]*os.File{writes, writes}))
	writes.Close()
	must(t, g.Watch(leader))
	must(t, g.Until(driver.Never))
	g.hangUp()
	if n, err := reads.Read(make([]byte, 1)); n != 0 || err == nil { // its end: the last copy is closed
		t.Fatalf("read %d bytes, %v", n, err)
	}
	if !isOver(leader) || !isOver(other) {
		t.Error("the guard let go of its files while the command was running")
	}
	<-g.Ended()
}

// The hold runs out: the group is killed, although the program still lives.
func TestHoldRunsOut(t *testing.T) {
	leader, other := startCommand(t)
	g := start(t, "")
	must(t, g.Watch(leader))
	end := Now().Add(300 * time.Millisecond)
	must(t, g.Until(end))
	await(t, "the command to be killed", func() bool { return isOver(other) && isOver(leader) })
	if Now().Before(end) {
		t.Error("it was killed before its time")
	}
	<-g.Ended()
}

// The hold is renewed: the last word counts, also for a guard that was stopped while time ran out.
func TestRenewal(t *testing.T) {
	leader, _ := startCommand(t)
	g := start(t, "")
	must(t, g.Watch(leader))
	end := Now().Add(200 * time.Millisecond)
	must(t, g.Until(end))
	must(t, syscall.Kill(g.pid, syscall.SIGSTOP))
	await(t, "the first end to pass", func() bool { return end.Before(Now()) })
	must(t, g.Until(driver.Never))
	must(t, syscall.Kill(g.pid, syscall.SIGCONT))
	// It has read everything when it has read this, and then it has looked at its clock.
	must(t, g.Leave())
	<-g.Ended()
	if isOver(leader) {
		t.Error("the command was killed although its hold was renewed")
	}
}

// After leave the guard touches nothing: the group's number may be somebody else's by then.
func TestLeave(t *testing.T) {
	leader, _ := startCommand(t)
	g := start(t, "")
	must(t, g.Watch(leader))
	must(t, g.Leave())
	g.hangUp()
	<-g.Ended()
	if isOver(leader) {
		t.Error("the command was killed after leave")
	}
}

// The program dies before it could say which group it is: what it started is found by its environment, and nothing else is.
func TestDeathBeforeWatch(t *testing.T) {
	id := ID{1, 2, 3}
	leader, other := startCommand(t, group.MarkVariable+"=outer/"+id.String())
	stranger, _ := startCommand(t, group.MarkVariable+"="+ID{9}.String())
	inner, _ := startCommand(t, group.MarkVariable+"="+id.String()+"/"+ID{8}.String())
	outer, _ := startCommand(t, group.MarkVariable+"=outer")
	g := start(t, "outer/"+id.String())
	must(t, g.Begin(id))
	g.hangUp()
	<-g.Ended()
	if !isOver(leader) || !isOver(other) {
		t.Error("the command runs on")
	}
	if isOver(stranger) {
		t.Error("the command of another run was killed")
	}
	if !isOver(inner) {
		t.Error("the command of an inner run runs on")
	}
	if isOver(outer) {
		t.Error("what an outer run has started was killed")
	}
}

// A program that is stopped because its command is goes on when somebody continues the command alone, or kills it.
func TestPause(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGCONT, syscall.SIGKILL} {
		command, _ := startCommand(t)
		program, _ := startCommand(t) // stands for it
		isStopped := func(pid int) bool {
			p, err := group.Look(pid)
			return err == nil && p.Stopped
		}
		must(t, syscall.Kill(command, syscall.SIGSTOP))
		must(t, syscall.Kill(program, syscall.SIGSTOP))
		await(t, "both to stop", func() bool { return isStopped(command) && isStopped(program) })
		g := start(t, "")
		must(t, g.Watch(command))
		must(t, g.say(message{kind: pause, value: int64(program)}, nil))
		must(t, g.Until(Now().Add(time.Hour)))
		end := Now().Add(3 * looks)
		await(t, "the guard to have looked", func() bool { return end.Before(Now()) })
		if !isStopped(program) {
			t.Error("the program was continued although its command is stopped")
		}
		must(t, syscall.Kill(command, s))
		await(t, "the program to be continued", func() bool { return !isStopped(program) })
		must(t, g.Resume())
		must(t, syscall.Kill(program, syscall.SIGSTOP))
		must(t, g.Leave())
		<-g.Ended()
		await(t, "the program to stop", func() bool { return isStopped(program) })
	}
}

// Nothing that asks a process politely ends a guard, and no terminal or directory is kept by it.
func TestGuardProcess(t *testing.T) {
	g := start(t, "")
	comm := func() string {
		name, _ := os.ReadFile("/proc/" + strconv.Itoa(g.Pid()) + "/comm")
		return strings.TrimSpace(string(name))
	}
	await(t, "the guard to show its name", func() bool { return comm() == shortName }) // signals are ignored before that
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGTSTP} {
		must(t, syscall.Kill(g.pid, s))
	}
	if isOver(g.Pid()) {
		t.Error("a signal ended it")
	}
	session, err := syscall.Getpgid(g.Pid())
	if err != nil || session != g.Pid() {
		t.Errorf("its group is %d, %v; want one of its own", session, err)
	}
	if dir, err := os.Readlink("/proc/" + strconv.Itoa(g.Pid()) + "/cwd"); err != nil || dir != "/" {
		t.Errorf("it stands in %q, %v", dir, err)
	}
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(g.Pid()) + "/environ")
	if want := group.MarkVariable + "=\x00GOMAXPROCS=1\x00"; err != nil || string(environment) != want {
		t.Errorf("its environment is %q, %v; want %q", environment, err, want)
	}
	arguments, _ := os.ReadFile("/proc/" + strconv.Itoa(g.Pid()) + "/cmdline")
	if want := name + "\x00"; string(arguments) != want {
		t.Errorf("its arguments are %q, want %q", arguments, want)
	}
}

// A guard that does not read is of no use: saying so does not block.
func TestFullPipe(t *testing.T) {
	g := start(t, "")
	must(t, syscall.Kill(g.pid, syscall.SIGSTOP))
	for n := 0; ; n++ {
		if err := g.Until(driver.Never); err != nil {
			return
		}
		if n > 1<<20 {
			t.Fatal("a million messages, and the pipe is not full")
		}
	}
}

// A guard that was killed says so, and takes no messages.
func TestGuardKilled(t *testing.T) {
	g := start(t, "")
	g.Kill()
	<-g.Ended()
	if err := g.Until(driver.Never); err == nil {
		t.Error("a dead guard took a message")
	}
	g.End()
	if err := g.Leave(); err == nil {
		t.Error("a guard took a message after End")
	}
}
