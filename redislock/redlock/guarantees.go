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
	if err := s.reach(ctx); err != nil {
		return driver.Guarantees{}, err
	}
	replies, ended := gather(ctx, s, 2*time.Second, promiseGrace, func(ctx context.Context, n *node) (*driver.Guarantees, error) {
		brief, cancel := context.WithTimeout(ctx, openGrace) // Open has waited for it already
		defer cancel()
		l, err := n.connect(brief)
		if err != nil && ctx.Err() == nil && brief.Err() != nil {
			err = errPending
		}
		if err != nil || l.plain {
			return nil, err
		}
		p, err := l.guard.Promise(ctx)
		return &p, err
	})
	if err := s.vetoed(); err != nil {
		return driver.Guarantees{}, err
	}
	if _, err := answered(s, replies); err != nil {
		return driver.Guarantees{}, joined(err, ended)
	}
	return s.promise(replies), nil
}

// promiseGrace is how long nodes that are connected have to tell of their settings, once a majority has: each asks its replicas first.
const promiseGrace = time.Second

// promise is what can be promised of all of them together.
func (s *Store) promise(replies []reply[*driver.Guarantees]) driver.Guarantees {
	n := len(s.nodes)
	g := driver.Guarantees{Fencing: driver.FencingDurable, SurvivesRestart: true, SurvivesFailover: true, MinTTL: guard.MinTTL, MaxTTL: guard.MaxTTL}
	beyond := func(format string, args ...any) { g.Beyond = append(g.Beyond, fmt.Sprintf(format, args...)) }
	missing := func(format string, args ...any) { g.Missing = append(g.Missing, fmt.Sprintf(format, args...)) }
	plainStore := s.form() == plainForm
	for i, r := range replies {
		name, p := s.nodes[i].name, r.value
		switch {
		case r.err != nil:
			beyond("%s cannot be asked now, and is not as the others are: %v", name, r.err)
		case p != nil:
			g.SurvivesRestart = g.SurvivesRestart && p.SurvivesRestart
			g.SurvivesFailover = g.SurvivesFailover && p.SurvivesFailover
			g.Fencing, g.MaxTTL = min(g.Fencing, p.Fencing), min(g.MaxTTL, p.MaxTTL)
			for _, text := range p.Missing {
				missing("%s: %s", name, text)
			}
		case !plainStore:
			beyond("%s has no functions, and does not vote: the loss of so many of the others that they are no majority without it", name)
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
	beyond("the clocks of nodes are set forward while a lock is held: a hold that g of the %d nodes have granted, or prolonged when it was last renewed, survives g − %d such jumps; one on all of them %d, one on a bare majority none", n, q, n-q)
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
