package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/control"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/judge"
	"holdfast.dev/torture/internal/report"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// ControlOptions are which broken locks are to be tried, and how.
type ControlOptions struct {
	Names    []string // N1, …; none: all
	Seed     uint64   // of the first try; the others follow
	Seeds    int      // how many tries of each
	Parallel int      // how many at the same time
	Program  []string // starts this program again, as a worker process; none: its executable, without arguments
	Into     string   // a directory that gets a bundle for each try; "": nothing is kept

	Progress func(ControlState) // is told of each try that has ended, by several at the same time; may be nil

	// kind is arena.Control, but for the test that shows what happens if a broken lock is none, or a twin is broken.
	kind func(c control.Control, broken bool) arena.Kind
}

// A ControlState is one try that has ended.
type ControlState struct {
	Name   string
	Seed   uint64
	Broken bool     // the broken lock; else its twin
	By     []string // the checkers that accused it
	What   []string // the accusations
	Good   bool     // it came out as it must
}

// ControlNames are those of the broken locks.
func ControlNames() []string {
	var names []string
	for _, c := range control.All() {
		names = append(names, c.Name)
	}
	return names
}

// The crew of a control: small, so that a round is short.
const (
	controlWorkers = 8
	controlPerEach = 2
)

// Controls runs locks that are broken on purpose, and for each a twin that is not: the result has passed if every broken one was caught, by
// a checker that is meant to, with every seed, and every twin passed. The result is there also with an error, ErrStopped or something that
// kept a try from being one: then it has those of which all was tried.
func Controls(ctx context.Context, o ControlOptions) (*Result, error) {
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	if o.Program, err = again(o.Program); err != nil {
		return nil, err
	}
	if err := needs([]field{{kind: arena.Control(chosen[0], true)}}); err != nil {
		return nil, err
	}
	if o.kind == nil {
		o.kind = arena.Control
	}
	began := time.Now()
	lines := make([]*controlTries, len(chosen))
	places := make(chan struct{}, o.Parallel)
	var all sync.WaitGroup
	for i, c := range chosen {
		lines[i] = &controlTries{line: report.ControlLine{Name: c.Name, Title: c.Title, Seeds: o.Seeds}}
		for n := range o.Seeds {
			for _, broken := range []bool{true, false} {
				places <- struct{}{} // in this order
				all.Go(func() {
					defer func() { <-places }()
					lines[i].add(ctx, o, try{control: c, seed: o.Seed + uint64(n), broken: broken})
				})
			}
		}
	}
	all.Wait()
	d := &report.Document{Title: "Torture: locks that are broken on purpose", Began: began.UTC(), Lasted: time.Since(began), Seeds: []uint64{o.Seed},
		Command: []string{fmt.Sprintf("holdfast torture controls --seeds %d --seed %d", o.Seeds, o.Seed)}}
	for _, l := range lines {
		if err = errors.Join(err, l.err); l.tried == 2*o.Seeds {
			d.Controls = append(d.Controls, l.line)
		}
	}
	if ctx.Err() != nil && len(d.Controls) < len(chosen) {
		err = ErrStopped // what went wrong afterwards went wrong because of that
	}
	if err != nil {
		d.Stopped = err.Error()
	}
	return &Result{d}, err
}

