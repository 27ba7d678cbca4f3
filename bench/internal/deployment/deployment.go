// Package deployment starts Redis as people deploy it: a server alone, a primary with replicas behind an address that moves, the same
// watched by Sentinels. And it does to them what happens to such servers.
//
// Every node has min-replicas-to-write of half the nodes, rounded down, as Holdfast asks for. What takes the primary away (Kill, Terminate,
// HandOver) returns when it is one no more; what brings another (Restart, Promote, Succeed) returns when there is one that takes writes, and
// clients are led there. They are called one after the other; the rest may be called beside them.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// Settings say what to start.
type Settings struct {
	Nodes     int                   // 1: a server alone; else the first is the primary
	Sentinels bool                  // three of them, with replicas
	Keeps     bool                  // every write is on disk before it is answered
	MaxLag    int                   // min-replicas-max-lag in seconds; 0: what Redis has by itself
	More      []servers.RedisOption // for each node
}

// sentinels is how many there are; name is what they call what they watch.
const (
	sentinels = 3
	name      = "bench"
)

// A Deployment is servers that run.
type Deployment struct {
	settings  Settings
	nodes     []*servers.Redis
	sentinels []*servers.Sentinel
	way       *netfault.Proxy // the address that moves; nil for a server alone and with Sentinels
	primary   int
	gone      int // a node that does not run; −1: all do
}

// Start starts it. The context bounds the start alone; Close ends all of it.
func Start(ctx context.Context, s Settings) (*Deployment, error) {
	d := &Deployment{settings: s, gone: -1}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Deployment) start(ctx context.Context) error {
	for i := range d.settings.Nodes {
		node, err := servers.StartRedis(ctx, d.options(i)...)
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, node)
	}
	if err := d.writable(ctx); err != nil {
		return err
	}
	switch {
	case d.settings.Sentinels:
		return d.startSentinels(ctx)
	case d.settings.Nodes > 1:
		way, err := netfault.New(d.nodes[0].Addr())
		d.way = way
		return err
	}
	return nil
}

func (d *Deployment) options(node int) []servers.RedisOption {
	all := append([]servers.RedisOption{servers.RedisSet("min-replicas-to-write", strconv.Itoa(d.needed()))}, d.settings.More...)
	if d.settings.Keeps {
		all = append(all, servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always"))
	}
	if d.settings.MaxLag > 0 {
		all = append(all, servers.RedisSet("min-replicas-max-lag", strconv.Itoa(d.settings.MaxLag)))
	}
	if node > 0 {
		all = append(all, servers.RedisReplicaOf(d.nodes[0]))
	}
	return all
}

// needed is how many replicas a primary must have to write.
func (d *Deployment) needed() int { return d.settings.Nodes / 2 }

func (d *Deployment) startSentinels(ctx context.Context) error {
	for range sentinels {
		s, err := servers.StartSentinel(ctx, name, d.nodes[0])
		if err != nil {
			return err
		}
		d.sentinels = append(d.sentinels, s)
	}
	for _, s := range d.sentinels {
		if err := s.Knows(ctx, d.settings.Nodes-1, sentinels-1); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all servers.
func (d *Deployment) Close() error {
	var all []error
	if d.way != nil {
		all = append(all, d.way.Close())
	}
	for _, s := range d.sentinels {
		all = append(all, s.Close())
	}
	for _, node := range d.nodes {
		all = append(all, node.Close())
	}
	return errors.Join(all...)
}

// Primary is the primary, as far as is known here.
func (d *Deployment) Primary() *servers.Redis { return d.nodes[d.primary] }

// URL is how Holdfast finds the locks, wherever the primary will be; query is the end of it.
func (d *Deployment) URL(query string) string {
	switch {
	case d.sentinels != nil:
		var all []string
		for _, s := range d.sentinels {
			all = append(all, s.Addr())
		}
		return fmt.Sprintf("redis+sentinel://%s/%s?%s", strings.Join(all, ","), name, query)
	case d.way != nil:
		return "redis://" + d.way.Addr() + "?" + query
	}
	return "redis://" + d.nodes[0].Addr() + "?" + query
}

// Replicated waits until the replicas have all that was written before.
func (d *Deployment) Replicated(ctx context.Context) error {
	for i, node := range d.nodes {
		if i == d.primary || i == d.gone {
			continue
		}
		if err := d.caughtUp(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

func (d *Deployment) caughtUp(ctx context.Context, replica *servers.Redis) error {
	info, err := d.Primary().Info(ctx, "replication")
	if err != nil {
		return err
	}
	written, err := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	if err != nil {
		return err
	}
	return until(ctx, func() error {
		info, err := replica.Info(ctx, "replication")
		if err != nil {
			return err
		}
		if has, err := strconv.ParseInt(info["slave_repl_offset"], 10, 64); err != nil || has < written {
			return fmt.Errorf("the replica %s has %q of %d bytes", replica.Addr(), info["slave_repl_offset"], written)
		}
		return nil
	})
}

// writable waits until the primary has heard from enough replicas: it refuses to write before.
func (d *Deployment) writable(ctx context.Context) error {
	return until(ctx, func() error {
		info, err := d.Primary().Info(ctx, "replication")
		if err != nil {
			return err
		}
		if good, _ := strconv.Atoi(info["min_slaves_good_slaves"]); good < d.needed() || info["role"] != "master" {
			return fmt.Errorf("%s is a %s with %d replicas of %d", d.Primary().Addr(), info["role"], good, d.needed())
		}
		return nil
	})
}

// until tries again, after a few milliseconds each, until f has no complaint; when ctx ends the last one is the error.
func until(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
