package redlock

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// A Store is a client of several independent servers. It is a driver.Store, a driver.Inspector and a driver.Breaker.
type Store struct {
	nodes   []*node
	list    string // the nodes' names, sorted
	text    string // String
	config  config
	keys    keyspace
	clock   driver.Clock
	channel string
	pauses  driver.Backoff // from one try to the next, of who waits

	life       context.Context // ends with Close
	end        context.CancelFunc
	work       context.Context // ends when Close has let requests end
	endWork    context.CancelFunc
	background works         // requests under way, and what is repeated
	hands      hands         // that send requests
	tries      atomic.Uint32 // numbers them: a number is used once

	mu       sync.Mutex
	attempts map[who]*attempt

	admitting sync.Mutex // of nodes, one after the other
	reaching  sync.Once
	reached   chan struct{} // closed when nodes were connected for the first time, or a second has passed

	lineMu sync.Mutex
	lines  map[string]*line
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
	_ driver.Breaker   = (*Store)(nil)
	_ driver.Defaulter = (*Store)(nil)
)

// New returns a store over servers that the program's own clients lead to, one each. Nothing is asked of them before the first use. Close leaves
// the clients open. Each must reach one primary, and must not send anything to replicas. What the nodes are called in the list that all clients must
// agree on is the address that each client was made for, or what [Names] says.
func New(clients []rueidis.Client, opts ...Option) *Store {
	c := newConfig(opts)
	var nodes []*node
	for i, client := range clients {
		name := fmt.Sprintf("node%d", i+1)
		if client == nil {
			c.wrong = &optionError{"New", fmt.Sprintf("needs a client for each node, and number %d is nil", i+1)}
			nodes = append(nodes, &node{name: name})
			continue
		}
		for address := range client.Nodes() {
			name = address
		}
		if i < len(c.names) {
			name = c.names[i]
		}
		adopted := redisconn.Adopt(client)
		nodes = append(nodes, &node{name: name, dial: func(context.Context) (rueidis.Client, error) { return adopted, nil }})
	}
	if c.wrong == nil && (len(clients) == 0 || len(c.names) > 0 && len(c.names) != len(clients)) {
		c.wrong = &optionError{"New", "needs one client for each node, and as many Names, if there are any"}
	}
	return newStore(nodes, false, c)
}

func newStore(nodes []*node, owned bool, c config) *Store {
	s := &Store{
		nodes: nodes, config: c, keys: keyspace{c.prefix}, clock: driver.Boot(),
		pauses: pauses, hands: hands{jobs: make(chan func())}, attempts: make(map[who]*attempt), lines: make(map[string]*line), reached: make(chan struct{}),
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.name)
	}
	slices.Sort(names)
	s.list = strings.Join(names, ",")
	s.text = "redlock://" + s.list
	if twice := slices.Compact(slices.Clone(names)); len(twice) != len(names) && s.config.wrong == nil {
		s.config.wrong = &optionError{"the list of nodes", "names one of them twice: a majority of one machine is none"}
	}
	s.channel = s.keys.inbox(guard.RandomText())
	s.life, s.end = context.WithCancel(context.Background())
	s.work, s.endWork = context.WithCancel(context.Background())
	for _, n := range nodes {
		n.join = func(n *node, client rueidis.Client) *link { return s.newLink(n, client, owned) }
		n.admit = s.admit
	}
	return s
}

// newLink is a node that was dialled.
func (s *Store) newLink(n *node, client rueidis.Client, owned bool) *link {
	l := &link{client: client}
	l.guard = guard.New(guard.Config{
		Client: client, Owned: owned, Library: ballots, Key: s.keys.store(), Guard: s.config.guard, List: s.list, Text: n.name,
		Bound: []string{fnVote}, Wrong: s.config.wrong,
		Writes: func(ctx context.Context) (guard.Elsewhere, error) { return s.agrees(ctx, n) },
		Ready: func(_ context.Context, first bool) error {
			if first {
				s.subscribe(n, l)
			}
			return nil
		},
	})
	l.box = newBallotBox(l.guard)
	return l
}

