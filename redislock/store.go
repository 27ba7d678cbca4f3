package redislock

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// Bounds of a request, and what applies if nobody says.
const (
	MinTTL       = guard.MinTTL
	MaxTTL       = guard.MaxTTL // or the guard, if that is less
	MaxReserve   = 1 << 16      // a greater Request.Reserve gets this many
	DefaultGuard = guard.DefaultGuard
	DefaultClaim = 2 * time.Second
)

// coreMinTTL is the core's least: drivers do not depend on it.
const coreMinTTL = 100 * time.Millisecond

// A Store is a client of one Redis. It is a driver.Store, a driver.Inspector and a driver.Breaker.
type Store struct {
	client rueidis.Client
	text   string // String
	config config
	keys   keyspace
	clock  driver.Clock

	guard   *guard.Store     // what the clients agree on, and the way to the server
	inbox   *redisconn.Inbox // nil until the store was opened once
	channel string
	deaf    atomic.Int64 // when the inbox went down last: a wall time, in nanoseconds

	acquires, releases *guard.Combiner

	lastSpan  atomic.Pointer[span] // that was sent
	holdsBack func(waited time.Duration) time.Duration
	ridesFor  time.Duration
	storeKey  string

	mu      sync.Mutex
	turns   map[who]*turn
	parties map[uint64]*party // by the id of their last request
	lines   map[string]*line  // of those who wait, by the key of their lock
	relays  map[string]*relay // that have a lock, by its key
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
	_ driver.Breaker   = (*Store)(nil)
)

// New returns a store that uses a client of the program's own. Nothing is asked of the server before the first use. Close leaves the
// client open. The client must reach one primary, and must not send anything to replicas.
func New(client rueidis.Client, opts ...Option) *Store {
	return newStore(redisconn.Adopt(client), false, "redis (a client of the program's own)", newConfig(opts))
}

func newStore(client rueidis.Client, owned bool, text string, c config) *Store {
	s := &Store{
		client: client, text: text, config: c, keys: keyspace{c.prefix}, clock: driver.Boot(),
		turns: make(map[who]*turn), parties: make(map[uint64]*party), lines: make(map[string]*line), relays: make(map[string]*relay),
	}
	s.storeKey, s.holdsBack, s.ridesFor = s.keys.store(), holdsBack, rideFor
	s.channel = s.keys.inbox(guard.RandomText())
	s.guard = guard.New(guard.Config{
		Client: client, Owned: owned, Library: engine, Key: s.storeKey, Guard: c.guard, Text: text,
		Bound: []string{fnAcquire}, Wrong: c.wrong, Ready: s.ready,
	})
	s.acquires, s.releases = s.guard.Combiner(fnAcquires, letter), s.guard.Combiner(fnReleases, letter)
	return s
}

// ready subscribes, while the store is opened.
func (s *Store) ready(ctx context.Context, first bool) error {
	if s.inbox == nil {
		s.inbox = redisconn.OpenInbox(s.client, s.channel, redisconn.Events{Message: s.hear, Up: s.reconnected, Down: s.disconnected})
	}
	if !first {
		return nil
	}
	// Whoever may not subscribe, or not send messages, is told at once.
	if err := s.inbox.Await(ctx); err != nil {
		return s.guard.Failure(err)
	}
	if err := s.client.Do(ctx, s.client.B().Spublish().Channel(s.channel).Message("").Build()).Error(); err != nil {
		return s.guard.Failure(err)
	}
	return nil
}

// Clock is driver.Boot: the store is in another process.
func (s *Store) Clock() driver.Clock { return s.clock }

// String is the URL without its secrets.
func (s *Store) String() string { return s.text }

// Format prints String, whatever the verb: there are secrets inside.
func (s *Store) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// Identity is a random text that was written when the store was used for the first time.
func (s *Store) Identity(ctx context.Context) (string, error) {
	if err := s.guard.Usable(ctx); err != nil {
		return "", err
	}
	st, err := s.guard.Opened(ctx)
	if err != nil {
		return "", err
	}
	return "redis:" + st.ID, nil
}

// DefaultTTL is what the URL's ttl says; else the guard, if it is so short that the core's own default would be refused; else 0.
func (s *Store) DefaultTTL() time.Duration {
	if s.config.ttl > 0 {
		return s.config.ttl
	}
	return s.guard.DefaultTTL()
}

// Guarantees says what this deployment promises as it is set up now: it asks every node that it can find, for half a second at most. One that
// cannot be asked counts as it was when it last could be, by whichever client. See the package comment.
func (s *Store) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	g, err := s.guard.Promise(ctx)
	if err != nil {
		return driver.Guarantees{}, err
	}
	g.FIFO, g.Shared, g.Permits, g.Keep, g.Reserve = true, true, true, true, true
	return g, nil
}

// Close ends the subscription, and the connections if the store has made them itself. Calls under way end with driver.ErrClosed.
// Holds stay until they are released or run out.
func (s *Store) Close() error {
	s.guard.Close()
	if s.inbox != nil {
		go s.inbox.Close() // on a client that is not ours it can wait for a server that hangs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parties {
		p.settle()
	}
	clear(s.parties)
	clear(s.turns)
	clear(s.lines)
	clear(s.relays)
	return nil
}
