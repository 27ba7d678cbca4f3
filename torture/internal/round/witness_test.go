package round_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// A staged arena has its own faults at fixed times, of lengths that do not depend on a seed.
type staged struct {
	arena.Arena
	steps []step
	left  []string // is said to be left, beside what is
}

type step struct {
	after time.Duration
	fault driver.Fault
}

// stage makes a kind a staged one.
func stage(kind arena.Kind, s staged) arena.Kind {
	start := kind.Start
	kind.Start = func(ctx context.Context, o arena.Options) (arena.Arena, error) {
		a, err := start(ctx, o)
		if err != nil {
			return nil, err
		}
		s.Arena = a
		return &s, nil
	}
	return kind
}

func (s *staged) Script() []arena.Step {
	var script []arena.Step
	for _, step := range s.steps {
		cause := s.Causes()[step.fault]
		do := cause.Do
		cause.Do = func(ctx context.Context, scene *arena.Scene) error {
			middling := *scene
			middling.Random = rand.New(middle{})
			return do(ctx, &middling)
		}
		script = append(script, arena.Step{After: step.after, Name: string(step.fault), Cause: cause})
	}
	return script
}

func (s *staged) Pulse(ctx context.Context) error {
	if server, is := s.Arena.(arena.Pulse); is {
		return server.Pulse(ctx)
	}
	return nil
}

func (s *staged) Left(ctx context.Context) ([]string, error) {
	left, err := s.Arena.Left(ctx)
	return append(left, s.left...), err
}

// middle is chance that always takes the middle.
type middle struct{}

func (middle) Uint64() uint64 { return 1<<63 | 1<<52 }

// A real round has in its history what the checkers live on: a rig that does nothing, or does not record it, would always pass.
func TestRoundRecords(t *testing.T) {
	inside := func(after time.Duration) step { return step{after, driver.WorkerStopInside} }
	kill := func(after time.Duration) step { return step{after, driver.WorkerKill} }
	for _, c := range []struct {
		store    string
		duration time.Duration
		ttl      time.Duration
		steps    []step
	}{
		{"memory", 2 * time.Second, 300 * time.Millisecond, []step{inside(600 * time.Millisecond)}},
		{"file", 1500 * time.Millisecond, 300 * time.Millisecond, []step{inside(200 * time.Millisecond), kill(900 * time.Millisecond)}},
		{"redis", 2500 * time.Millisecond, 400 * time.Millisecond, []step{inside(200 * time.Millisecond), inside(time.Second),
			kill(1800 * time.Millisecond), {1900 * time.Millisecond, driver.ServerStop}}},
	} {
		t.Run(c.store, func(t *testing.T) { // not in parallel: what it says about lack of time is about itself
			kind, _ := arena.Find(c.store)
			dir := t.TempDir()
			h := runIn(t, dir, func(p *round.Plan) {
				p.Kind, p.TTL, p.Duration = stage(kind, staged{steps: c.steps}), c.ttl, c.duration
				p.Mix.Long, p.Mix.Inspect, p.Mix.Die = 12, 50, 10 // in so short a time each shall come many times
				p.Mix.Think = 20 * time.Millisecond
				if kind.OneProcess {
					p.Mix.Die = 0
				}
			})
			r := &records{T: t, History: h, own: !kind.OneProcess, dir: dir}
			r.happened(c.store)
			r.stoodStill(c.store == "redis")
			r.hadTime()
			r.applied()
			if r.own {
				r.died()
			}
			r.rested()
		})
	}
}