func (o ControlOptions) chosen() ([]control.Control, error) {
	if o.Seeds < 1 || o.Parallel < 1 {
		return nil, fmt.Errorf("%w: %d seeds, %d at the same time: give 1 at least", ErrOption, o.Seeds, o.Parallel)
	}
	if len(o.Names) == 0 {
		return control.All(), nil
	}
	var chosen []control.Control
	for _, name := range o.Names {
		c, known := control.Find(name)
		if !known {
			return nil, fmt.Errorf("%w: there is no control %q; there are %s", ErrOption, name, strings.Join(ControlNames(), ", "))
		}
		if !slices.ContainsFunc(chosen, func(other control.Control) bool { return other.Name == c.Name }) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// A try is one round of a control.
type try struct {
	control control.Control
	seed    uint64
	broken  bool
	again   uint64 // which round of it
}

// rounds is how many a broken lock has to show its mistake with one seed: ten seconds, together. On a busy machine a fault can miss its moment.
const rounds = 3

// caught reports whether a checker that is meant to has found something.
func (t try) caught(found []check.Violation) bool {
	return slices.ContainsFunc(found, func(v check.Violation) bool { return slices.Contains(t.control.Caught, v.Checker) })
}

// controlTries are all tries of a control.
type controlTries struct {
	mu    sync.Mutex
	begun time.Time
	tried int // that came to their ends
	line  report.ControlLine
	err   error
}

// add makes a try, and counts how it ended.
func (l *controlTries) add(ctx context.Context, o ControlOptions, t try) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	if l.begun.IsZero() {
		l.begun = time.Now()
	}
	l.mu.Unlock()
	found, err := o.once(ctx, t)
	for t.again = 1; err == nil && t.broken && t.again < rounds && !t.caught(found); t.again++ {
		found, err = o.once(ctx, t)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.Took = time.Since(l.begun)
	if err != nil {
		l.err = errors.Join(l.err, fmt.Errorf("control %s, seed %d, broken %v: %w", t.control.Name, t.seed, t.broken, err))
		return
	}
	l.tried++
	by, what := accusers(found)
	good := len(by) == 0
	switch {
	case t.broken:
		good = t.caught(found)
		if good {
			l.line.Caught++
			l.line.By = slices.Compact(slices.Sorted(slices.Values(append(l.line.By, by...))))
		}
	case good:
		l.line.TwinPassed++
	}
	if o.Progress != nil {
		o.Progress(ControlState{Name: t.control.Name, Seed: t.seed, Broken: t.broken, By: by, What: what, Good: good})
	}
}

// accusers returns the names of the checkers that found something, and what they say.
func accusers(found []check.Violation) (by, what []string) {
	for _, v := range found {
		what = append(what, v.String())
		if !slices.Contains(by, v.Checker) {
			by = append(by, v.Checker)
		}
	}
	return by, what
}

// once runs one round, and returns what was found in it.
func (o ControlOptions) once(ctx context.Context, t try) (found []check.Violation, err error) {
	c := t.control
	dir, err := os.MkdirTemp("", "torture-control-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plan := round.Plan{Number: 1, Seed: rand.New(rand.NewPCG(t.seed, t.again)).Uint64(), Kind: o.kind(c, t.broken), Class: "within",
		TTL: c.TTL, Duration: c.Duration, Workers: controlWorkers, PerEach: controlPerEach, Locks: []history.LockMeta{{Name: "hot"}},
		Mix: c.Mix, Gate: c.GateFor(t.broken), Patience: c.Patience, Command: o.Program}
	if err := round.Run(ctx, plan, dir, open); err != nil {
		return nil, fmt.Errorf("%w%s", err, said(dir))
	}
	h, err := round.Load(dir)
	if err != nil {
		return nil, err
	}
	verdict, err := judge.Round(h)
	if err != nil {
		return nil, err
	}
	return verdict.Violations, o.keep(t, dir)
}

// keep puts a try into a bundle of its own.
func (o ControlOptions) keep(t try, dir string) error {
	if o.Into == "" {
		return nil
	}
	kind := "twin"
	if t.broken {
		kind = "broken"
	}
	b, err := bundle.Make(filepath.Join(o.Into, fmt.Sprintf("%s-%s-%d", t.control.Name, kind, t.seed)),
		bundle.Run{Command: "holdfast torture controls " + t.control.Name, Seed: t.seed})
	if err != nil {
		return err
	}
	return b.Add(1+int(t.again), dir)
}

// open opens what a worker process is told to: a store, or that of a control.
func open(ctx context.Context, store string, options ...holdfast.OpenOption) (*holdfast.Client, error) {
	if !control.IsStore(store) {
		return holdfast.Open(ctx, store, options...)
	}
	s, err := control.OpenStore(ctx, store, func(control.Point) { worker.Reached() })
	if err != nil {
		return nil, err
	}
	return holdfast.New(s, options...), nil
}
