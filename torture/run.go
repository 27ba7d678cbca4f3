package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"holdfast.dev"
	"holdfast.dev/filelock"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/judge"
	"holdfast.dev/torture/internal/round"
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
	broken     int                      // so many rounds, one after the other
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
	if err := needs(fields); err != nil {
		return nil, err
	}
	kept := o.Into != ""
	if !kept {
		if o.Into, err = os.MkdirTemp("", "torture-bundle-"); err != nil {
			return nil, err
		}
		defer func() {
			if !kept {
				err = errors.Join(err, os.RemoveAll(o.Into))
			}
		}()
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
	r := &running{Options: o, fields: fields, bundle: b, began: time.Now(), spent: make(map[string]time.Duration)}
	err = r.run(ctx)
	result, failed := r.result()
	if failed == nil && err != nil && (o.Duration > 0 || !errors.Is(err, ErrStopped)) { // without a duration to be stopped is its end
		result.document.Stopped = err.Error()
	}
	switch {
	case kept || failed != nil:
	case result.Violations() > 0: // there is something to look at
		kept = true
	default:
		result.forget()
	}
	return result, errors.Join(err, failed)
}

// needs looks for the programs of servers, before anything is begun.
func needs(fields []field) error {
	if !round.Supported {
		return errors.New("torture needs a system where processes can be stopped and killed: Linux, macOS or another Unix")
	}
	for _, f := range fields {
		for program, from := range f.kind.Needs {
			if _, err := exec.LookPath(program); err != nil {
				return fmt.Errorf("the store %s needs %s, which is in no directory of PATH: install it (on Debian: apt-get install %s), or name "+
					"other stores: %w", f.kind.Name, program, from, servers.ErrMissing)
			}
		}
	}
	return nil
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

// run runs rounds until the time is over: one of each store at least.
func (r *running) run(ctx context.Context) error {
	first, err := r.bundle.Next()
	if err != nil {
		return err
	}
	for number := first; ; number++ {
		turn := number
		if r.Round > 0 {
			turn = r.Round
		}
		err := r.round(ctx, number, turn)
		switch {
		case err != nil && ctx.Err() != nil:
			return ErrStopped
		case err != nil:
			return err
		case r.Round > 0, r.Duration > 0 && number-first+1 >= len(r.stores()) && r.left(0) < r.lasts()/2:
			return nil
		case ctx.Err() != nil:
			return ErrStopped
		}
	}
}

// left is how much time there is for all stores together, when a round has gone on for so long.
func (r *running) left(going time.Duration) time.Duration {
	left := r.Duration * time.Duration(len(r.stores()))
	for _, spent := range r.spent {
		left -= spent
	}
	return max(left-going, 0)
}

// inARow is how many rounds may be broken one after the other, before it is taken for granted that the next one will be.
const inARow = 3

// round runs one, keeps it, and judges it.
func (r *running) round(ctx context.Context, number, turn int) (err error) {
	dir, err := os.MkdirTemp("", "torture-round-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, begun := r.turn(turn), time.Now()
	plan := r.plan(f, number, turn)
	plan.Watch = func(s round.State) { r.tell(f, number, s) }
	err = round.Run(ctx, plan, dir, open)
	r.spent[f.kind.Name] += time.Since(begun)
	broken := new(round.BrokenError)
	if err != nil && !errors.As(err, &broken) {
		return fmt.Errorf("round %d (%s): %w%s", number, f.kind.Name, err, said(dir))
	}
	if err := r.bundle.Add(number, dir); err != nil {
		return fmt.Errorf("keeping round %d: %w", number, err)
	}
	verdict, failed := judged(r.bundle, number)
	if failed == nil {
		failed = keep(r.bundle, number, verdict)
	}
	if failed != nil {
		return failed
	}
	r.verdicts = append(r.verdicts, verdict)
	for _, row := range verdict.Rows {
		r.operations += row.Operations
	}
	r.tell(f, number, round.State{}) // what was found in it
	if err == nil {
		r.broken = 0
		return nil
	}
	if r.broken++; r.broken == inARow {
		return fmt.Errorf("%d rounds in a row came to no proper end, the last one (%d, %s) because of this: %w%s", inARow, number, f.kind.Name, err, said(dir))
	}
	return nil
}

// judged judges a round that is in a bundle, from what is there.
func judged(b *bundle.Bundle, number int) (*judge.Verdict, error) {
	h, err := b.Load(number)
	if err != nil {
		return nil, err
	}
	verdict, err := judge.Round(h)
	if err != nil {
		return nil, fmt.Errorf("judging round %d of %s: %w", number, b.Dir(), err)
	}
	verdict.Sum, err = b.Sum(number)
	return verdict, err
}

// keep writes a verdict beside its round.
func keep(b *bundle.Bundle, number int, verdict *judge.Verdict) error {
	data, err := json.MarshalIndent(verdict, "", " ")
	if err == nil {
		err = b.Write(number, "json", data)
	}
	err = errors.Join(err, b.WritePage(number, verdict.Page))
	verdict.Page = nil // a long run has many
	return err
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
	if r.Duration > 0 && r.Round == 0 {
		state.Left = r.left(s.Elapsed)
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
