package round

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// Streams of chance: a seed gives each part of a round its own.
const (
	streamSchedule = 1
	streamScene    = 2
)

// A run is a round under way.
type run struct {
	Plan
	dir    string
	work   string // the directory of sockets and stores, which does not outlive the round
	arena  arena.Arena
	crew   *crew
	meta   history.Meta
	log    *history.Writer
	closes []func() error
	watch  *watch
	begun  bool
}

// Run runs a round, and leaves its files in dir, which must exist. An error means that there was no proper round: nothing can be said
// about the store. Whether locks worked is not its business.
func Run(ctx context.Context, plan Plan, dir string, open worker.Opener) (err error) {
	r := &run{Plan: plan, dir: dir}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("preparing a round of %s: %w", plan.Kind.Name, err)
	}
	if err := r.promises(ctx, open); err != nil {
		return fmt.Errorf("asking %s for its guarantees: %w", plan.Kind.Name, err)
	}
	err = r.run(ctx)
	if problem := r.crew.problem(); problem != nil {
		err = problem // what else went wrong follows from it
	}
	if err == nil || ctx.Err() != nil || !r.begun {
		return err
	}
	r.meta.Broken = err.Error()
	return &BrokenError{errors.Join(err, r.writeMeta())}
}

// A BrokenError says why a round that had begun came to no proper end. Its files are there, and say so too: it counts as a violation,
// because it may be a lock's fault.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *BrokenError) Unwrap() error { return e.Err }

// prepare starts everything but the workers.
func (r *run) prepare(ctx context.Context) error {
	var err error
	if r.work, err = os.MkdirTemp("", "torture-"); err != nil { // short: the name of a socket may have a hundred bytes
		return err
	}
	r.closes = append(r.closes, func() error { return os.RemoveAll(r.work) })
	if r.log, err = r.writer("controller.hist"); err != nil {
		return err
	}
	registers, err := r.writer("registers.hist")
	if err != nil {
		return err
	}
	server, err := resource.Serve(filepath.Join(r.work, "registers"), r.Gate, registers)
	if err != nil {
		return err
	}
	r.closes = append(r.closes, func() error { server.Close(); return registers.Err() })
	places := r.places()
	r.arena, err = r.Kind.Start(ctx, arena.Options{Dir: r.work, TTL: r.TTL, Processes: len(places), Faults: r.Faults})
	if err != nil {
		return err
	}
	r.closes = append(r.closes, r.arena.Close)
	if cold, is := r.arena.(arena.Warm); is {
		if err := cold.Warm(ctx); err != nil {
			return err
		}
	}
	said, err := os.Create(filepath.Join(r.dir, "log.txt"))
	if err != nil {
		return err
	}
	r.closes = append(r.closes, said.Close, func() error {
		if logs, has := r.arena.(arena.Logs); has {
			fmt.Fprintf(said, "The server's log:\n%s\n", logs.Logs())
		}
		return nil
	})
	r.crew = &crew{dir: r.dir, command: r.Command, places: places, log: r.log, said: &lockedWriter{to: said}, server: server,
		begin: make(chan func()), at: make([]*process, len(places)),
		config: worker.Config{PerClient: r.PerEach, Seed: r.Seed, Resource: filepath.Join(r.work, "registers"), TTL: r.TTL, Locks: r.Locks,
			Mix: r.Mix, Alone: r.Kind.OneProcess}}
	for place := range places {
		r.crew.stores = append(r.crew.stores, r.arena.Store(place))
	}
	r.meta = history.Meta{Number: r.Number, Run: r.Run, Turn: r.Turn, Seed: r.Seed, Began: time.Now().UTC().Truncate(time.Second), Store: r.Kind.Name, Class: r.Class,
		Votes: r.Kind.Votes, TTL: r.TTL, Duration: r.Duration, Workers: r.Workers, Locks: r.Locks, Versions: append(versions(), r.arena.Versions()...)}
	return nil
}

// begin notes that the round has begun: what goes wrong from now on may be a lock's fault.
func (r *run) begin() {
	r.round(history.Began, 0)
	r.begun = true
}

// places shares the workers out.
func (r *run) places() [][]uint16 {
	each := r.PerEach
	if r.Kind.OneProcess {
		each = r.Workers
	}
	var places [][]uint16
	for w := range r.Workers {
		if w%each == 0 {
			places = append(places, nil)
		}
		last := len(places) - 1
		places[last] = append(places[last], uint16(w))
	}
	return places
}

// promises asks the store what it promises.
func (r *run) promises(ctx context.Context, open worker.Opener) error {
	client, err := open(ctx, r.arena.Store(0))
	if err != nil {
		return err
	}
	defer client.Close()
	g, err := client.Guarantees(ctx)
	r.meta.FIFO, r.meta.Fencing = g.FIFO, g.Fencing.String()
	if r.Class == driver.Within.String() {
		err = errors.Join(err, r.claims(g))
	}
	return err
}

