package redlock

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// Guarantees says what this deployment promises as it is set up now: it asks every node. See the package comment, and docs/stores/redlock.md.
func (s *Store) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	if err := s.usable(ctx); err != nil {
		return driver.Guarantees{}, err
	}
	promises, errs, err := s.promises(ctx)
	if err != nil {
		return driver.Guarantees{}, err
	}
	g := s.promise(promises, errs)
	return g, nil
}

// promises asks each node what it promises by itself. nil: it could not be asked, or has no functions.
func (s *Store) promises(ctx context.Context) ([]*driver.Guarantees, []error, error) {
	promises, errs := make([]*driver.Guarantees, len(s.nodes)), make([]error, len(s.nodes))
	done := make(chan struct{})
	bounded, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for i, n := range s.nodes {
		go func() {
			defer func() { done <- struct{}{} }()
			l, err := n.connect(bounded)
			if err != nil {
				errs[i] = err
				return
			}
			if l.plain {
				errs[i] = errPlain
				return
			}
			p, err := l.guard.Promise(bounded)
			if errs[i] = err; err == nil {
				promises[i] = &p
			}
		}()
	}
	for range s.nodes {
		<-done
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	t := tally{n: len(s.nodes)}
	e := &NodesError{Need: majority(len(s.nodes))}
	for i, n := range s.nodes {
		ok := errs[i] == nil || errs[i] == error(errPlain)
		if ok {
			t.yes++
			e.Nodes = append(e.Nodes, NodeState{Node: n.name, Says: "asked", yes: true})
			continue
		}
		e.Nodes = append(e.Nodes, NodeState{Node: n.name, Says: errs[i].Error(), Err: errs[i]})
	}
	if !t.won() {
		return nil, nil, e
	}
	return promises, errs, nil
}

// promise is what can be promised of all of them together.
func (s *Store) promise(promises []*driver.Guarantees, errs []error) driver.Guarantees {
	n := len(s.nodes)
	g := driver.Guarantees{Fencing: driver.FencingDurable, SurvivesRestart: true, SurvivesFailover: true, MinTTL: guard.MinTTL, MaxTTL: guard.MaxTTL}
	beyond := func(format string, args ...any) { g.Beyond = append(g.Beyond, fmt.Sprintf(format, args...)) }
	missing := func(format string, args ...any) { g.Missing = append(g.Missing, fmt.Sprintf(format, args...)) }
	plainStore := s.form() == plainForm
	for i, p := range promises {
		name := s.nodes[i].name
		switch {
		case p != nil:
			g.SurvivesRestart = g.SurvivesRestart && p.SurvivesRestart
			g.SurvivesFailover = g.SurvivesFailover && p.SurvivesFailover
			g.Fencing, g.MaxTTL = min(g.Fencing, p.Fencing), min(g.MaxTTL, p.MaxTTL)
			for _, text := range p.Missing {
				missing("%s: %s", name, text)
			}
		case plainStore:
		default:
			beyond("%s cannot be asked now, and is not as the others are: %v", name, errs[i])
		}
	}
	if plainStore {
		g.Fencing, g.SurvivesRestart, g.SurvivesFailover = driver.FencingNone, false, false
		missing("most of the nodes have no functions, so there is no guard and no token: use Redis 7.0 or later, and permit FCALL and FUNCTION")
		beyond("a node that restarts without its data, or fails over, inside a TTL: it votes again, and two can hold")
	}
	if s.config.untokened {
		g.Fencing = driver.FencingNone
		missing("tokens=off: a holder that stood still cannot be told from the next one at the resource")
	}
	s.addBeyond(beyond, n, plainStore)
	return g
}

// addBeyond says which faults no such deployment survives.
func (s *Store) addBeyond(beyond func(string, ...any), n int, plainStore bool) {
	q := majority(n)
	beyond("the clocks of nodes are set forward while a lock is held: a hold on g of the %d nodes survives g − %d such jumps; one on all of them %d, one on a bare majority none", n, q, n-q)
	beyond("FLUSHALL, FLUSHDB, DEL of the lock's key, eviction, on as many nodes: the same, and holders are told at their next renewal, when a majority has nothing")
	if !plainStore {
		beyond("programs that write the same keys without Holdfast (redsync, node-redlock, redis-py and others): they keep out, and are kept out, but they do not know the guard and have no " +
			"tokens, so that a node which restarts inside one of their TTLs can double a hold; the guard must be as long as the longest of theirs")
		beyond("clocks of the nodes that differ by more than the guard: tokens can fall if a node then forgets what it has accepted")
	}
	if n%2 == 0 {
		beyond("an even number of nodes: %d survive the loss of %d, as %d do; one more, or one less, costs no safety", n, n-q, n-1)
	}
	for node, offset := range s.strays() {
		beyond("the clock of %s is off by %v: it is not used for tokens; set it by NTP", node.name, offset.Round(time.Second))
	}
}
