package arena

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// replicas is redis:// with replicas, behind one address that moves. The arena does what an administrator, or the program of a virtual
// address, would do: it promotes, lets the others follow, and moves the address.
func replicas() Kind {
	return Kind{Name: "redis-replicas", Assumptions: redislock.ReplicaAssumptions, Start: startReplicas,
		Needs: map[string]string{"redis-server": "redis-server", "faketime": "faketime"}}
}

type replicasArena struct {
	*fleet
	network Network // of one proxy for each process: its target is the address that moves
	options Options
	stayed  []Way // with an old primary
}

func startReplicas(ctx context.Context, o Options) (Arena, error) { return newReplicas(ctx, o) }

func newReplicas(ctx context.Context, o Options) (*replicasArena, error) {
	f, err := startFleet(ctx, o)
	if err != nil {
		return nil, err
	}
	network, err := NewNetwork(o.Processes, f.nodes[0].Addr())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &replicasArena{fleet: f, network: network, options: o}, nil
}

// fence is how long a new primary of these servers says nothing at all: min-replicas-max-lag and two seconds.
const fence = 3 * time.Second

// fleetGuard is a guard for TTLs of that length.
func fleetGuard(ttl time.Duration) time.Duration { return ttl + fence + 500*time.Millisecond }

// fleetQuery is the end of an URL.
func fleetQuery(ttl, guard time.Duration) string {
	return fmt.Sprintf("guard=%v&claim=%v&timeout=%v", guard, ttl/2, max(ttl, time.Second))
}

func (a *replicasArena) url(process int, guard time.Duration) string {
	return "redis://" + a.network[process].Addr() + "?" + fleetQuery(a.options.TTL, guard)
}

func (a *replicasArena) Store(process int) string { return a.url(process, fleetGuard(a.options.TTL)) }
func (a *replicasArena) Close() error             { return errors.Join(a.network.Close(), a.fleet.Close()) }

// Warm lets the first guard pass.
func (a *replicasArena) Warm(ctx context.Context) error {
	return lockOnce(ctx, a.Store(0), a.options.TTL)
}

func (a *replicasArena) failovers() failovers {
	return failovers{fleet: a.fleet, guide: a, heals: fleetGuard(a.options.TTL) + time.Second}
}

func (a *replicasArena) Causes() map[driver.Fault]Cause {
	return merge(processCauses(), a.network.Causes(), dataCauses(a.primary), a.failovers().causes())
}

// move sends clients to a node. Connections that they have end.
func (a *replicasArena) move(ways []Way, to int) error {
	var all []error
	Network(ways).each(func(p *netfault.Proxy) {
		all = append(all, p.Retarget(a.nodes[to].Addr()))
		p.Cut()
	})
	return errors.Join(all...)
}

// succeed promotes the one of the others that has more of the old one's data.
func (a *replicasArena) succeed(ctx context.Context, s *Scene, old int, stay bool) (next int, err error) {
	next, err = a.best(ctx, old)
	if err != nil {
		return 0, err
	}
	if err := a.nodes[next].Promote(ctx); err != nil {
		return 0, err
	}
	a.lead.Store(int32(next))
	for _, other := range a.others(old, next) {
		if err := unlessGone(a.nodes[other].Follow(ctx, a.edges[next].Addr())); err != nil {
			return 0, err
		}
	}
	move := []Way(a.network)
	if stay {
		half := len(move) / 2
		a.stayed, move = append(a.stayed, move[:half]...), move[half:]
	}
	return next, a.move(move, next)
}

// best is the replica that has come furthest, of those that run.
func (a *replicasArena) best(ctx context.Context, old int) (best int, err error) {
	best, furthest := -1, int64(-1)
	for _, node := range a.others(old) {
		offset, failed := a.offset(ctx, node)
		if err = errors.Join(err, failed); failed == nil && offset > furthest {
			best, furthest = node, offset
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("nobody is left who could be the primary: %w", err)
	}
	return best, nil
}

// demote lets an old primary follow the new one; those of its clients who had stayed leave it before or after that.
func (a *replicasArena) demote(ctx context.Context, old int) error {
	err := a.nodes[old].Follow(ctx, a.edges[a.lead.Load()].Addr())
	err = errors.Join(err, a.move(a.stayed, int(a.lead.Load())))
	a.stayed = nil
	return err
}

// handOver is FAILOVER.
func (a *replicasArena) handOver(ctx context.Context, from, to int) error {
	err := eventually(ctx, func(ctx context.Context) error { // it refuses for as long as another is under way
		soon, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return a.nodes[from].FailoverTo(soon, a.edges[to].Addr())
	})
	if err != nil {
		return err
	}
	a.lead.Store(int32(to))
	for _, other := range a.others(from, to) {
		err = errors.Join(err, a.nodes[other].Follow(ctx, a.edges[to].Addr()))
	}
	return errors.Join(err, a.move(a.network, to))
}

func (a *replicasArena) whole(ctx context.Context) error { return a.joined(ctx) }

// primaryLine of redis.conf makes a server a primary whatever else stands there.
const primaryLine = "replicaof no one"

// replicaOf is the line for a replica of a node.
func (f *fleet) replicaOf(node int) string {
	host, port, _ := net.SplitHostPort(f.edges[node].Addr())
	return strings.Join([]string{"replicaof", host, port}, " ")
}

// offset is how much of the data a replica has.
func (f *fleet) offset(ctx context.Context, node int) (offset int64, err error) {
	info, err := f.nodes[node].Info(ctx, "replication")
	if err == nil {
		_, err = fmt.Sscan(info["slave_repl_offset"], &offset)
	}
	return offset, err
}

// unlessRefused is nil if the server has answered, whatever it has.
func unlessRefused(err error) error {
	if refused := servers.RedisError(""); errors.As(err, &refused) {
		return nil
	}
	return err
}

// unlessGone is nil if there is no server that could have been told.
func unlessGone(err error) error {
	if gone := new(net.OpError); errors.As(err, &gone) {
		return nil
	}
	return err
}