// form is how the nodes are spoken to: as the peers do, if a majority of them has no functions.
func (s *Store) form() form {
	plain := 0
	for _, n := range s.nodes {
		if l := n.linked.Load(); l != nil && l.plain {
			plain++
		}
	}
	if plain >= majority(len(s.nodes)) {
		return plainForm
	}
	return fullForm
}

// tokens is when tokens are decided on.
func (s *Store) tokens() tokens {
	switch {
	case s.config.untokened:
		return without
	case len(s.nodes) == 1:
		return here
	}
	return later
}

// ttl is a TTL that every node allows.
func (s *Store) ttl(wish time.Duration) time.Duration {
	ttl := min(max(wish, guard.MinTTL), guard.MaxTTL)
	for _, n := range s.nodes {
		if st := n.opened(); st != nil {
			ttl = min(ttl, st.TTL(wish))
		}
	}
	return ttl
}

// opened is what the node was opened as; nil: it was not, or has no functions.
func (n *node) opened() *guard.Opened {
	l := n.linked.Load()
	if l == nil || l.plain {
		return nil
	}
	return l.guard.State()
}

// nodeTimeout is how long a node has to vote.
func (s *Store) nodeTimeout(ttl time.Duration) time.Duration {
	if s.config.nodeTimeout > 0 {
		return s.config.nodeTimeout
	}
	return nodeTimeout(ttl)
}

// patience is how long a node has to answer a renewal: longer, because nobody waits for those that are not needed.
func (s *Store) patience(ttl time.Duration) time.Duration {
	return max(s.nodeTimeout(ttl), min(ttl/6, time.Second))
}

// Clock is driver.Boot: the store is in other processes.
func (s *Store) Clock() driver.Clock { return s.clock }

// String names the nodes.
func (s *Store) String() string { return s.text }

// Format prints String, whatever the verb: there are secrets inside.
func (s *Store) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// Identity follows from the list of nodes, on which all clients agree, and the prefix.
func (s *Store) Identity(ctx context.Context) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("redlock:%x", sha256.Sum256([]byte(s.config.prefix+"\n"+s.list)))[:40], nil
}

// DefaultTTL is what the URL's ttl says; else the longest TTL, if that is so short that the core's own default would be refused; else 0.
func (s *Store) DefaultTTL() time.Duration {
	if s.config.ttl > 0 {
		return s.config.ttl
	}
	const coreTTL = 10 * time.Second
	if longest := s.ttl(guard.MaxTTL); longest < coreTTL {
		return longest
	}
	if g := s.config.guard; g != nil && *g > 0 && *g < coreTTL {
		return *g // as it will be
	}
	return 0
}

// closeGrace is how long what is on its way has, before Close takes the connections away. Close does not wait for it.
const closeGrace = time.Second

// Close ends the connections that the store has made itself. Calls under way end with driver.ErrClosed. What is being released goes on in the
// background, for a second at most.
func (s *Store) Close() error {
	s.end()
	s.stirAll()
	idle := s.background.whenIdle()
	select {
	case <-idle:
		s.disconnect()
	default:
		go func() {
			select {
			case <-idle:
			case <-time.After(closeGrace):
			}
			s.disconnect()
		}()
	}
	return nil
}

func (s *Store) disconnect() {
	s.endWork()
	for _, n := range s.nodes {
		n.close()
	}
}

func (s *Store) closed() error {
	return fmt.Errorf("this client of %s is %w: open another one", s, driver.ErrClosed)
}

// usable reports what ends a call before it begins.
func (s *Store) usable(ctx context.Context) error {
	switch {
	case s.life.Err() != nil:
		return s.closed()
	case s.config.wrong != nil:
		return s.config.wrong
	}
	return ctx.Err()
}

// passOn tells a node that nobody here waits for a lock any more, of whose release it told this client: it tells the next.
func (s *Store) passOn(n *node, key string) {
	if s.life.Err() != nil {
		return
	}
	q := &question{keys: []string{key, s.keys.store()}}
	s.background.begin()
	go func() {
		defer s.background.end()
		ctx, cancel := context.WithTimeout(s.work, time.Second)
		defer cancel()
		n.ask(ctx, fullForm, time.Second, func(ctx context.Context, p primitive) answer {
			if box, ok := p.(*ballotBox); ok {
				_, a := box.call(ctx, fnTell, q)
				return a
			}
			return answer{word: done}
		})
	}()
}
