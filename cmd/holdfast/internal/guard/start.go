//go:build unix

package guard

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"holdfast.dev/cmd/holdfast/internal/group"
	"holdfast.dev/driver"
)

// A Guard is a guard process, seen by the program that started it. Its methods may be called from many goroutines.
type Guard struct {
	pid   int
	ended chan struct{}

	mu   sync.Mutex
	line *os.File // our end of the socket; nil once it is closed
	over bool     // it ends, and its number may soon be somebody else's
}

// Start starts a guard for the last of the given runs.
func Start(runs string) (*Guard, error) {
	g, err := begun(runs)
	if err != nil {
		return nil, fmt.Errorf("the guard process: %w", err)
	}
	go g.attend(g.line)
	return g, nil
}

func begun(runs string) (*Guard, error) {
	ours, its, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer syscall.Close(its)
	line := os.NewFile(uintptr(ours), "guard") // non-blocking, so that Go waits for it without a thread
	nowhere, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		line.Close()
		return nil, err
	}
	defer syscall.Close(nowhere)
	// Not os.StartProcess: the first one in a process starts another, to learn what the kernel can do.
	pid, err := syscall.ForkExec(executable(), []string{name}, &syscall.ProcAttr{
		Dir:   "/",                                                       // else it would keep a file system from being unmounted
		Env:   []string{group.MarkVariable + "=" + runs, "GOMAXPROCS=1"}, // it starts faster so
		Files: []uintptr{uintptr(its), uintptr(nowhere), uintptr(nowhere)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err == syscall.ENOENT {
		err = fmt.Errorf("%s: %w (is /proc mounted?)", executable(), err)
	}
	if err != nil {
		line.Close()
		return nil, err
	}
	return &Guard{pid: pid, ended: make(chan struct{}), line: line}, nil
}

// attend waits for the end of the guard: it never says anything, so what can be read is the end of the line.
func (g *Guard) attend(line *os.File) {
	line.Read(make([]byte, 1))
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	for {
		if _, err := syscall.Wait4(g.pid, nil, 0, nil); err != syscall.EINTR {
			break
		}
	}
	close(g.ended)
}

// Ended is closed when the guard has ended: it has acted, or somebody has killed it.
func (g *Guard) Ended() <-chan struct{} { return g.ended }

// Pid is the guard's process.
func (g *Guard) Pid() int { return g.pid }

// Keep hands the guard copies of files, which it has open until it ends. They stay the caller's.
func (g *Guard) Keep(files []*os.File) error {
	if len(files) == 0 {
		return nil
	}
	numbers := make([]int, len(files))
	for i, f := range files {
		numbers[i] = int(f.Fd())
	}
	return g.say(message{kind: keep}, unix.UnixRights(numbers...))
}

// Begin says that a command is about to be started under that name, in our session.
func (g *Guard) Begin(id ID) error {
	session, _ := unix.Getsid(0)
	return g.say(message{kind: begin, id: id, value: int64(session)}, nil)
}

// Watch says which group the command's processes are in.
func (g *Guard) Watch(group int) error { return g.say(message{kind: watch, value: int64(group)}, nil) }

// Until says until when the hold is good; driver.Never: nothing runs out.
func (g *Guard) Until(t driver.Instant) error {
	return g.say(message{kind: until, value: int64(t)}, nil)
}

// Leave says that nothing of the command runs any more.
func (g *Guard) Leave() error { return g.say(message{kind: leave}, nil) }

// Pause says that the command is stopped, and that this program will be.
func (g *Guard) Pause() error { return g.say(message{kind: pause, value: int64(os.Getpid())}, nil) }

// Resume says that this program goes on.
func (g *Guard) Resume() error { return g.say(message{kind: resume}, nil) }

// say sends a message, and does not wait. An error means that the guard is of no use any more: it has ended, or does not read.
func (g *Guard) say(m message, rights []byte) error {
	if g == nil {
		return os.ErrClosed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line == nil {
		return os.ErrClosed
	}
	conn, err := g.line.SyscallConn()
	if err != nil {
		return err
	}
	failed := conn.Control(func(fd uintptr) {
		for {
			if err = unix.Sendmsg(int(fd), m.encode(), rights, nil, sendFlags); err != unix.EINTR {
				return
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// Kill ends the guard without its doing anything. There may be none.
func (g *Guard) Kill() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		syscall.Kill(g.pid, syscall.SIGKILL)
	}
}

// End ends the guard without its doing anything, and waits for it. There may be none.
func (g *Guard) End() {
	if g == nil {
		return
	}
	g.Kill()
	<-g.ended
	g.hangUp()
}

// hangUp closes our end. The guard takes it for the end of the program.
func (g *Guard) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line != nil {
		g.line.Close()
		g.line = nil
	}
}
