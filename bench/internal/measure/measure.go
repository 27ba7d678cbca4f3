// Package measure runs one contender through one scenario, and turns what it saw into figures.
//
// All clients are opened, and all goroutines started. After a warm-up the clock starts, when the server has answered an INFO; it stops
// when the server has answered a second one. So the commands that the server counts and the holds that the goroutines
// count belong to the same stretch of time. A hold belongs to it if Lock returned in it. A wait counts in full, also the part
// before the clock started; one that was going on when it stopped counts for as long as it had lasted: otherwise a library that
// lets one goroutine have the lock all the time, and all others starve, would seem to have no waits at all.
//
// Then the goroutines' context ends. It has no deadline that a library could see: some shorten their holds by it.
//
// One clock, the monotonic one of this process, is used for everything. It has to be one process for that.
package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/scenario"
)

// A Run is what to measure, and for how long.
type Run struct {
	Contender contender.Contender
	Scenario  scenario.Scenario
	Warm, For time.Duration // For is multiplied by the scenario's Times
	// Spoil, if there is one, makes trouble once the clients are open; what it returns mends that again as soon as the clock has stopped.
	Spoil func() (mend func() error, err error)
}

// A Result is what came out.
type Result struct {
	Figures  figure.Set
	Lasted   time.Duration
	Holds    int
	Commands map[string]int64 // that the server carried out, by name
	Problem  string           // the first failure, if there was one
}

// The longest that goroutines may take to end, and clients to close, before the contender counts as hanging.
const patience = time.Minute

// runs makes the names of locks fresh.
var runs atomic.Uint64

// Measure runs it. An error is a violation of mutual exclusion (*Violation), a server that cannot be asked, a contender that cannot be opened or
// does not end.
func Measure(ctx context.Context, server *Probe, addr string, r Run) (*Result, error) {
	clients, err := open(ctx, addr, r)
	if err != nil {
		return nil, err
	}
	result, err := r.measure(ctx, server, clients)
	if problem := finish(func() { closeAll(clients) }); problem != nil {
		err = errors.Join(err, fmt.Errorf("%s in %s: closing its clients: %w", r.Contender.Name, r.Scenario.Name, problem))
	}
	return result, err
}

func open(ctx context.Context, addr string, r Run) ([]contender.Client, error) {
	s := r.Scenario
	var clients []contender.Client
	for range s.Clients {
		c, err := r.Contender.Open(ctx, addr, (s.Goroutines+s.Clients-1)/s.Clients)
		if err != nil {
			closeAll(clients)
			return nil, fmt.Errorf("opening %s: %w", r.Contender.Name, err)
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeAll(clients []contender.Client) {
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.Close() })
	}
	all.Wait()
}

func (r Run) measure(ctx context.Context, server *Probe, clients []contender.Client) (*Result, error) {
	mend := func() error { return nil }
	if r.Spoil != nil {
		var err error
		if mend, err = r.Spoil(); err != nil {
			return nil, err
		}
	}
	locks, workers := r.prepare(clients)
	runtime.GC() // what the contender before has left behind is not this one's to clear away
	ctx, end := context.WithCancel(ctx)
	defer end()
	var all, started sync.WaitGroup
	started.Add(len(workers))
	for _, w := range workers {
		all.Go(func() {
			started.Done()
			w.run(ctx)
			if w.problem != "" {
				end()
			}
		})
	}
	started.Wait()
	win, err := r.watch(ctx, server, workers[0].since)
	err = errors.Join(err, mend()) // before the goroutines' end: some libraries wait for what was stopped, and for long
	end()
	if problem := finish(all.Wait); problem != nil {
		return nil, fmt.Errorf("%s in %s: its goroutines wait on after their context has ended: %w", r.Contender.Name, r.Scenario.Name, problem)
	}
	if problem := exclusion(locks, workers); problem != "" {
		return nil, &Violation{r.Contender.Name, r.Scenario.Name, problem}
	}
	if err != nil {
		return nil, err
	}
	return win.result(r.Contender.Direct, workers), nil
}

func (r Run) prepare(clients []contender.Client) ([]*lock, []*worker) {
	s := r.Scenario
	run := strconv.FormatUint(runs.Add(1), 10)
	locks := make([]*lock, s.Locks)
	for i := range locks {
		locks[i] = &lock{name: "bench:" + r.Contender.Name + ":" + s.Name + ":" + run + ":" + strconv.Itoa(i)}
	}
	workers := make([]*worker, s.Goroutines)
	since := time.Now()
	for i := range workers {
		workers[i] = &worker{client: clients[i%len(clients)], lock: locks[i%len(locks)], work: s.Work, since: since, asking: -1}
	}
	return locks, workers
}

// watch lets the warm-up pass, and then the time of the measurement, and asks the server before and after.
func (r Run) watch(ctx context.Context, server *Probe, since time.Time) (*window, error) {
	if err := pass(ctx, r.Warm); err != nil {
		return nil, err
	}
	before, err := server.Info(ctx)
	if err != nil {
		return nil, err
	}
	win := &window{from: int64(time.Since(since))}
	if err := pass(ctx, r.For*time.Duration(max(r.Scenario.Times, 1))); err != nil {
		return nil, err
	}
	after, err := server.Info(ctx)
	if err != nil {
		return nil, err
	}
	win.to = int64(time.Since(since))
	win.processed, win.calls = after.Since(before)
	return win, nil
}

func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// finish runs f, and gives up on it after a while: a library that hangs must not hang the program.
func finish(f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("it has not ended after %v", patience)
	}
}

// exclusion returns how a lock failed to exclude, or "".
func exclusion(locks []*lock, workers []*worker) string {
	holds := make(map[*lock]int64)
	for _, w := range workers {
		if w.problem != "" {
			return w.problem
		}
		holds[w.lock] += int64(len(w.turns))
	}
	for _, l := range locks {
		if problem := l.settle(holds[l]); problem != "" {
			return problem
		}
	}
	return ""
}

// ms makes milliseconds of nanoseconds.
func ms(ns int64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return float64(ns) / float64(time.Millisecond)
}
