package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/filelock"
	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/judge"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// A round is this long at most, and a quarter of a store's time if that is shorter: so a short run has faults of both classes too. But no
// shorter than least, if there is so much time: what heals takes seconds.
const (
	most  = 20 * time.Second
	least = 5 * time.Second
)

// beyondEvery is how often a round has faults beyond the store's assumptions.
const beyondEvery = 4

// ErrStopped: the context ended before the run's time was over. What was done until then is in the result.
var ErrStopped = errors.New("stopped before the end")

// A running is a run under way.
type running struct {
	Options
	fields []field
	bundle *bundle.Bundle
	began  time.Time

	spent      map[string]time.Duration // by store
	rounds     map[string]int           // by store
	operations int
	verdicts   []*judge.Verdict
}

// Run tortures stores. The result is there also with an error, as far as it went: ErrOption (nothing was begun), ErrStopped, or something
// that kept a round from being one. Violations are no error: ask the result.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	fields, err := o.fields()
	if err != nil {
		return nil, err
	}
	if o.Program, err = again(o.Program); err != nil {
		return nil, err
	}
	kept := o.Into != ""
	if !kept {
		if o.Into, err = os.MkdirTemp("", "torture-bundle-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Into)) }()
	}
	b, err := bundle.Make(o.Into, bundle.Run{Command: o.Command, Seed: o.Seed})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOption, err)
	}
	free, err := alone(o.Into)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, free()) }()
	r := &running{Options: o, fields: fields, bundle: b, began: time.Now(), spent: make(map[string]time.Duration),
		rounds: make(map[string]int)}
	err = r.run(ctx)
	result, failed := r.result(kept)
	return result, errors.Join(err, failed)
}

// ErrBusy: another run writes into the bundle.
var ErrBusy = errors.New("another run writes into this bundle: wait for it, or name another directory")

// alone makes sure that nobody else writes into the bundle, by a lock of our own in it. free lets go.
func alone(dir string) (free func() error, err error) {
	ctx := context.Background() // it does not wait
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	locks, err := holdfast.Open(ctx, filelock.URL(filepath.Join(absolute, "locks")))
	if err != nil {
		return nil, err
	}
	if _, err := locks.Mutex("rounds").TryLock(ctx); err != nil {
		if errors.Is(err, holdfast.ErrHeld) {
			err = fmt.Errorf("%s: %w (%v)", dir, ErrBusy, err)
		}
		return nil, errors.Join(err, locks.Close())
	}
	return locks.Close, nil
}

// run runs rounds until each store has had its time.
func (r *running) run(ctx context.Context) error {
	for {
		f, lasts := r.next()
		switch {
		case f == nil:
			return nil
		case ctx.Err() != nil:
			return ErrStopped
		}
		begun := time.Now()
		err := r.round(ctx, *f, lasts)
		r.spent[f.kind.Name] += time.Since(begun)
		r.rounds[f.kind.Name]++
		if err != nil && ctx.Err() != nil {
			return ErrStopped
		}
		if err != nil {
			return err
		}
	}
}

// next returns whose turn it is, and for how long: the store that has had the least time, and every fourth time its faults beyond.
// nil: all have had their time.
func (r *running) next() (f *field, lasts time.Duration) {
	for i := range r.fields {
		g := &r.fields[i]
		spent := r.spent[g.kind.Name]
		switch {
		case r.Duration > 0 && spent > 0 && r.Duration-spent < time.Second:
			// It has had its time.
		case f == nil || spent < r.spent[f.kind.Name]:
			f = g
		case f.kind.Name == g.kind.Name && r.rounds[g.kind.Name]%beyondEvery == 1:
			f = g // the second class of that store, the second time: a short run has it too
		}
	}
	switch {
	case f == nil:
		return nil, 0
	case r.Duration == 0:
		return f, most
	}
	return f, min(r.Duration-r.spent[f.kind.Name], max(least, min(most, r.Duration/beyondEvery)))
}

