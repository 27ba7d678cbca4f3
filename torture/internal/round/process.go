package round

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// A crew is the worker processes of a round. Each has a place, and whoever has it is replaced when it dies.
type crew struct {
	dir     string
	command []string
	config  worker.Config // without what differs
	stores  []string      // what the process at each place opens
	places  [][]uint16    // the workers at each place
	log     *history.Writer
	said    io.Writer // what processes print
	server  *resource.Server

	begin chan func()        // runs on the thread that starts processes
	fail  func(reason error) // ends the round: without its processes it is none

	mu       sync.Mutex
	at       []*process // by place
	started  uint32     // so many
	draining bool
	over     bool  // whoever comes is killed
	failed   error // a process could not be started, or ended as it should not
	ended    sync.WaitGroup
}

// A process is one of the crew.
type process struct {
	number  uint32
	place   int
	cmd     *exec.Cmd
	input   io.WriteCloser
	gone    chan struct{} // closed when it has ended
	retired bool          // nobody takes its place
}

// starter is the thread that all processes are started on: on Linux a process is killed when the thread that started it ends,
// so that none is left, not even a stopped one, when the controller is killed.
func (c *crew) starter(done <-chan struct{}) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the round
	for {
		select {
		case f := <-c.begin:
			f()
		case <-done:
			return
		}
	}
}

// launch starts a process and returns its input.
func (c *crew) launch(extra string) (*exec.Cmd, io.WriteCloser, error) {
	cmd := exec.Command(c.command[0], c.command[1:]...)
	cmd.Env = append(os.Environ(), worker.Variable+"="+extra)
	cmd.Stdout, cmd.Stderr = c.said, c.said
	prepare(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	failed := make(chan error)
	c.begin <- func() { failed <- cmd.Start() }
	if err := <-failed; err != nil {
		return nil, nil, fmt.Errorf("starting a worker process: %w", err)
	}
	return cmd, input, nil
}

// start puts a new process at a place. It is there for others when it has been told what to do, so that no command comes before that.
func (c *crew) start(place int) error {
	cmd, input, err := c.launch(worker.ModeWork)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.started++
	p := &process{number: c.started, place: place, cmd: cmd, input: input, gone: make(chan struct{})}
	c.mu.Unlock()
	err = c.configure(p)
	c.mu.Lock()
	c.at[place] = p
	draining, over := c.draining, c.over
	c.mu.Unlock()
	if draining { // it began while it was decided
		c.tell(p, "drain")
	}
	if over {
		p.cmd.Process.Kill()
	}
	c.ended.Go(func() { c.await(p) })
	if err != nil {
		return fmt.Errorf("telling worker process %d what to do: %w", p.number, err)
	}
	return nil
}

// hasStarted reports whether a process was started.
func (c *crew) hasStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started > 0
}

// configure tells a process what to do.
func (c *crew) configure(p *process) error {
	config := c.config
	config.Process, config.Workers, config.Store = p.number, c.places[p.place], c.stores[p.place]
	config.Seed += uint64(p.number)
	config.History = filepath.Join(c.dir, fmt.Sprintf("process-%d.hist", p.number))
	line, err := json.Marshal(config)
	if err == nil {
		_, err = fmt.Fprintf(p.input, "%s\n", line)
	}
	return err
}

// await waits for the end of a process, and starts another one in its place if it was killed and there is work left.
func (c *crew) await(p *process) {
	p.cmd.Wait() // how it ended is in ProcessState
	p.input.Close()
	close(p.gone)
	code := p.cmd.ProcessState.ExitCode() // −1: by a signal
	c.log.Append(history.Record{Op: history.Process, Phase: history.Ended, Process: p.number, Value: int64(code)})
	c.mu.Lock()
	again := !c.draining && code < 0 && !p.retired
	c.mu.Unlock()
	var err error
	if code > 0 {
		err = fmt.Errorf("worker process %d ended with code %d", p.number, code)
	} else if again {
		err = c.start(p.place)
	}
	if err != nil {
		c.mu.Lock()
		c.failed = errors.Join(c.failed, err)
		c.mu.Unlock()
		c.fail(err)
	}
}

func (c *crew) tell(p *process, line string) {
	io.WriteString(p.input, line+"\n") // one that has died does not need it
}

// all returns the processes that are there now.
func (c *crew) all() []*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.at)
}

func (c *crew) place(i int) *process { return c.all()[i] }

// numbered returns the process of a number, if it is there.
func (c *crew) numbered(number uint32) *process {
	for _, p := range c.all() {
		if p.number == number {
			return p
		}
	}
	return nil
}

// drain lets all processes come to their ends, and reports whether they did in time.
func (c *crew) drain(ctx context.Context, limit time.Duration) bool {
	c.mu.Lock()
	c.draining = true
	told := slices.Clone(c.at) // in one step: whoever is there later tells itself
	c.mu.Unlock()
	for _, p := range told {
		c.tell(p, "drain")
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	ended := make(chan struct{})
	go func() {
		c.ended.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-over.C:
	case <-ctx.Done():
	}
	return false
}

// end kills what is left, and waits for it.
func (c *crew) end() {
	c.mu.Lock()
	c.draining, c.over = true, true
	c.mu.Unlock()
	for _, p := range c.all() {
		if p != nil {
			p.cmd.Process.Kill()
		}
	}
	c.ended.Wait()
}

// problem is what went wrong with the processes themselves.
func (c *crew) problem() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
