// Package fleet starts independent Redis servers, the nodes of locks that are kept in a majority of them. Each can be reached directly, and from
// far away: through a proxy that makes a round trip longer. All of that is on the way back: two waits of half as long each would take much more
// than one, because timers below a millisecond are late.
//
// Locks on fewer nodes are kept on the first of the same servers.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// A Fleet is servers that run.
type Fleet struct {
	nodes  []*servers.Redis
	ways   []*netfault.Proxy // the long way to each node
	probes map[int]*measure.Probe
	since  time.Time
}

// Start starts so many nodes, with these options. far is how much longer a round trip is that goes the long way. The context bounds the start alone; Close
// ends all of it.
func Start(ctx context.Context, nodes int, far time.Duration, options ...servers.RedisOption) (*Fleet, error) {
	f := &Fleet{probes: make(map[int]*measure.Probe)}
	if err := f.start(ctx, nodes, far, options); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.since = time.Now()
	return f, nil
}

func (f *Fleet) start(ctx context.Context, nodes int, far time.Duration, options []servers.RedisOption) error {
	options = append(options, servers.RedisSet("maxclients", "4000"))
	for range nodes {
		node, err := servers.StartRedis(ctx, options...)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, node)
		way, err := netfault.New(node.Addr())
		if err != nil {
			return err
		}
		way.Delay(netfault.Replies, far, 0, 1)
		f.ways = append(f.ways, way)
	}
	return nil
}

// Addr is where the first n nodes are, with commas between them.
func (f *Fleet) Addr(n int, far bool) string {
	var all []string
	for i := range n {
		if far {
			all = append(all, f.ways[i].Addr())
		} else {
			all = append(all, f.nodes[i].Addr())
		}
	}
	return strings.Join(all, ",")
}

// Probe asks the first n nodes about themselves, directly. It lives as long as the fleet.
func (f *Fleet) Probe(n int) (*measure.Probe, error) {
	if p := f.probes[n]; p != nil {
		return p, nil
	}
	p, err := measure.NewProbe(strings.Split(f.Addr(n, false), ",")...)
	if err == nil {
		f.probes[n] = p
	}
	return p, err
}

// Aged waits until the nodes have been up for as long: from then on a node that never replicated cannot have forgotten a hold that still counts, if
// the guard is no longer than that. Redis counts whole seconds, and the guard takes one off.
func (f *Fleet) Aged(ctx context.Context, guard time.Duration) error {
	if guard <= 0 {
		return nil
	}
	timer := time.NewTimer(time.Until(f.since.Add(guard + 2*time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop lets a node stand still. mend lets it go on, and returns when it answers.
func (f *Fleet) Stop(ctx context.Context, number int) (mend func() error, err error) {
	node := f.nodes[number]
	if err := node.Stop(); err != nil {
		return nil, fmt.Errorf("node %d: %w", number+1, err)
	}
	return func() error {
		if err := node.Continue(); err != nil {
			return err
		}
		return node.Ready(context.WithoutCancel(ctx))
	}, nil
}

// Close ends all servers.
func (f *Fleet) Close() error {
	var errs []error
	for _, p := range f.probes {
		p.Close()
	}
	for _, way := range f.ways {
		errs = append(errs, way.Close())
	}
	for _, node := range f.nodes {
		errs = append(errs, node.Close())
	}
	return errors.Join(errs...)
}