// runIn runs a round of eight workers, and leaves its files in dir.
func runIn(t *testing.T, dir string, change func(*round.Plan)) *history.History {
	t.Helper()
	plan := round.Plan{Number: 1, Seed: 1, Class: "none", TTL: 300 * time.Millisecond, Duration: time.Second, Workers: 8, PerEach: 2,
		Locks: round.Locks(), Mix: worker.Plan, Command: []string{os.Args[0]}}
	change(&plan)
	servers.Need(t, round.Run(t.Context(), plan, dir, holdfast.Open))
	h, err := round.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// records are the history of a round, to be looked through.
type records struct {
	*testing.T
	*history.History
	own bool // workers have processes of their own, two and two
	dir string
}

// places is how many processes there are at once.
func (r *records) places() int {
	if r.own {
		return r.Meta.Workers / 2
	}
	return 1
}

// all returns the records of an operation in a phase.
func (r *records) all(op history.Op, phase history.Phase) []history.Record {
	return slices.DeleteFunc(slices.Clone(r.Records), func(x history.Record) bool { return x.Op != op || x.Phase != phase })
}

// happened: what locks do is recorded, and everything came to its end.
func (r *records) happened(store string) {
	counts := map[string]int{"claims": len(r.all(history.Hold, history.Claimed)),
		"places in queues": len(r.all(history.Acquire, history.Queued)), "releases": len(r.all(history.Release, history.Done)),
		"looks": len(r.all(history.Inspect, history.Done)), "faults": len(r.Faults())}
	if store != "file" { // its holds do not run out
		counts["renewals"] = len(r.all(history.Hold, history.Renewed))
		counts["losses told"] = len(r.all(history.Hold, history.LossTold))
	}
	for what, n := range counts {
		if n == 0 {
			r.Errorf("%s: none", what)
		}
	}
	for _, f := range r.Faults() {
		if !f.Healed {
			r.Errorf("%s has not ended", r.Meta.Faults[f.Index].Name)
		}
	}
	if r.When(history.Drained) == 0 || len(r.Meta.Left) > 0 {
		r.Errorf("drained at %d, left %q", r.When(history.Drained), r.Meta.Left)
	}
	r.Logf("%v of %d records", counts, len(r.Records))
}

// applied: what workers did to registers the registers say too, and nothing else.
func (r *records) applied() {
	type access struct {
		attempt uint64
		op      history.Op
		flags   history.Flag
		token   uint64
		lock    uint16
		value   int64
	}
	of := func(x history.Record) access { return access{x.Attempt, x.Op, x.Flags, x.Token, x.Lock, x.Value} }
	applied, asked := make(map[access]int), make(map[access]bool)
	for _, op := range []history.Op{history.Read, history.Write} {
		for _, x := range r.all(op, history.Applied) {
			applied[of(x)]++
			x.Value = 0
			asked[of(x)] = true
		}
		for _, x := range r.all(op, history.Done) {
			if x.Outcome == history.OK {
				if applied[of(x)]--; applied[of(x)] < 0 {
					r.Errorf("the registers do not know of it: %s", r.Describe(x))
				}
			}
		}
		for _, x := range r.all(op, history.Asked) {
			x.Value = 0
			delete(asked, of(x))
		}
		if len(r.all(op, history.Applied)) == 0 {
			r.Errorf("%v: nobody did", op)
		}
	}
	for a := range asked {
		r.Errorf("nobody asked for it: %+v", a)
	}
}

// died: some workers have killed themselves, some were killed, and others came in their places.
func (r *records) died() {
	killed := 0
	files, err := filepath.Glob(filepath.Join(r.dir, "process-*.hist"))
	for _, name := range files {
		file, failed := os.Open(name)
		if failed != nil {
			r.Fatal(failed)
		}
		own, failed := history.Decode(file)
		file.Close()
		if failed != nil {
			r.Fatal(failed)
		}
		if slices.ContainsFunc(own, func(x history.Record) bool { return x.Phase == history.Killed }) {
			killed++
		}
	}
	all := len(r.all(history.Process, history.Killed))
	if err != nil || killed == 0 || all == killed {
		r.Errorf("of %d that were killed %d did it themselves, %v; want some of both", all, killed, err)
	}
	ended, codes := 0, make(map[uint32]int64)
	for _, x := range r.all(history.Process, history.Ended) {
		codes[x.Process] = x.Value
		if x.Value < 0 && x.At < r.When(history.Draining) {
			ended++
		}
	}
	for _, x := range r.all(history.Process, history.Killed) {
		if codes[x.Process] >= 0 {
			r.Errorf("process %d was killed, and ended with %d", x.Process, codes[x.Process])
		}
	}
	if ended == 0 || len(codes) <= r.places() { // whoever died at the last moment is not replaced any more
		r.Errorf("%d processes died before the end, and there were %d for %d places", ended, len(codes), r.places())
	}
}

// rested: whoever ended by itself has said what it left, and that is nothing.
func (r *records) rested() {
	rest := make(map[uint32]history.Flag)
	for _, x := range r.all(history.Process, history.Rest) {
		rest[x.Process] |= x.Flags
		if x.Value > 0 {
			r.Errorf("process %d has left %d of %d", x.Process, x.Value, x.Flags)
		}
	}
	some := false
	for _, x := range r.all(history.Process, history.Ended) {
		if x.Value == 0 {
			some = true
			if rest[x.Process] != history.Goroutines|history.Descriptors {
				r.Errorf("process %d ended, and said nothing about %d", x.Process, history.Goroutines|history.Descriptors)
			}
		}
	}
	if !some {
		r.Error("no process ended by itself")
	}
}

// What is left in the store is told.
func TestLeftIsTold(t *testing.T) {
	t.Parallel()
	kind, _ := arena.Find("file")
	h := runIn(t, t.TempDir(), func(p *round.Plan) {
		p.Kind, p.Duration, p.TTL = stage(kind, staged{left: []string{"a key"}}), 100*time.Millisecond, 100*time.Millisecond
	})
	leaks := (&records{T: t, History: h}).all(history.Round, history.Leak)
	if !slices.Equal(h.Meta.Left, []string{"a key"}) || len(leaks) != 1 || leaks[0].Value != 1 {
		t.Errorf("left %q, records %+v", h.Meta.Left, leaks)
	}
}

// A driver cannot promise to survive what it calls beyond.
func TestPromisesAgainstAssumptions(t *testing.T) {
	t.Parallel()
	kind, _ := arena.Find("redis")
	kind.Assumptions = func() []driver.Assumption {
		return []driver.Assumption{{Fault: driver.ServerKill, Class: driver.Beyond}}
	}
	p := plan(t, "redis", os.Args[0])
	p.Kind, p.Class, p.Duration = kind, driver.Within.String(), time.Millisecond
	err := round.Run(t.Context(), p, t.TempDir(), holdfast.Open)
	if err == nil || !strings.Contains(err.Error(), "promises to survive a restart") {
		servers.Need(t, err)
		t.Errorf("%v", err)
	}
}
