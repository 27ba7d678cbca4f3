package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
)

// An Opener opens what Config.Store names.
type Opener func(ctx context.Context, store string, options ...holdfast.OpenOption) (*holdfast.Client, error)

// A process is one worker process.
type process struct {
	Config
	log      *history.Writer
	clients  []*holdfast.Client
	first    atomic.Pointer[holdfast.Client] // of these, for who listens
	locks    map[string]uint16
	attempts atomic.Uint64
	holds    sync.Map // by holdKey, the *holdfast.Hold
	draining chan struct{}
	failed   complaints
}

// Invoked reports whether this program was started as a worker process, and runs it if so.
func Invoked(open Opener) (code int, invoked bool) {
	switch os.Getenv(Variable) {
	case ModeWork:
		return Main(os.Stdin, os.Stderr, open), true
	case ModeBurn:
		burn(os.Stdin)
		return 0, true
	}
	return 0, false
}

// burn uses a processor until its input ends.
func burn(in io.Reader) {
	var over atomic.Bool
	go func() {
		io.Copy(io.Discard, in)
		over.Store(true)
	}()
	for !over.Load() {
	}
}

// Main is the process: it returns the code to end with, and says on errs why it is not 0, and why locks failed.
func Main(in io.Reader, errs io.Writer, open Opener) int {
	input := bufio.NewReader(in)
	line, err := input.ReadBytes('\n')
	p := &process{draining: make(chan struct{}), locks: make(map[string]uint16), failed: complaints{to: errs}}
	if err == nil {
		err = json.Unmarshal(line, &p.Config)
	}
	if err == nil {
		err = p.run(input, open)
	}
	if err != nil {
		fmt.Fprintf(errs, "worker process %d: %v\n", p.Process, err)
		return 1
	}
	return 0
}

func (p *process) run(input *bufio.Reader, open Opener) error {
	file, err := os.OpenFile(p.History, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	p.log = history.NewWriter(file)
	for i, lock := range p.Locks {
		p.locks[lock.Name] = uint16(i)
	}
	go p.listen(input)
	go p.beat()
	before := p.warmUp()
	p.log.Append(history.Record{Op: history.Process, Phase: history.Started, Process: p.Process})
	if err := p.open(open); err != nil {
		return errors.Join(err, p.close())
	}
	err = p.work()
	if p.Alone && err == nil {
		err = p.listLeft()
	}
	if err := errors.Join(err, p.close()); err != nil {
		return err
	}
	p.rest(before)
	return p.log.Err()
}

// listen obeys the controller, and ends the process with it.
func (p *process) listen(input *bufio.Reader) {
	for {
		line, err := input.ReadString('\n')
		command, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case err != nil:
			os.Exit(1)
		case command == "drain":
			close(p.draining)
		case command == "arm":
			armed.Store(p)
		case command == "break":
			if lock, err := strconv.Atoi(argument); err == nil && lock < len(p.Locks) {
				go p.breakNow(p.Locks[lock].Name)
			}
		}
	}
}

// A holdKey finds a hold of this process.
type holdKey struct {
	lock  uint16
	token uint64
}

// How often a process looks whether it runs, and how late it may be.
const (
	beats = 20 * time.Millisecond
	late  = 80 * time.Millisecond
)

// beat records when the process did not get to run: what it should have done meanwhile nobody can blame on a lock. It is a goroutine
// as all others: where it runs, the others could have.
func (p *process) beat() {
	for last := history.Now(); ; {
		time.Sleep(beats)
		now := history.Now()
		if now.Sub(last) > late {
			p.log.Append(history.Record{At: now, Op: history.Process, Phase: history.Starved, Process: p.Process, Value: int64(last)})
		}
		last = now
	}
}

// armed is the process, once it was told to die at the next point that it reaches.
var armed atomic.Pointer[process]

// Reached is for locks that have points in their code at which a process may die: it does, if it was told to.
func Reached() {
	if p := armed.Load(); p != nil {
		p.die()
	}
}

