package arena

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/control"
)

// A replicasControl is the arena of a control whose lock is redislock's: redis-replicas, but for the guard of the broken one.
type replicasControl struct {
	*replicasArena
	control control.Control
	broken  bool
}

func (a *replicasControl) guard() time.Duration {
	if a.broken {
		return 0
	}
	return fleetGuard(a.options.TTL)
}

func (a *replicasControl) Store(process int) string { return a.url(process, a.guard()) }

// Warm writes the guard into the store, and lets it pass.
func (a *replicasControl) Warm(ctx context.Context) error {
	return lockOnce(ctx, a.Store(0), a.options.TTL)
}

func (a *replicasControl) Causes() map[driver.Fault]Cause { return nil }

// Script is the control's steps.
func (a *replicasControl) Script() []Step {
	var script []Step
	for _, step := range a.control.Steps {
		script = append(script, Step{After: step.At, Name: string(step.Do.Fault()), Cause: Cause{Heals: a.failovers().heals,
			Do: func(ctx context.Context, s *Scene) error {
				if step.Do != control.FailoverCut {
					return fmt.Errorf("the control has a step that nobody knows: %v", step.Do)
				}
				return a.failoverCut(ctx, s, step.For)
			}}})
	}
	return script
}

// failoverCut is that fault, at the moment at which somebody has come in of whom no replica has heard.
func (a *replicasControl) failoverCut(ctx context.Context, s *Scene, length time.Duration) error {
	f := a.failovers()
	old, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	f.isolate(old)
	if err = s.Pass(ctx, length); err == nil {
		soon, cancel := context.WithTimeout(ctx, s.TTL)
		err = s.Workers.Inside(soon, func(int) { f.nodes[old].Kill() })
		cancel()
	}
	f.nodes[old].Kill() // also if nobody came in
	return errors.Join(err, f.fallen(ctx, s, old))
}
