package round

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/worker"
)

// The methods below make a crew arena.Workers.

// Count is how many places there are.
func (c *crew) Count() int { return len(c.places) }

// Stop lets a process stand still.
func (c *crew) Stop(place int) (goOn func()) { return c.stop(c.place(place)) }

func (c *crew) stop(p *process) (goOn func()) {
	c.log.Append(history.Record{Op: history.Process, Phase: history.Stopped, Process: p.number})
	if err := freeze(p.cmd.Process); err != nil {
		c.log.Append(history.Record{Op: history.Process, Phase: history.Continued, Process: p.number})
		return func() {} // it has ended
	}
	return sync.OnceFunc(func() {
		thaw(p.cmd.Process)
		c.log.Append(history.Record{Op: history.Process, Phase: history.Continued, Process: p.number})
	})
}

// errNobodyInside: no worker came to the registers. It says nothing about locks: they may all be out of reach.
var errNobodyInside = errors.New("nobody came into the critical section in time")

// Inside calls do for the next process that has read the fenced register, before it gets the answer.
func (c *crew) Inside(ctx context.Context, do func(place int)) error {
	done := make(chan struct{})
	c.server.Inside(func(number uint32, _ uint16) bool {
		p := c.numbered(number)
		if p == nil {
			return false
		}
		do(p.place)
		close(done)
		return true
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	c.server.Inside(nil)
	select {
	case <-done: // it came at the last moment
		return nil
	default:
		return errNobodyInside
	}
}

// StopInside stops the next process that has read the fenced register, before it gets the answer.
func (c *crew) StopInside(ctx context.Context) (goOn func(), err error) {
	err = c.Inside(ctx, func(place int) { goOn = c.Stop(place) })
	return goOn, err
}

// StopWriting stops a process whose write is on its way, and lets the write arrive when somebody else has come.
func (c *crew) StopWriting(ctx context.Context, until history.Op) error {
	caught := make(chan func(), 1)
	release, carried := c.server.HoldWrite(until, func(number uint32) {
		goOn := func() {}
		if p := c.numbered(number); p != nil {
			goOn = c.stop(p)
		}
		caught <- goOn
	})
	select {
	case <-carried:
	case <-ctx.Done():
	}
	if !release() {
		return errNobodyInside
	}
	goOn := <-caught
	<-carried
	goOn()
	return nil
}

// Retire is Kill, without a successor, and does not wait for the end.
func (c *crew) Retire(place int) {
	p := c.place(place)
	c.mu.Lock()
	p.retired = true
	c.mu.Unlock()
	c.kill(p)
}

// Kill is kill −9.
func (c *crew) Kill(place int) {
	p := c.place(place)
	c.kill(p)
	<-p.gone
}

func (c *crew) kill(p *process) {
	c.log.Append(history.Record{Op: history.Process, Phase: history.Killed, Process: p.number})
	p.cmd.Process.Kill()
}

// Tell gives a command to a process.
func (c *crew) Tell(place int, line string) { c.tell(c.place(place), line) }

// Burn starts processes that do nothing but burn.
func (c *crew) Burn(_ context.Context, processes int) (end func(), err error) {
	var inputs []io.Closer
	var running sync.WaitGroup
	end = func() {
		for _, input := range inputs {
			input.Close()
		}
		running.Wait()
	}
	for range processes {
		cmd, input, err := c.launch(worker.ModeBurn)
		if err != nil {
			end()
			return nil, fmt.Errorf("to burn: %w", err)
		}
		inputs = append(inputs, input)
		running.Go(func() { cmd.Wait() })
	}
	return end, nil
}
