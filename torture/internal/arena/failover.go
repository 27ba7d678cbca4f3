package arena

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
)

// A fleet's guide is who moves the roles, and the clients to where they have moved: Sentinels, or the arena.
type guide interface {
	// succeed returns when another node has become the primary after one that is dead or cut off. stay: if clients can be kept with the
	// old one, half of them are.
	succeed(ctx context.Context, s *Scene, old int, stay bool) (next int, err error)

	// demote makes an old primary, which runs and can be reached, follow the lead, and sends the clients who had stayed to that one.
	demote(ctx context.Context, old int) error

	// handOver exchanges the roles of two nodes that are both well.
	handOver(ctx context.Context, from, to int) error

	// whole waits until all nodes work together again.
	whole(ctx context.Context) error
}

// failovers are what can be done to a fleet under a guide. heals is how long it may then take until somebody is served.
type failovers struct {
	*fleet
	guide
	heals time.Duration
}

// causes of everything that moves roles, or might. If all data is deleted, so is what says whose reign this is: a server that has
// replicas then begins a new one, in which nobody is told anything at first, and nobody can be served before every hold is over.
func (f failovers) causes() map[driver.Fault]Cause {
	data := dataCauses(f.primary)
	all := map[driver.Fault]Cause{
		driver.Flush:          {Do: data[driver.Flush].Do},
		driver.Evict:          {Do: data[driver.Evict].Do},
		driver.Failover:       {Do: f.failover},
		driver.FailoverCut:    {Do: f.failoverCut},
		driver.FailoverTwice:  {Do: f.failoverTwice},
		driver.FailoverByHand: {Do: f.failoverByHand},
		driver.OldReturns:     {Do: f.oldReturns},
		driver.OldIsolated:    {Do: f.oldIsolated},
		driver.OldAgain:       {Do: f.oldAgain},
		driver.ReplicasCut:    {Do: f.replicasCut},
		driver.ReplicaStop:    {Do: f.replicaStop},
		driver.ServerForget:   {Do: f.serverForget},
		driver.ServerStop:     {Do: f.serverStop},
		driver.ClockBack: {Do: func(_ context.Context, s *Scene) error {
			return f.step(s.Random.IntN(nodes), -time.Duration(1+s.Random.IntN(120))*time.Second)
		}},
		driver.ClockForward: {Loses: true, Do: func(_ context.Context, s *Scene) error {
			return f.step(int(f.lead.Load()), s.TTL+time.Duration(s.Random.IntN(60))*time.Second)
		}},
	}
	for fault, cause := range all {
		if fault != driver.ReplicasCut && fault != driver.ReplicaStop { // the primary stays the same, and so does what it knows
			cause.Heals = f.heals
			all[fault] = cause
		}
	}
	return all
}

// prepared returns the lead of a fleet that is whole.
func (f failovers) prepared(ctx context.Context) (lead int, err error) {
	err = f.whole(ctx)
	return int(f.lead.Load()), err
}

// back starts nodes again, empty, as replicas of the lead, and waits until all is well.
func (f failovers) back(ctx context.Context, dead ...int) error {
	for _, node := range dead {
		f.edges[node].Heal()
		if err := f.nodes[node].RestartAs(ctx, f.replicaOf(int(f.lead.Load()))); err != nil {
			return err
		}
	}
	return f.whole(ctx)
}

func (f failovers) failover(ctx context.Context, s *Scene) error {
	old, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	f.nodes[old].Kill()
	return f.fallen(ctx, s, old)
}

// fallen is what follows a primary's end. Half of the times the next one loses its functions.
func (f failovers) fallen(ctx context.Context, s *Scene, old int) error {
	next, err := f.succeed(ctx, s, old, false)
	if err == nil && s.Random.IntN(2) == 0 {
		_, err = f.nodes[next].Do(ctx, "FUNCTION", "FLUSH") // it has no replica yet, perhaps, and refuses
		err = unlessRefused(err)
	}
	if err == nil {
		err = s.Pass(ctx, s.Between(0, 1))
	}
	return errors.Join(err, f.back(ctx, old))
}

func (f failovers) failoverCut(ctx context.Context, s *Scene) error {
	old, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	length := time.Duration(0.1e9 + 0.8e9*s.Random.Float64()) // it can be written to for a second
	f.isolate(old)
	err = s.Pass(ctx, length)
	f.nodes[old].Kill()
	return errors.Join(err, f.fallen(ctx, s, old))
}