// stores are the names of those that take turns.
func (r *running) stores() []string {
	var names []string
	for i, f := range r.fields {
		if i == 0 || r.fields[i-1].kind.Name != f.kind.Name {
			names = append(names, f.kind.Name)
		}
	}
	return names
}

// round runs one, keeps it, and judges it.
func (r *running) round(ctx context.Context, f field, lasts time.Duration) (err error) {
	number, err := r.bundle.Next()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "torture-round-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plan := r.plan(f, number, lasts)
	plan.Watch = func(s round.State) { r.tell(f, number, s) }
	if err := round.Run(ctx, plan, dir, open); err != nil {
		return fmt.Errorf("round %d (%s, seed %d): %w%s", number, f.kind.Name, plan.Seed, err, said(dir))
	}
	if err := r.bundle.Add(number, dir); err != nil {
		return fmt.Errorf("keeping round %d: %w", number, err)
	}
	verdict, err := judged(r.bundle, number)
	if err != nil {
		return err
	}
	for _, row := range verdict.Rows {
		r.operations += row.Operations
	}
	r.verdicts = append(r.verdicts, verdict)
	return nil
}

// plan is that of a round; all of it comes from the seed and the number.
func (r *running) plan(f field, number int, lasts time.Duration) round.Plan {
	random := rand.New(rand.NewPCG(r.Seed, uint64(number)))
	ttls := []time.Duration{500, 500, 500, 700, 1000, 2000}
	plan := round.Plan{Number: number, Seed: random.Uint64(), Kind: f.kind, Class: f.class.String(), Faults: f.together(random),
		TTL: ttls[random.IntN(len(ttls))] * time.Millisecond, Duration: lasts, Workers: r.Workers, PerEach: 2,
		Locks: round.Locks(), Mix: worker.Plan, Command: r.Program}
	if f.kind.OneProcess {
		plan.Mix.Use += plan.Mix.Die // its end would be the store's
		plan.Mix.Die = 0
	}
	return plan
}

// together is which of its faults a round has: all, but not two that the driver says must be apart.
func (f field) together(random *rand.Rand) []driver.Fault {
	faults := slices.Clone(f.faults)
	for _, a := range f.kind.Assumptions() {
		apart := func(fault driver.Fault) bool { return slices.Contains(a.Apart, fault) }
		if !slices.Contains(faults, a.Fault) || !slices.ContainsFunc(faults, apart) {
			continue
		}
		if random.IntN(2) == 0 {
			apart = func(fault driver.Fault) bool { return fault == a.Fault }
		}
		faults = slices.DeleteFunc(faults, apart)
	}
	return faults
}

// judged judges a round that is in a bundle, from what is there, and keeps the verdict beside it.
func judged(b *bundle.Bundle, number int) (*judge.Verdict, error) {
	h, err := b.Load(number)
	if err != nil {
		return nil, err
	}
	verdict, err := judge.Round(h)
	if err != nil {
		return nil, fmt.Errorf("judging round %d of %s: %w", number, b.Dir(), err)
	}
	data, err := json.MarshalIndent(verdict, "", " ")
	if err == nil {
		err = b.Write(number, "json", data)
	}
	return verdict, errors.Join(err, b.WritePage(number, verdict.Page))
}

func (r *running) tell(f field, number int, s round.State) {
	if r.Progress == nil {
		return
	}
	state := State{Store: f.kind.Name, Round: number, Fault: s.Fault, Operations: r.operations + s.Operations, Elapsed: time.Since(r.began)}
	for _, v := range r.verdicts {
		for _, row := range v.Rows {
			state.Violations += row.Violations
		}
	}
	if r.Duration > 0 {
		state.Left = r.Duration * time.Duration(len(r.stores()))
		for _, spent := range r.spent {
			state.Left -= spent
		}
		state.Left = max(state.Left-s.Elapsed, 0)
	}
	r.Progress(state)
}

// said is what the processes of a round have said, for an error.
func said(dir string) string {
	data, err := os.ReadFile(dir + "/log.txt")
	if err != nil || len(data) == 0 {
		return ""
	}
	return "\nThe worker processes said:\n" + string(data[:min(len(data), 2000)])
}
