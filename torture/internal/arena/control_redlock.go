package arena

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/torture/internal/control"
)

// A redlockControl is the arena of a control whose lock is redlock's: redlock-3, but for the guard of the broken one.
type redlockControl struct {
	*redlockArena
	control control.Control
	broken  bool
}

func (a *redlockControl) Store(process int) string {
	if a.broken {
		return a.url(process, 0)
	}
	return a.url(process, a.guard())
}

// Warm writes the guard into the nodes, and lets it pass.
func (a *redlockControl) Warm(ctx context.Context) error {
	return lockOnce(ctx, a.Store(0), a.options.TTL)
}

func (a *redlockControl) Causes() map[driver.Fault]Cause { return nil }

// Script is the control's steps.
func (a *redlockControl) Script() []Step {
	var script []Step
	for _, step := range a.control.Steps {
		script = append(script, Step{After: step.At, Name: string(step.Do.Fault()), Cause: Cause{Heals: a.guard() + time.Second,
			Do: func(ctx context.Context, s *Scene) error {
				if step.Do != control.ForgetVoter {
					return fmt.Errorf("the control has a step that nobody knows: %v", step.Do)
				}
				return a.forgetVoter(ctx, s, step.For)
			}}})
	}
	return script
}

// stays is how long whoever has come in is kept there, when a node has forgotten it: so long that others have asked, and that it has not been
// renewed. Its renewal would tell it.
const stays = 200 * time.Millisecond

// forgetVoter: while nobody reaches the last node, whoever comes in has the votes of the two others. Then the second of them forgets, and
// the last can be reached.
func (a *redlockControl) forgetVoter(ctx context.Context, s *Scene, length time.Duration) error {
	last := a.to([]int{2})
	turnAway(last)
	err := s.Pass(ctx, length)
	var failed error
	if err == nil {
		err = s.Workers.Inside(ctx, func(int) {
			a.nodes[1].Kill()
			failed = a.nodes[1].Restart(ctx)
			last.each((*netfault.Proxy).Heal)
			failed = errors.Join(failed, s.Pass(ctx, stays))
		})
	}
	last.each((*netfault.Proxy).Heal) // also if nobody came in
	return errors.Join(err, failed)
}