func (f failovers) failoverTwice(ctx context.Context, s *Scene) error {
	first, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	length := s.Between(0, 1)
	f.nodes[first].Kill()
	second, err := f.succeed(ctx, s, first, false)
	if err != nil {
		return errors.Join(err, f.back(ctx, first))
	}
	err = s.Pass(ctx, length)
	f.nodes[second].Kill()
	if _, failed := f.succeed(ctx, s, second, false); failed != nil {
		return errors.Join(err, failed, f.back(ctx, first, second))
	}
	return errors.Join(err, s.Pass(ctx, length), f.back(ctx, first, second))
}

func (f failovers) failoverByHand(ctx context.Context, s *Scene) error {
	lead, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	others := f.others(lead)
	return errors.Join(f.handOver(ctx, lead, others[s.Random.IntN(len(others))]), f.whole(ctx))
}

// oldReturns: the old primary comes back without having heard of its successor.
func (f failovers) oldReturns(ctx context.Context, s *Scene) error {
	old, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	length := s.Between(0.2, 2)
	f.nodes[old].Kill()
	_, err = f.succeed(ctx, s, old, true)
	err = errors.Join(err, f.nodes[old].RestartAs(ctx, primaryLine))
	if err == nil {
		err = s.Pass(ctx, length)
	}
	return errors.Join(err, f.demote(ctx, old), f.whole(ctx))
}

// oldIsolated: nobody but clients reaches the old primary, for a while that begins before it has a successor and ends long after.
func (f failovers) oldIsolated(ctx context.Context, s *Scene) error {
	old, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	length := s.Between(0.2, 2)
	f.isolate(old)
	if _, err = f.succeed(ctx, s, old, true); err == nil {
		err = s.Pass(ctx, length)
	}
	f.edges[old].Heal()
	return errors.Join(err, f.demote(ctx, old), f.whole(ctx))
}

// oldAgain: a primary becomes a replica, and soon a primary once more, and is the same process all the time.
func (f failovers) oldAgain(ctx context.Context, s *Scene) error {
	lead, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	others := f.others(lead)
	other := others[s.Random.IntN(len(others))]
	length := s.Between(0, 1)
	if err = f.handOver(ctx, lead, other); err == nil {
		err = errors.Join(s.Pass(ctx, length), f.whole(ctx))
	}
	if err == nil {
		err = f.handOver(ctx, other, lead)
	}
	return errors.Join(err, f.whole(ctx))
}

// replicasCut: the primary hears nothing from its replicas, for so short that nobody looks for another one, and then it has none for a while.
func (f failovers) replicasCut(ctx context.Context, s *Scene) error {
	lead, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	silent, length := time.Duration(0.1e9+0.4e9*s.Random.Float64()), s.Between(0.3, 2.5)
	f.isolate(lead)
	err = s.Pass(ctx, silent)
	f.edges[lead].Heal()
	if err == nil {
		err = errors.Join(f.unlink(ctx, lead), s.Pass(ctx, length))
	}
	f.edges[lead].Heal()
	return errors.Join(err, f.whole(ctx))
}

// serverForget: the primary starts again, empty, before anybody takes its place, if that takes a while. Its replicas become empty too.
func (f failovers) serverForget(ctx context.Context, s *Scene) error {
	lead, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	length := s.Between(0, 0.2)
	f.nodes[lead].Kill()
	return errors.Join(s.Pass(ctx, length), f.nodes[lead].RestartAs(ctx, primaryLine), f.whole(ctx))
}

func (f failovers) serverStop(ctx context.Context, s *Scene) error {
	lead, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f.stand(ctx, s, lead), f.whole(ctx))
}

func (f failovers) replicaStop(ctx context.Context, s *Scene) error {
	lead, err := f.prepared(ctx)
	if err != nil {
		return err
	}
	others := f.others(lead)
	return errors.Join(f.stand(ctx, s, others[s.Random.IntN(len(others))]), f.whole(ctx))
}

// stand lets a node stand still for a while.
func (f failovers) stand(ctx context.Context, s *Scene, node int) error {
	length := s.Between(0.3, 2.5)
	if err := f.nodes[node].Stop(); err != nil {
		return err
	}
	err := s.Pass(ctx, length)
	return errors.Join(err, f.nodes[node].Continue(), f.nodes[node].Ready(ctx))
}
