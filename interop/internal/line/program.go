package line

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Program is a peer that runs. It is [Locks] itself: what is asked of it is asked of the library in the other process, one thing at a
// time. Close or Kill it.
type Program struct {
	Version string // what it said of itself: "redsync v4.18.1"

	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read when the process has ended

	asking sync.Mutex
	in     io.WriteCloser
	lines  chan string   // what it says; closed at the end
	ended  chan struct{} // closed when the process is gone
}

// patience is how long a program may take to begin and to end, and to answer beyond what the question itself takes. It is for programs
// that hang, and so long that a busy machine is none.
const patience = time.Minute

// Start runs a peer and waits until it is ready.
func Start(ctx context.Context, cmd *exec.Cmd) (*Program, error) {
	p := &Program{cmd: cmd, lines: make(chan string), ended: make(chan struct{})}
	cmd.Stderr = &p.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.watch(out)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line, err := p.next(ctx)
	version, ready := strings.CutPrefix(line, "ready ")
	if err == nil && !ready {
		err = fmt.Errorf("it began by %q instead of \"ready\"", line)
	}
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("starting %s: %w", strings.Join(cmd.Args, " "), err)
	}
	p.Version = version
	return p, nil
}

// watch passes on what it says, until its end.
func (p *Program) watch(out io.Reader) {
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
	close(p.lines)
	p.cmd.Wait()
	close(p.ended)
}

// next is what it says next.
func (p *Program) next(ctx context.Context) (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			<-p.ended
			return "", fmt.Errorf("it has ended (%v): %s", p.cmd.ProcessState, bytes.TrimSpace(p.stderr.Bytes()))
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ask sends a line and returns what came of it. A program that does not answer in time is killed: its next answer would be taken for
// that of another question.
func (p *Program) ask(ctx context.Context, line string, takes time.Duration) error {
	p.asking.Lock()
	defer p.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, takes+patience)
	defer cancel()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return fmt.Errorf("%s: %q: %w", p.Version, line, err)
	}
	said, err := p.next(ctx)
	if err == nil {
		err = understand(said)
	} else if ctx.Err() != nil {
		p.Kill()
	}
	if err != nil && !errors.Is(err, ErrHeld) && !errors.Is(err, ErrGone) {
		err = fmt.Errorf("%s: %q: %w", p.Version, line, err)
	}
	return err
}

// Lock is [Locks.Lock].
func (p *Program) Lock(ctx context.Context, name string, ttl, wait time.Duration) error {
	return p.ask(ctx, request("lock", name, ttl, wait), wait)
}

// Try is [Locks.Try].
func (p *Program) Try(ctx context.Context, name string, ttl time.Duration) error {
	return p.ask(ctx, request("try", name, ttl), 0)
}

// Extend is [Locks.Extend].
func (p *Program) Extend(ctx context.Context, name string, ttl time.Duration) error {
	return p.ask(ctx, request("extend", name, ttl), 0)
}

// Unlock is [Locks.Unlock].
func (p *Program) Unlock(ctx context.Context, name string) error {
	return p.ask(ctx, request("unlock", name), 0)
}

// Kill ends it as kill −9 does, whatever it is doing, and returns when it is gone.
func (p *Program) Kill() {
	p.cmd.Process.Kill() // fails if it has ended, which is as good
	for range p.lines {  // what it has still said: somebody must take it
	}
	<-p.ended
}

// Close asks it to end, if it has nothing else to answer, and kills it.
func (p *Program) Close() {
	if p.asking.TryLock() {
		p.asking.Unlock()
		p.ask(context.Background(), "quit", 0)
	}
	p.Kill()
}
