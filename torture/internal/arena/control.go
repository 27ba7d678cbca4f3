package arena

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/torture/internal/control"
	"holdfast.dev/torture/internal/history"
)

// Control is the arena of a lock that is broken on purpose, or of its twin: a Redis server that keeps nothing, or several, a way to each of
// them for each process, and the faults of the control, at their times.
func Control(c control.Control, broken bool) Kind {
	return Kind{Name: c.Name, Assumptions: func() []driver.Assumption { return nil }, Needs: map[string]string{"redis-server": "redis-server"},
		Votes: c.Nodes > 1,
		Start: func(ctx context.Context, o Options) (Arena, error) {
			switch {
			case c.Replicas:
				a, err := newReplicas(ctx, o)
				if err != nil {
					return nil, err
				}
				return &replicasControl{replicasArena: a, control: c, broken: broken}, nil
			case c.Own:
				a, err := startRedlock(ctx, c.Nodes, o)
				if err != nil {
					return nil, err
				}
				return &redlockControl{redlockArena: a, control: c, broken: broken}, nil
			case c.Nodes > 1:
				v, err := startVoters(ctx, c.Nodes, o.Processes)
				if err != nil {
					return nil, err
				}
				return &nodesControl{voters: v, control: c, broken: broken}, nil
			}
			return startControl(ctx, o, c, broken)
		}}
}

func startControl(ctx context.Context, o Options, c control.Control, broken bool) (Arena, error) {
	server, err := servers.StartRedis(ctx)
	if err != nil {
		return nil, err
	}
	network, err := NewNetwork(o.Processes, server.Addr())
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &controlArena{control: c, broken: broken, server: server, network: network}, nil
}

type controlArena struct {
	control control.Control
	broken  bool
	server  *servers.Redis
	network Network
}

func (a *controlArena) Store(process int) string {
	return a.control.Store(control.Options{Addr: a.network[process].Addr(), Broken: a.broken, Process: process})
}

func (a *controlArena) Causes() map[driver.Fault]Cause { return nil }
func (a *controlArena) Settle(context.Context) error   { return nil }
func (a *controlArena) Versions() []string             { return nil }
func (a *controlArena) Close() error                   { return errors.Join(a.network.Close(), a.server.Close()) }

// Left is what is left of locks; what says where tokens go on from is meant to stay.
func (a *controlArena) Left(ctx context.Context) ([]string, error) {
	return control.Left(ctx, a.server.Addr())
}

// Script is the control's steps.
func (a *controlArena) Script() []Step {
	var script []Step
	for _, step := range a.control.Steps {
		cause := Cause{Do: func(ctx context.Context, s *Scene) error { return a.do(ctx, s, step) }}
		if step.Do == control.ForgetServer {
			cause.Heals = a.control.Heals
		}
		script = append(script, Step{After: step.At, Name: string(step.Do.Fault()), Cause: cause})
	}
	return script
}

func (a *controlArena) do(ctx context.Context, s *Scene, step control.Step) error {
	switch step.Do {
	case control.StopInside:
		goOn, err := s.Workers.StopInside(ctx)
		if err != nil {
			return err
		}
		defer goOn()
		return s.Pass(ctx, step.For)
	case control.StopWritingUntilRead, control.StopWritingUntilWritten:
		until := history.Read
		if step.Do == control.StopWritingUntilWritten {
			until = history.Write
		}
		ctx, cancel := context.WithTimeout(ctx, step.For)
		defer cancel()
		return s.Workers.StopWriting(ctx, until)
	case control.KillInside:
		return s.Workers.Inside(ctx, s.Workers.Retire)
	case control.KillAcquired:
		s.Workers.Tell(s.Process(), "arm")
		return s.Pass(ctx, step.For)
	case control.HoldInside:
		return a.holdInside(ctx, s, step.For)
	case control.LoseReplies:
		return a.network.during(ctx, s, step.For, func(p *netfault.Proxy) { p.Blackhole(netfault.Replies) })
	case control.ForgetServer:
		a.server.Kill()
		return a.server.Restart(ctx)
	}
	return errors.New("the control has a step that nobody knows")
}

// holdInside keeps back what one process sends from the moment on at which it is inside.
func (a *controlArena) holdInside(ctx context.Context, s *Scene, length time.Duration) error {
	held := a.network[0][0]
	err := s.Workers.Inside(ctx, func(process int) {
		held = a.network[process][0]
		held.HoldRequests()
	})
	if err != nil {
		return err
	}
	err = s.Pass(ctx, length)
	held.Resume()
	return err
}
