package arena

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// sentinel is redis+sentinel://: Sentinels move the roles, and tell clients where the primary is. A process has a way of its own to each
// server and to each Sentinel, and is told by its URL which address leads to which (nat=).
func sentinel() Kind {
	return Kind{Name: "redis-sentinel", Assumptions: redislock.ReplicaAssumptions, Start: startSentinels,
		Needs: map[string]string{"redis-server": "redis-server", "faketime": "faketime"},
		TTLs:  []time.Duration{time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second}}
}

// sentinels is how many there are; primaryName is what they call what they watch.
const (
	sentinels   = 3
	primaryName = "m"
)

// How fast Sentinels are. A primary that is silent for downAfter is replaced, on a machine that has much to do within successionTime.
const (
	downAfter      = time.Second
	successionTime = 8 * time.Second
)

type sentinelArena struct {
	*fleet
	sentinels []*servers.Sentinel
	network   Network // to the nodes, and then to the Sentinels
	options   Options
}

func startSentinels(ctx context.Context, o Options) (Arena, error) {
	f, err := startFleet(ctx, o)
	if err != nil {
		return nil, err
	}
	a := &sentinelArena{fleet: f, options: o}
	targets := make([]string, 0, nodes+sentinels)
	for _, node := range f.nodes {
		targets = append(targets, node.Addr())
	}
	for range sentinels {
		s, err := servers.StartSentinel(ctx, primaryName, f.nodes[0], servers.SentinelWatch(f.edges[0].Addr()), servers.SentinelHurry(),
			servers.SentinelDownAfter(downAfter), servers.SentinelFailoverTimeout(2*time.Second))
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		a.sentinels = append(a.sentinels, s)
		targets = append(targets, s.Addr())
	}
	if a.network, err = NewNetwork(o.Processes, targets...); err == nil {
		err = a.whole(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *sentinelArena) Close() error {
	all := []error{a.network.Close()}
	for _, s := range a.sentinels {
		all = append(all, s.Close())
	}
	return errors.Join(append(all, a.fleet.Close())...)
}

func (a *sentinelArena) Store(process int) string {
	var asked, nat []string
	for i, proxy := range a.network[process] {
		if i < nodes {
			nat = append(nat, a.edges[i].Addr()+"="+proxy.Addr())
		} else {
			asked = append(asked, proxy.Addr())
		}
	}
	return fmt.Sprintf("redis+sentinel://%s/%s?nat=%s&%s", strings.Join(asked, ","), primaryName, strings.Join(nat, ","),
		fleetQuery(a.options.TTL, fleetGuard(a.options.TTL)))
}

// Warm lets the first guard pass.
func (a *sentinelArena) Warm(ctx context.Context) error {
	return lockOnce(ctx, a.Store(0), a.options.TTL)
}

// Logs is the end of each log.
func (a *sentinelArena) Logs() string {
	var text strings.Builder
	for i, s := range a.sentinels {
		fmt.Fprintf(&text, "Sentinel %d, %s:\n%s\n", i, s.Addr(), s.Log())
	}
	return a.fleet.Logs() + text.String()
}

// Causes are those of any fleet. A machine that has more to do than it can makes Sentinels believe that the primary is down.
func (a *sentinelArena) Causes() map[driver.Fault]Cause {
	heals := fleetGuard(a.options.TTL) + successionTime
	causes := merge(processCauses(), a.network.Causes(), dataCauses(a.primary),
		failovers{fleet: a.fleet, guide: a, heals: heals}.causes())
	starve := causes[driver.Starve]
	starve.Heals = heals
	causes[driver.Starve] = starve
	return causes
}

// succeed waits until the Sentinels have chosen another.
func (a *sentinelArena) succeed(ctx context.Context, _ *Scene, old int, _ bool) (next int, err error) {
	return a.agreed(ctx, func(lead int) bool { return lead != old })
}

// demote has nothing to do: the Sentinels do it, and clients were never sent to the old one.
func (a *sentinelArena) demote(context.Context, int) error { return nil }

// agreed waits until all Sentinels name the same primary, and it is one that is wanted, and knows that it is a primary.
func (a *sentinelArena) agreed(ctx context.Context, wanted func(lead int) bool) (lead int, err error) {
	err = eventually(ctx, func(ctx context.Context) error {
		var addr string
		for i, s := range a.sentinels {
			told, err := s.Primary(ctx)
			if err != nil {
				return err
			}
			if i > 0 && told != addr {
				return fmt.Errorf("one Sentinel tells of the primary %s, another of %s", addr, told)
			}
			addr = told
		}
		if lead, err = a.at(addr); err != nil {
			return err
		}
		if !wanted(lead) {
			return fmt.Errorf("the primary is %d", lead)
		}
		role, err := a.nodes[lead].Role(ctx)
		if err == nil && role != "master" {
			err = fmt.Errorf("the primary %d is a %s", lead, role)
		}
		return err
	})
	if err == nil {
		a.lead.Store(int32(lead))
	}
	return lead, err
}

// handOver makes a Sentinel replace a primary that is well. Who is to be the next it prefers to all others.
func (a *sentinelArena) handOver(ctx context.Context, _, to int) error {
	for node, server := range a.nodes {
		priority := "100"
		if node == to {
			priority = "1"
		}
		if _, err := server.Do(ctx, "CONFIG", "SET", "replica-priority", priority); err != nil {
			return err
		}
	}
	err := eventually(ctx, func(ctx context.Context) error { return a.prefers(ctx, to) })
	if err == nil {
		err = eventually(ctx, a.sentinels[0].Failover) // it refuses for as long as another is under way
	}
	if err == nil {
		_, err = a.agreed(ctx, func(lead int) bool { return lead == to })
	}
	return err
}

// prefers: the first Sentinel has heard whom to prefer, and has forgotten whom it preferred before.
func (a *sentinelArena) prefers(ctx context.Context, to int) error {
	answer, err := a.sentinels[0].Do(ctx, "SENTINEL", "REPLICAS", primaryName)
	if err != nil {
		return err
	}
	list, _ := answer.([]any)
	for _, replica := range list {
		text := fmt.Sprint(replica)
		is := strings.Contains(text, "name "+a.edges[to].Addr()+" ")
		if is != strings.Contains(text, "slave-priority 1 ") {
			return fmt.Errorf("the Sentinel does not know yet that it is to prefer %d: %s", to, text)
		}
	}
	return nil
}

// whole: the Sentinels agree, all follow whom they name, and could do so again.
func (a *sentinelArena) whole(ctx context.Context) error {
	return eventually(ctx, func(ctx context.Context) error {
		lead, err := a.agreed(ctx, func(int) bool { return true })
		if err != nil {
			return err
		}
		for node := range a.nodes {
			if err := a.follows(ctx, node, lead); err != nil {
				return fmt.Errorf("server %d of the lead %d: %w", node, lead, err)
			}
		}
		for _, s := range a.sentinels {
			soon, cancel := context.WithTimeout(ctx, time.Second)
			err = errors.Join(err, s.Knows(soon, nodes-1, sentinels-1))
			cancel()
		}
		return err
	})
}
