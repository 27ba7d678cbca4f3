package arena

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// voters are Redis servers that know nothing of each other, each with a way of every process to it. Nothing is on disk: one that is
// killed returns empty.
type voters struct {
	nodes   []*servers.Redis
	network Network // of each process to each node
	version string

	mu      sync.Mutex
	stepped []time.Duration // by which clocks are wrong
}

func startVoters(ctx context.Context, nodes, processes int, settings ...servers.RedisOption) (*voters, error) {
	v := &voters{stepped: make([]time.Duration, nodes)}
	var targets []string
	for range nodes {
		node, err := servers.StartRedis(ctx, settings...)
		if err != nil {
			return nil, errors.Join(err, v.Close())
		}
		v.nodes = append(v.nodes, node)
		targets = append(targets, node.Addr())
	}
	info, err := v.nodes[0].Info(ctx, "server")
	if err == nil {
		v.version = "redis " + info["redis_version"]
		v.network, err = NewNetwork(processes, targets...)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Close ends all ways and servers.
func (v *voters) Close() error {
	all := []error{v.network.Close()}
	for _, node := range v.nodes {
		all = append(all, node.Close())
	}
	return errors.Join(all...)
}

// Versions is that of the servers.
func (v *voters) Versions() []string { return []string{v.version} }

// Logs is the end of each server's log.
func (v *voters) Logs() string {
	var text strings.Builder
	for i, node := range v.nodes {
		fmt.Fprintf(&text, "node %d, %s:\n%s\n", i, node.Addr(), node.Log())
	}
	return text.String()
}

// majority is how many nodes must agree; so many can be missing: minority.
func (v *voters) majority() int { return len(v.nodes)/2 + 1 }
func (v *voters) minority() int { return len(v.nodes) - v.majority() }

// Pulse asks all, and returns when a majority has answered: then locks can be had.
func (v *voters) Pulse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // some may stand still
	defer cancel()
	answers := make(chan error, len(v.nodes))
	for _, node := range v.nodes {
		go func() {
			_, err := node.Do(ctx, "PING")
			answers <- err
		}()
	}
	var failed []error
	for answered := 0; answered < v.majority(); {
		if err := <-answers; err == nil {
			answered++
		} else if failed = append(failed, err); len(failed) > v.minority() {
			return errors.Join(failed...)
		}
	}
	return nil
}

// from are so many nodes, one beside the other, from one on.
func (v *voters) from(first, count int) []int {
	var chosen []int
	for i := range count {
		chosen = append(chosen, (first+i)%len(v.nodes))
	}
	return chosen
}

// any are so many nodes, by chance.
func (v *voters) any(s *Scene, count int) []int { return v.from(s.Random.IntN(len(v.nodes)), count) }

// some are one node, as many as a majority can do without, or all.
func (v *voters) some(s *Scene) []int {
	switch s.Random.IntN(3) {
	case 0:
		return v.any(s, 1)
	case 1:
		return v.any(s, v.minority())
	}
	return v.any(s, len(v.nodes))
}

// each does something to nodes at the same time.
func (v *voters) each(nodes []int, do func(*servers.Redis) error) error {
	failures := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { failures[i] = do(v.nodes[node]) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// to is the part of the network that leads to nodes.
func (v *voters) to(nodes []int) Network {
	part := make(Network, len(v.network))
	for process, way := range v.network {
		for _, node := range nodes {
			part[process] = append(part[process], way[node])
		}
	}
	return part
}

// turnAway lets nobody reach nodes any more, and everybody knows it at once, until the ways are healed.
func turnAway(n Network) {
	n.each(func(p *netfault.Proxy) {
		p.Refuse()
		p.Cut()
	})
}

// step moves the clock of a node.
func (v *voters) step(node int, d time.Duration) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stepped[node] += d
	return v.nodes[node].StepClock(d)
}

// wrong is the node whose clock was moved before, if one was: no more than one of them ever is.
func (v *voters) wrong() (node int, is bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for node, by := range v.stepped {
		if by != 0 {
			return node, true
		}
	}
	return 0, false
}

// Settle sets clocks right that were set back: what ends by them would otherwise stay for as long.
func (v *voters) Settle(context.Context) error {
	node, is := v.wrong()
	if !is || v.stepped[node] > 0 {
		return nil
	}
	return v.step(node, -v.stepped[node])
}
