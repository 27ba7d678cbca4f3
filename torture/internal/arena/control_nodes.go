package arena

import (
	"context"
	"fmt"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/torture/internal/control"
)

// A nodesControl is the arena of a control on several servers that know nothing of each other.
type nodesControl struct {
	*voters
	control control.Control
	broken  bool
}

func (a *nodesControl) Store(process int) string {
	way := a.network[process]
	o := control.Options{Addr: way.Addr(), Broken: a.broken, Process: process}
	for _, proxy := range way[1:] {
		o.More = append(o.More, proxy.Addr())
	}
	return a.control.Store(o)
}

func (a *nodesControl) Causes() map[driver.Fault]Cause { return nil }

// Left is what is left of locks, on each server.
func (a *nodesControl) Left(ctx context.Context) (left []string, err error) {
	for i, node := range a.nodes {
		keys, err := control.Left(ctx, node.Addr())
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			left = append(left, fmt.Sprintf("node %d: %s", i, key))
		}
	}
	return left, nil
}

// Script is the control's steps.
func (a *nodesControl) Script() []Step {
	var script []Step
	for _, step := range a.control.Steps {
		script = append(script, Step{After: step.At, Name: string(step.Do.Fault()), Cause: Cause{Do: func(ctx context.Context, s *Scene) error {
			switch step.Do {
			case control.HoldAnswers:
				return a.everySecond().during(ctx, s, step.For, (*netfault.Proxy).HoldReplies)
			case control.SplitVoters:
				turnAway(a.otherHalves())
				return a.network.during(ctx, s, step.For, func(*netfault.Proxy) {})
			}
			return fmt.Errorf("the control has a step that nobody knows: %v", step.Do)
		}}})
	}
	return script
}

// everySecond are the ways of every second process.
func (a *nodesControl) everySecond() Network {
	var some Network
	for process, way := range a.network {
		if process%2 == 1 {
			some = append(some, way)
		}
	}
	return some
}

// otherHalves are, for one half of the processes, the ways to the second half of the servers, and for the others those to the first.
func (a *nodesControl) otherHalves() Network {
	half := len(a.nodes) / 2
	var some Network
	for process, way := range a.network {
		if process < len(a.network)/2 {
			some = append(some, way[half:])
		} else {
			some = append(some, way[:half])
		}
	}
	return some
}
