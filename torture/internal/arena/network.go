package arena

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
)

// A Way is what one process can reach: a proxy to each server that it has to do with.
type Way []*netfault.Proxy

// Addr is where the process finds the first of them.
func (w Way) Addr() string { return w[0].Addr() }

// A Network has a way for each process.
type Network []Way

// NewNetwork makes as many ways to servers.
func NewNetwork(ways int, targets ...string) (Network, error) {
	n := make(Network, ways)
	for i := range n {
		for _, target := range targets {
			p, err := netfault.New(target)
			if err != nil {
				return nil, errors.Join(err, n.Close())
			}
			n[i] = append(n[i], p)
		}
	}
	return n, nil
}

// each does something to all proxies.
func (n Network) each(do func(*netfault.Proxy)) {
	for _, way := range n {
		for _, p := range way {
			do(p)
		}
	}
}

// Close ends all ways.
func (n Network) Close() error {
	var all []error
	n.each(func(p *netfault.Proxy) { all = append(all, p.Close()) })
	return errors.Join(all...)
}

// some returns all ways, or one of them.
func (n Network) some(s *Scene) Network {
	if one := s.Random.IntN(len(n)); s.Random.IntN(2) == 0 {
		return n[one : one+1]
	}
	return n
}

// during does something to ways, lets it last, and mends them.
func (n Network) during(ctx context.Context, s *Scene, length time.Duration, do func(*netfault.Proxy)) error {
	n.each(do)
	err := s.Pass(ctx, length)
	n.each((*netfault.Proxy).Heal)
	return err
}

// Causes are what can be done to any network.
func (n Network) Causes() map[driver.Fault]Cause {
	lasting := func(least, most float64, which func(*Scene) Network, do func(*Scene, *netfault.Proxy)) Cause {
		return Cause{Do: func(ctx context.Context, s *Scene) error {
			length := s.Between(least, most)
			return which(s).during(ctx, s, length, func(p *netfault.Proxy) { do(s, p) })
		}}
	}
	all := func(*Scene) Network { return n }
	apart := func(_ *Scene, p *netfault.Proxy) {
		p.Blackhole(netfault.Both)
		p.Refuse()
	}
	return map[driver.Fault]Cause{
		driver.Cut: lasting(0, 0, n.some, func(_ *Scene, p *netfault.Proxy) { p.Cut() }),
		driver.ResetInReply: lasting(0.3, 0.6, n.some, func(s *Scene, p *netfault.Proxy) {
			p.ResetAfter(netfault.Replies, s.Random.IntN(300))
		}),
		driver.Partition: lasting(0.3, 2.5, all, apart),
		driver.PartitionWorker: lasting(0.3, 2.5, func(s *Scene) Network {
			one := s.Random.IntN(len(n))
			return n[one : one+1]
		}, apart),
		driver.LoseRequests: lasting(0.3, 2, n.some, func(_ *Scene, p *netfault.Proxy) { p.Blackhole(netfault.Requests) }),
		driver.LoseReplies:  lasting(0.3, 2, n.some, func(_ *Scene, p *netfault.Proxy) { p.Blackhole(netfault.Replies) }),
		driver.HalfOpen: lasting(0.3, 2, n.some, func(_ *Scene, p *netfault.Proxy) {
			p.Blackhole(netfault.Replies)
			p.HalfClose(netfault.Requests)
		}),
		driver.Delay: lasting(1, 2, n.some, func(s *Scene, p *netfault.Proxy) {
			p.Delay(netfault.Both, s.Between(0, 0.05), s.Between(0.05, 0.2), s.Random.Uint64())
		}),
		driver.LateReply:   lasting(1.05, 2, n.some, func(_ *Scene, p *netfault.Proxy) { p.HoldReplies() }),
		driver.LateRequest: {Do: n.lateRequest},
	}
}

// lateRequest keeps requests back, breaks their connections, and lets them arrive when their senders have undone them long ago.
func (n Network) lateRequest(ctx context.Context, s *Scene) error {
	length, ways := s.Between(0.2, 2), n.some(s)
	ways.each((*netfault.Proxy).HoldRequests)
	err := s.Pass(ctx, s.Between(0.05, 0.2))
	ways.each((*netfault.Proxy).Strand) // the clients connect anew, and what they send then arrives before
	return errors.Join(err, ways.during(ctx, s, length, func(*netfault.Proxy) {}))
}