// claims compares what the driver's assumptions say with what the store promises: a fault that it promises to survive is within.
func (r *run) claims(g holdfast.Guarantees) error {
	for _, a := range r.Kind.Assumptions() {
		if a.Fault == driver.ServerKill && g.SurvivesRestart && a.Class != driver.Within {
			return fmt.Errorf("%s promises to survive a restart, but its assumptions say that %s is %v", r.Kind.Name, a.Fault, a.Class)
		}
	}
	return nil
}

func (r *run) run(ctx context.Context) error {
	s := &schedule{plan: r.Plan, causes: r.arena.Causes(), log: r.log, random: rand.New(rand.NewPCG(r.Seed, streamSchedule)),
		scene: &arena.Scene{TTL: r.TTL, Random: rand.New(rand.NewPCG(r.Seed, streamScene)), Workers: r.crew}}
	if scripted, is := r.arena.(arena.Scripted); is {
		s.script = scripted.Script()
	}
	for _, lock := range r.Locks {
		s.scene.Locks = append(s.scene.Locks, lock.Name)
	}
	var err error
	if r.meta.Faults, err = s.faults(); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r.crew.fail = fail
	over := make(chan struct{})
	defer close(over)
	go r.crew.starter(over)
	defer r.crew.end()
	r.watch = newWatch(r.Plan, r.dir)
	defer r.watch.end()
	s.watch = r.watch.fault
	for place := range r.crew.places {
		if err := r.crew.start(place); err != nil {
			if r.crew.hasStarted() { // one that ends before it was told what to do is as broken as one that ends later
				r.begin()
			}
			return err
		}
	}
	feeling, enough := context.WithCancel(ctx)
	defer enough()
	go r.feel(feeling)
	r.begin()
	r.watch.phase("running")
	if err := s.run(ctx, time.Now()); err != nil {
		return err
	}
	return r.finish(ctx)
}

// finish drains, and looks for what is left.
func (r *run) finish(ctx context.Context) error {
	r.watch.phase("draining")
	r.round(history.Draining, 0)
	if r.crew.drain(ctx, r.patience()) {
		r.round(history.Drained, 0)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r.round(history.Ended, 0)
	r.crew.end()
	if err := r.crew.problem(); err != nil {
		return err
	}
	r.watch.phase("settling")
	if err := r.arena.Settle(ctx); err != nil {
		return fmt.Errorf("setting the store right after the round: %w", err)
	}
	left, err := r.settled(ctx)
	if err != nil {
		return fmt.Errorf("looking for what is left in the store: %w", err)
	}
	r.meta.Left = left
	r.round(history.Leak, int64(len(left)))
	return r.writeMeta()
}

// writeMeta makes a round of the files.
func (r *run) writeMeta() error {
	data, err := json.MarshalIndent(r.meta, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(r.log.Err(), os.WriteFile(filepath.Join(r.dir, "meta.json"), data, 0o600))
}

// settled returns what is in the store after two TTLs; it asks before that, because mostly nothing is.
func (r *run) settled(ctx context.Context) (left []string, err error) {
	begun, enough := time.Now(), max(2*r.TTL, time.Second) // with very short TTLs stores have least times of their own
	for {
		if left, err = r.arena.Left(ctx); err != nil || len(left) == 0 || time.Since(begun) > enough {
			return left, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// patience is how long draining may take: what is held runs out, guards pass, and then everybody who waits gets a turn.
func (r *run) patience() time.Duration {
	if r.Patience > 0 {
		return r.Patience
	}
	longest := time.Duration(0)
	for _, f := range r.meta.Faults {
		longest = max(longest, f.Heals)
	}
	return 4*r.TTL + longest + time.Duration(r.Workers)*100*time.Millisecond + 8*time.Second
}

func (r *run) round(phase history.Phase, value int64) {
	r.log.Append(history.Record{Op: history.Round, Phase: phase, Value: value})
}

func (r *run) writer(name string) (*history.Writer, error) {
	file, err := os.Create(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	r.closes = append(r.closes, file.Close)
	return history.NewWriter(file), nil
}

func (r *run) close() error {
	var all []error
	for i := len(r.closes) - 1; i >= 0; i-- {
		all = append(all, r.closes[i]())
	}
	return errors.Join(all...)
}

// versions are those of what runs here.
func versions() []string {
	revision, changed := "of unknown revision", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
	}
	return []string{"holdfast " + revision + changed, runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}
}

// A lockedWriter is for many processes' output. What it gets at once stays together.
type lockedWriter struct {
	mu sync.Mutex
	to *os.File
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// Load reads the files of a round.
func Load(dir string) (*history.History, error) {
	files := make(map[string][]byte)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		data, failed := os.ReadFile(filepath.Join(dir, e.Name()))
		files[e.Name()], err = data, errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return history.Parse(files)
}
