package round

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/history"
)

// A schedule causes faults, and records them.
type schedule struct {
	plan   Plan
	causes map[driver.Fault]arena.Cause
	script []arena.Step // instead
	pack   []int        // of faults that are still to come, by their indices
	scene  *arena.Scene
	log    *history.Writer
	random *rand.Rand
	watch  func(fault string)
}

// faults is what the round can have, as its meta data says it.
func (s *schedule) faults() ([]history.FaultMeta, error) {
	var all []history.FaultMeta
	for _, f := range s.plan.Faults {
		cause, known := s.causes[f]
		if !known {
			return nil, fmt.Errorf("the store %s has no fault %s", s.plan.Kind.Name, f)
		}
		all = append(all, history.FaultMeta{Name: string(f), Class: s.plan.Class, Heals: cause.Heals, Loses: cause.Loses, Forgets: cause.Forgets})
	}
	for _, step := range s.script {
		all = append(all, history.FaultMeta{Name: step.Name, Class: s.plan.Class, Heals: step.Cause.Heals, Loses: step.Cause.Loses,
			Forgets: step.Cause.Forgets})
	}
	return all, nil
}

// run causes faults until the time of the round is over.
func (s *schedule) run(ctx context.Context, began time.Time) error {
	over := began.Add(s.plan.Duration)
	until := func(d time.Duration) error { return s.scene.Pass(ctx, min(d, time.Until(over))) }
	for i, step := range s.script {
		if err := until(step.After - time.Since(began)); err != nil {
			return err
		}
		if err := s.cause(ctx, s.scene, i, step.Name, step.Cause, over); err != nil {
			return err
		}
	}
	if len(s.plan.Faults) == 0 {
		return until(s.plan.Duration)
	}
	if err := until(s.scene.Between(0.5, 1.5)); err != nil {
		return err
	}
	for first := true; first || time.Now().Before(over); first = false {
		heals, err := s.some(ctx, over)
		if err != nil {
			return err
		}
		pause := s.scene.Between(0.1, 0.6)
		if s.random.IntN(2) == 0 {
			pause = s.plan.TTL + 1100*time.Millisecond + heals + s.scene.Between(0, 1)
		}
		if err := until(pause); err != nil {
			return err
		}
	}
	return nil
}

// draw takes the next fault from a pack, and shuffles it when it is empty: so each comes before any comes twice. At first it lies as the plan
// has it: what one round does not get to is what the next begins with.
func (s *schedule) draw() int {
	if s.pack == nil {
		for i := range s.plan.Faults {
			s.pack = append(s.pack, i)
		}
	}
	if len(s.pack) == 0 {
		s.pack = s.random.Perm(len(s.plan.Faults))
	}
	i := s.pack[0]
	s.pack = s.pack[1:]
	return i
}

// some lets one fault happen, or two at once, and returns how long the longer guard after them is.
func (s *schedule) some(ctx context.Context, over time.Time) (heals time.Duration, err error) {
	chosen := []int{s.draw()}
	if second := s.random.IntN(len(s.plan.Faults)); s.random.IntN(4) == 0 && arena.Together(s.plan.Faults[chosen[0]], s.plan.Faults[second]) {
		chosen = append(chosen, second)
	}
	failures := make([]error, len(chosen))
	var all sync.WaitGroup
	for n, i := range chosen {
		name, cause := s.plan.Faults[i], s.causes[s.plan.Faults[i]]
		heals = max(heals, cause.Heals)
		scene := *s.scene
		scene.Random = rand.New(rand.NewPCG(s.random.Uint64(), streamScene)) // each has its own: they run beside each other
		all.Go(func() { failures[n] = s.cause(ctx, &scene, i, string(name), cause, over) })
	}
	all.Wait()
	return heals, errors.Join(failures...)
}

// cause lets one fault happen.
func (s *schedule) cause(ctx context.Context, scene *arena.Scene, index int, name string, cause arena.Cause, over time.Time) error {
	// A cause that waits for something to happen gives up with the round; mending it does not.
	ctx, cancel := context.WithDeadline(ctx, over.Add(mending))
	defer cancel()
	s.watch(name)
	s.log.Append(history.Record{Op: history.Fault, Phase: history.Began, Lock: uint16(index)})
	err := cause.Do(ctx, scene)
	s.log.Append(history.Record{Op: history.Fault, Phase: history.Healed, Lock: uint16(index)})
	s.watch("")
	if err != nil && !errors.Is(err, errNobodyInside) {
		return fmt.Errorf("the fault %s: %w", name, err)
	}
	return nil
}

// mending is how long the end of a round may be put off by a fault: servers take a while to start.
const mending = 20 * time.Second
