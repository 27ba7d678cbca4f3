package arena

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/redlock"
)

// redlockOf is redlock:// on so many servers. A process has a way of its own to each of them, and tells by their names which is which, so that
// all have the same list.
func redlockOf(nodes int) Kind {
	return Kind{Name: fmt.Sprintf("redlock-%d", nodes), Assumptions: redlock.Assumptions, Votes: true,
		Needs: map[string]string{"redis-server": "redis-server", "faketime": "faketime"},
		Start: func(ctx context.Context, o Options) (Arena, error) { return startRedlock(ctx, nodes, o) }}
}

type redlockArena struct {
	*voters
	options Options
}

func startRedlock(ctx context.Context, nodes int, o Options) (*redlockArena, error) {
	var settings []servers.RedisOption
	if slices.Contains(o.Faults, driver.ClockBack) || slices.Contains(o.Faults, driver.ClockForward) {
		settings = append(settings, servers.RedisClock()) // it makes servers slower, so not always
	}
	v, err := startVoters(ctx, nodes, o.Processes, settings...)
	if err != nil {
		return nil, err
	}
	return &redlockArena{voters: v, options: o}, nil
}

// guard must not be shorter than a TTL.
func (a *redlockArena) guard() time.Duration { return a.options.TTL * 3 / 2 }

// url is what a process opens. A node has as long to answer as it has with a TTL of ten seconds, the default: with a two hundredth of these
// short ones a machine that has much to do would seem to have lost its nodes.
func (a *redlockArena) url(process int, guard time.Duration) string {
	query := url.Values{"guard": {guard.String()}, "node-timeout": {"150ms"}}
	for i, proxy := range a.network[process] {
		query.Add("node", fmt.Sprintf("redis://%s?name=node-%d&timeout=%v", proxy.Addr(), i, max(a.options.TTL, time.Second)))
	}
	return "redlock://?" + query.Encode()
}

func (a *redlockArena) Store(process int) string { return a.url(process, a.guard()) }

// Warm lets the guards of new servers pass.
func (a *redlockArena) Warm(ctx context.Context) error {
	return lockOnce(ctx, a.Store(0), a.options.TTL)
}

// Left names keys, of each node.
func (a *redlockArena) Left(ctx context.Context) (left []string, err error) {
	for i, node := range a.nodes {
		keys, err := leftIn(ctx, node)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			left = append(left, fmt.Sprintf("node %d: %s", i, key))
		}
	}
	return left, nil
}

func (a *redlockArena) Causes() map[driver.Fault]Cause {
	return merge(processCauses(), a.networkCauses(), a.nodeCauses(), a.dataCauses())
}

// networkCauses are those of any network, on the ways to one node, to a minority, or to all; and those that say to which.
func (a *redlockArena) networkCauses() map[driver.Fault]Cause {
	causes := make(map[driver.Fault]Cause)
	for fault := range a.network.Causes() {
		causes[fault] = Cause{Do: func(ctx context.Context, s *Scene) error {
			return a.to(a.some(s)).Causes()[fault].Do(ctx, s)
		}}
	}
	partition := func(nodes func(*Scene) []int) Cause {
		return Cause{Do: func(ctx context.Context, s *Scene) error {
			return a.to(nodes(s)).Causes()[driver.Partition].Do(ctx, s)
		}}
	}
	causes[driver.Partition] = partition(func(s *Scene) []int { return a.any(s, len(a.nodes)) })
	causes[driver.PartitionNode] = partition(func(s *Scene) []int { return a.any(s, 1) })
	causes[driver.PartitionMajority] = partition(func(s *Scene) []int { return a.any(s, a.majority()) })
	return causes
}

// nodeCauses are what happens to nodes. A node that has forgotten does not vote for a guard, and it need not be the only one then.
func (a *redlockArena) nodeCauses() map[driver.Fault]Cause {
	heals := a.guard() + time.Second
	forget := func(nodes func(*Scene) []int) Cause {
		return Cause{Heals: heals, Do: func(ctx context.Context, s *Scene) error { return a.forget(ctx, s, nodes(s), restartAfter(s)) }}
	}
	return map[driver.Fault]Cause{
		driver.ServerForget:   forget(func(s *Scene) []int { return a.any(s, 1) }),
		driver.ForgetMinority: forget(func(s *Scene) []int { return a.any(s, a.minority()) }),
		driver.ForgetMajority: forget(func(s *Scene) []int { return a.any(s, a.majority()) }),
		driver.ForgetInTurn:   {Heals: heals, Do: a.forgetInTurn},
		driver.ServerStop: {Do: func(ctx context.Context, s *Scene) error {
			length, node := s.Between(0.3, 2.5), a.nodes[a.any(s, 1)[0]]
			if err := node.Stop(); err != nil {
				return err
			}
			err := s.Pass(ctx, length)
			return errors.Join(err, node.Continue(), node.Ready(ctx))
		}},
		driver.ClockBack: {Do: func(_ context.Context, s *Scene) error {
			return a.step(a.clock(s), -time.Duration(1+s.Random.IntN(120))*time.Second)
		}},
		driver.ClockForward: {Loses: true, Do: func(_ context.Context, s *Scene) error {
			return a.step(a.clock(s), s.TTL+time.Duration(s.Random.IntN(60))*time.Second)
		}},
	}
}

// clock is the node whose clock is moved: always the same.
func (a *redlockArena) clock(s *Scene) int {
	if node, is := a.wrong(); is {
		return node
	}
	return a.any(s, 1)[0]
}

// forget kills nodes at once, and lets them start again, after a while.
func (a *redlockArena) forget(ctx context.Context, s *Scene, nodes []int, after time.Duration) error {
	a.each(nodes, func(node *servers.Redis) error { node.Kill(); return nil })
	err := s.Pass(ctx, after)
	return errors.Join(err, a.each(nodes, func(node *servers.Redis) error { return node.Restart(ctx) }))
}

// forgetInTurn: one after the other. The next begins when the guard of the last may not yet be over, or just is.
func (a *redlockArena) forgetInTurn(ctx context.Context, s *Scene) error {
	for i, node := range a.any(s, len(a.nodes)) {
		if i > 0 {
			if err := s.Pass(ctx, s.Between(0, 2)); err != nil {
				return err
			}
		}
		if err := a.forget(ctx, s, []int{node}, restartAfter(s)); err != nil {
			return err
		}
	}
	return nil
}

// dataCauses are what an administrator can do to nodes. What takes holds from them happens to one.
func (a *redlockArena) dataCauses() map[driver.Fault]Cause {
	causes := make(map[driver.Fault]Cause)
	for fault, cause := range dataCauses(func() *servers.Redis { return nil }) {
		cause.Do = func(ctx context.Context, s *Scene) error {
			nodes := a.any(s, 1)
			if !cause.Loses {
				nodes = a.some(s)
			}
			return a.each(nodes, func(node *servers.Redis) error {
				return dataCauses(func() *servers.Redis { return node })[fault].Do(ctx, s)
			})
		}
		causes[fault] = cause
	}
	return causes
}
