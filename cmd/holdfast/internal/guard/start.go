//go:build unix

package guard

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"holdfast.dev/driver"
)

// A Guard is a guard process, seen by the program that started it. Its methods may be called from many goroutines.
type Guard struct {
	process *os.Process
	ended   chan struct{}

	mu   sync.Mutex
	pipe int // the writing end; -1 once it is closed
}

// Start starts a guard for the last of the given runs, which keeps the given files open. They stay the caller's.
func Start(runs string, keep []*os.File) (*Guard, error) {
	reads, writes, err := pipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe to the guard process: %w", err)
	}
	defer reads.Close()
	nowhere, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		syscall.Close(writes)
		return nil, fmt.Errorf("the guard process: %w", err)
	}
	defer nowhere.Close()
	process, err := os.StartProcess(executable(), []string{name}, &os.ProcAttr{
		Dir:   "/", // else it would keep a file system from being unmounted
		Env:   []string{RunVariable + "=" + runs},
		Files: append([]*os.File{reads, nowhere, nowhere}, keep...),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		syscall.Close(writes)
		return nil, fmt.Errorf("the guard process: %w", err)
	}
	g := &Guard{process: process, ended: make(chan struct{}), pipe: writes}
	go func() {
		process.Wait()
		close(g.ended)
	}()
	return g, nil
}

// pipe makes a pipe whose writing end never blocks. The reading end's file is only there to be passed on.
func pipe() (*os.File, int, error) {
	reads, writes, err := os.Pipe()
	if err != nil {
		return nil, -1, err
	}
	defer writes.Close()
	fd, err := duplicate(int(writes.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		reads.Close()
		return nil, -1, err
	}
	return reads, fd, nil
}

// Ended is closed when the guard has ended: it has acted, or somebody has killed it.
func (g *Guard) Ended() <-chan struct{} { return g.ended }

// Pid is the guard's process.
func (g *Guard) Pid() int { return g.process.Pid }

// Begin says that a command is about to be started under that name, in our session.
func (g *Guard) Begin(id ID) error {
	session, _ := unix.Getsid(0)
	return g.say(message{kind: begin, id: id, value: int64(session)})
}

// Watch says which group the command's processes are in.
func (g *Guard) Watch(group int) error { return g.say(message{kind: watch, value: int64(group)}) }

// Until says until when the hold is good; driver.Never: nothing runs out.
func (g *Guard) Until(t driver.Instant) error { return g.say(message{kind: until, value: int64(t)}) }

// Leave says that nothing of the command runs any more.
func (g *Guard) Leave() error { return g.say(message{kind: leave}) }

// say sends a message. An error means that the guard is of no use any more: it has ended, or does not read.
func (g *Guard) say(m message) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe < 0 {
		return os.ErrClosed
	}
	for {
		if _, err := syscall.Write(g.pipe, m.encode()); err != syscall.EINTR {
			return err
		}
	}
}

// Kill ends the guard without its doing anything.
func (g *Guard) Kill() { g.process.Kill() }

// End ends the guard without its doing anything, and waits for it.
func (g *Guard) End() {
	g.Kill()
	<-g.ended
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe >= 0 {
		syscall.Close(g.pipe)
		g.pipe = -1
	}
}