// breakNow is an administrator who sees a holder and frees the lock at once. If nobody holds it just then there is nothing to do.
func (p *process) breakNow(name string) {
	client := p.first.Load()
	if client == nil {
		return // it has not got to the store yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.TTL)
	defer cancel()
	info, err := client.Inspect(ctx, name)
	if err == nil && len(info.Holders) > 0 {
		client.Break(ctx, name, info.Holders[0].Token, holdfast.Now())
	}
}

// open opens the clients, and tries again while the store cannot be reached: a fault may be going on.
func (p *process) open(open Opener) error {
	for range (len(p.Workers) + p.PerClient - 1) / p.PerClient {
		for begun := time.Now(); ; {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			client, err := open(ctx, p.Store, holdfast.WithObserver(holdfast.ObserverFunc(p.observe)))
			cancel()
			if err == nil {
				p.clients = append(p.clients, client)
				p.first.CompareAndSwap(nil, client)
				break
			}
			if time.Since(begun) > openWithin {
				return fmt.Errorf("opening the store: %w", err)
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-p.draining:
				return nil
			}
		}
	}
	return nil
}

// openWithin is how long the store may be out of reach when a process starts: longer than any fault.
const openWithin = 30 * time.Second

func (p *process) close() error {
	var all []error
	for _, c := range p.clients {
		if err := c.Close(); err != nil {
			all = append(all, fmt.Errorf("closing a client: %w", err))
		}
	}
	return errors.Join(all...)
}

// listLeft says which locks are still held or waited for, though nobody uses them any more.
func (p *process) listLeft() error {
	left := 0
	for info, err := range p.clients[0].List(context.Background(), "") {
		if err != nil {
			return fmt.Errorf("listing what is left: %w", err)
		}
		left += len(info.Holders) + len(info.Waiters)
	}
	p.log.Append(history.Record{Op: history.Round, Phase: history.Leak, Value: int64(left)})
	return nil
}

// observe records what happens by itself: a place in the queue, and renewals.
func (p *process) observe(_ context.Context, e holdfast.Event) {
	r := history.Record{At: history.Now(), Process: p.Process, Lock: p.locks[e.Name]}
	switch e.Kind {
	case holdfast.EventWaiting:
		if e.Progress.Guard > 0 { // nobody has a place that anybody would pass over
			return
		}
		_, number, _ := strings.Cut(e.Label, " ")
		r.Op, r.Phase = history.Acquire, history.Queued
		r.Attempt, _ = strconv.ParseUint(number, 10, 64)
		p.log.Append(r)
	case holdfast.EventRenewed:
		// The event's Left was true some time ago, and a process can be stopped between any two lines: so it is asked for after the time.
		// A hold that is not known yet has its grant recorded soon, and with that what is left then.
		if hold, known := p.holds.Load(holdKey{r.Lock, e.Token}); known {
			if left := hold.(*holdfast.Hold).Left(); left > 0 {
				r.Op, r.Phase, r.Token, r.Value = history.Hold, history.Renewed, e.Token, int64(r.At.Add(left))
				p.log.Append(r)
			}
		}
	}
}

func (p *process) work() error {
	var all sync.WaitGroup
	failures := make([]error, len(p.Workers))
	for i, number := range p.Workers {
		if i/p.PerClient >= len(p.clients) {
			break // it was told to drain before the store could be reached
		}
		w := &worker{process: p, number: number, client: p.clients[i/p.PerClient], random: rand.New(rand.NewPCG(p.Seed, uint64(number)))}
		all.Go(func() { failures[i] = w.run() })
	}
	all.Wait()
	return errors.Join(failures...)
}

// A count is how much there is of what could leak.
type count struct{ goroutines, descriptors int }

// warmUp lets everything be made that is made once for a process, and counts then.
func (p *process) warmUp() count {
	driver.Boot().At(driver.Boot().Now().Add(time.Hour), func() {})()
	if c, err := resource.Dial(p.Resource); err == nil {
		c.Close()
	}
	return counted()
}

func counted() count {
	files, _ := os.ReadDir("/proc/self/fd")
	return count{runtime.NumGoroutine(), len(files)}
}

// rest says what is left beyond what was there before, once it does not become less any more.
func (p *process) rest(before count) {
	// The clock's goroutine and descriptor were counted before, and end when nobody needs it: that must not make up for a leak.
	stop := driver.Boot().At(driver.Boot().Now().Add(time.Hour), func() {})
	defer stop()
	left := counted()
	for begun := time.Now(); (left.goroutines > before.goroutines || left.descriptors > before.descriptors) && time.Since(begun) < 3*time.Second; {
		time.Sleep(5 * time.Millisecond)
		left = counted()
	}
	r := history.Record{Op: history.Process, Phase: history.Rest, Process: p.Process}
	r.Flags, r.Value = history.Goroutines, int64(left.goroutines-before.goroutines)
	p.log.Append(r)
	r.Flags, r.Value = history.Descriptors, int64(left.descriptors-before.descriptors)
	p.log.Append(r)
}
