package arena

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// nodes is how many Redis servers a fleet has. With three, min-replicas-to-write of 1 leaves no second half that could be written to.
const nodes = 3

// A fleet is Redis servers of which one is the primary. Nothing is on disk: one that is killed returns empty.
//
// Before each server stands its edge, a proxy for what other servers and Sentinels want from it: the server announces the edge's
// address, its replicas follow it there, and Sentinels watch it there. So a server can be cut off from all others while clients,
// whose ways do not lead over the edge, still reach it.
type fleet struct {
	nodes   []*servers.Redis
	edges   []*netfault.Proxy
	version string

	lead atomic.Int32 // the primary, as far as is known

	mu      sync.Mutex
	stepped []time.Duration // by which clocks are wrong
}

func startFleet(ctx context.Context, o Options) (*fleet, error) {
	f := &fleet{stepped: make([]time.Duration, nodes)}
	settings := []servers.RedisOption{
		servers.RedisSet("min-replicas-to-write", "1"),
		servers.RedisSet("min-replicas-max-lag", "1"),
		servers.RedisSet("repl-timeout", "3"),
		servers.RedisSet("repl-ping-replica-period", "1"),
	}
	if slices.Contains(o.Faults, driver.ClockBack) || slices.Contains(o.Faults, driver.ClockForward) {
		settings = append(settings, servers.RedisClock()) // it makes servers slower, so not always
	}
	for range nodes {
		if err := f.start(ctx, settings); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	info, err := f.nodes[0].Info(ctx, "server")
	if err == nil {
		f.version = "redis " + info["redis_version"]
		err = f.joined(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// start starts one more: the first is the primary.
func (f *fleet) start(ctx context.Context, settings []servers.RedisOption) error {
	edge, err := netfault.New("127.0.0.1:1") // nobody
	if err != nil {
		return err
	}
	f.edges = append(f.edges, edge)
	settings = append(slices.Clone(settings), servers.RedisAnnounce(edge.Addr()))
	if len(f.nodes) > 0 {
		settings = append(settings, servers.RedisReplicaOf(f.nodes[0]), servers.RedisFollows(f.edges[0].Addr()))
	}
	node, err := servers.StartRedis(ctx, settings...)
	if err != nil {
		return err
	}
	f.nodes = append(f.nodes, node)
	return edge.Retarget(node.Addr())
}

// Close ends all servers.
func (f *fleet) Close() error {
	var all []error
	for _, edge := range f.edges {
		all = append(all, edge.Close())
	}
	for _, node := range f.nodes {
		all = append(all, node.Close())
	}
	return errors.Join(all...)
}

func (f *fleet) primary() *servers.Redis { return f.nodes[f.lead.Load()] }

// others are all but one, or some.
func (f *fleet) others(than ...int) []int {
	var all []int
	for i := range f.nodes {
		if !slices.Contains(than, i) {
			all = append(all, i)
		}
	}
	return all
}

// at is the node whose edge has an address.
func (f *fleet) at(addr string) (int, error) {
	i := slices.IndexFunc(f.edges, func(edge *netfault.Proxy) bool { return edge.Addr() == addr })
	if i < 0 {
		return 0, fmt.Errorf("%s is the address of none of the servers", addr)
	}
	return i, nil
}

// joined waits until the lead is a primary and all others follow it, and have what it has.
func (f *fleet) joined(ctx context.Context) error {
	return eventually(ctx, func(ctx context.Context) error {
		lead := int(f.lead.Load())
		for i := range f.nodes {
			if err := f.follows(ctx, i, lead); err != nil {
				return fmt.Errorf("server %d of the lead %d: %w", i, lead, err)
			}
		}
		return nil
	})
}

// follows: one is what it must be under the lead.
func (f *fleet) follows(ctx context.Context, node, lead int) error {
	info, err := f.nodes[node].Info(ctx, "replication")
	if err != nil {
		return err
	}
	if node == lead {
		if info["role"] != "master" || info["connected_slaves"] != fmt.Sprint(nodes-1) {
			return fmt.Errorf("it is a %s with %s replicas", info["role"], info["connected_slaves"])
		}
		return nil
	}
	of := net.JoinHostPort(info["master_host"], info["master_port"])
	if info["role"] != "slave" || of != f.edges[lead].Addr() || info["master_link_status"] != "up" {
		return fmt.Errorf("it is a %s of %s, link %s; want one of %s", info["role"], of, info["master_link_status"], f.edges[lead].Addr())
	}
	return nil
}

// eventually asks until the answer is nil, or ctx ends: then it is the last answer.
func eventually(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// unlink ends the links of a node's replicas, and lets no new one come about, until the edge is healed. Who watches it by a connection
// that is open notices nothing.
func (f *fleet) unlink(ctx context.Context, node int) error {
	f.edges[node].Refuse()
	_, err := f.nodes[node].Do(ctx, "CLIENT", "KILL", "TYPE", "replica")
	return err
}

// isolate cuts a node off from all servers and Sentinels, until the edge is healed. It follows nobody; who follows it hears nothing.
func (f *fleet) isolate(node int) {
	f.edges[node].Blackhole(netfault.Both)
	f.edges[node].Refuse()
}

// Pulse asks the primary something.
func (f *fleet) Pulse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // it may stand still, or be cut off
	defer cancel()
	_, err := f.primary().Do(ctx, "PING")
	return err
}

// Logs is the end of each server's log.
func (f *fleet) Logs() string {
	var text strings.Builder
	for i, node := range f.nodes {
		fmt.Fprintf(&text, "server %d, %s, edge %s:\n%s\n", i, node.Addr(), f.edges[i].Addr(), node.Log())
	}
	return text.String()
}

// Versions is that of the servers.
func (f *fleet) Versions() []string { return []string{f.version} }

// step moves the clock of a node.
func (f *fleet) step(node int, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stepped[node] += d
	return f.nodes[node].StepClock(d)
}

// Settle sets clocks right that were set back: what ends by them would otherwise stay for as long.
func (f *fleet) Settle(context.Context) error {
	var all []error
	for node := range f.nodes {
		if f.stepped[node] < 0 {
			all = append(all, f.step(node, -f.stepped[node]))
		}
	}
	return errors.Join(all...)
}

// Left names keys of the primary.
func (f *fleet) Left(ctx context.Context) ([]string, error) { return leftIn(ctx, f.primary()) }
