package round

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
		all = append(all, history.FaultMeta{Name: string(f), Class: s.plan.Class, Heals: cause.Heals, Loses: cause.Loses})
	}
	for _, step := range s.script {
		all = append(all, history.FaultMeta{Name: step.Name, Class: s.plan.Class, Heals: step.Cause.Heals, Loses: step.Cause.Loses})
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
		if err := s.cause(ctx, i, step.Name, step.Cause, over); err != nil {
			return err
		}
	}
	if len(s.plan.Faults) == 0 {
		return until(s.plan.Duration)
	}
	if err := until(s.scene.Between(0.5, 1.5)); err != nil {
		return err
	}
	for time.Now().Before(over) {
		i := s.random.IntN(len(s.plan.Faults))
		cause := s.causes[s.plan.Faults[i]]
		if err := s.cause(ctx, i, string(s.plan.Faults[i]), cause, over); err != nil {
			return err
		}
		pause := s.scene.Between(0.1, 0.6)
		if s.random.IntN(2) == 0 {
			pause = s.plan.TTL + 1100*time.Millisecond + cause.Heals + s.scene.Between(0, 1)
		}
		if err := until(pause); err != nil {
			return err
		}
	}
	return nil
}

// cause lets one fault happen.
func (s *schedule) cause(ctx context.Context, index int, name string, cause arena.Cause, over time.Time) error {
	// A cause that waits for something to happen gives up with the round; mending it does not.
	ctx, cancel := context.WithDeadline(ctx, over.Add(mending))
	defer cancel()
	s.watch(name)
	s.log.Append(history.Record{Op: history.Fault, Phase: history.Began, Lock: uint16(index)})
	err := cause.Do(ctx, s.scene)
	s.log.Append(history.Record{Op: history.Fault, Phase: history.Healed, Lock: uint16(index)})
	s.watch("")
	if err != nil && !errors.Is(err, errNobodyInside) {
		return fmt.Errorf("the fault %s: %w", name, err)
	}
	return nil
}

// mending is how long the end of a round may be put off by a fault: servers take a while to start.
const mending = 20 * time.Second
