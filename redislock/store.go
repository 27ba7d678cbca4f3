package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// Bounds of a request, and what applies if nobody says.
const (
	MinTTL       = 10 * time.Millisecond
	MaxTTL       = 24 * time.Hour // or the guard, if that is less
	MaxReserve   = 1 << 16        // a greater Request.Reserve gets this many
	DefaultGuard = 30 * time.Second
	DefaultClaim = 2 * time.Second
)

// What the core has: drivers do not depend on it.
const (
	coreTTL    = 10 * time.Second       // its default
	coreMinTTL = 100 * time.Millisecond // its least
)

// A Store is a client of one Redis. It is a driver.Store, a driver.Inspector and a driver.Breaker.
type Store struct {
	client rueidis.Client
	owned  bool   // Close closes the client, too
	text   string // String
	config config
	keys   keyspace
	clock  driver.Clock

	life context.Context // ends with Close
	end  context.CancelFunc

	opening chan struct{} // has an element while somebody opens the store; a mutex that knows contexts
	state   atomic.Pointer[opened]
	longest time.Duration // the guard that the store had when it was opened last; whoever opens has it
	last    contact       // and what it needed to know of its replicas
	served  atomic.Bool   // a primary has answered
	proofs  proofs
	why     reason
	inbox   *redisconn.Inbox // nil until the store was opened once
	channel string
	deaf    atomic.Int64 // when the inbox went down last: a wall time, in nanoseconds

	acquires, releases combiner

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

// opened is what the clients of a store agree on.
type opened struct {
	id    string
	guard time.Duration
	contact
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
		client: client, owned: owned, text: text, config: c, keys: keyspace{c.prefix}, clock: driver.Boot(),
		opening: make(chan struct{}, 1), turns: make(map[who]*turn), parties: make(map[uint64]*party),
		lines: make(map[string]*line), relays: make(map[string]*relay),
	}
	s.storeKey, s.holdsBack, s.ridesFor = s.keys.store(), holdsBack, rideFor
	s.acquires, s.releases = combiner{s: s, function: fnAcquires}, combiner{s: s, function: fnReleases}
	s.channel = s.keys.inbox(randomText())
	s.life, s.end = context.WithCancel(context.Background())
	s.longest = -1 // not opened yet
	return s
}

// randomText is a name that nobody else has: 65 random bits. It is no secret.
func randomText() string { return strings.ToLower(rand.Text()[:13]) }

// opened returns what the store is, after it was opened.
func (s *Store) opened(ctx context.Context) (*opened, error) {
	if st := s.state.Load(); st != nil {
		return st, nil
	}
	return s.open(ctx)
}

// open loads the engine, agrees with the other clients on the guard, and subscribes. One at a time does it.
func (s *Store) open(ctx context.Context) (*opened, error) {
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)() // Close does not wait for a server
	case <-s.life.Done():
		return nil, s.closed()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch st := s.state.Load(); {
	case s.life.Err() != nil:
		return nil, s.closed()
	case st != nil:
		return st, nil
	case s.config.wrong != nil:
		return nil, s.config.wrong
	}
	if err := engine.Load(ctx, s.client); err != nil {
		return nil, s.failure(err)
	}
	st, err := s.agree(ctx)
	if err != nil {
		return nil, err
	}
	if s.inbox == nil {
		s.inbox = redisconn.OpenInbox(s.client, s.channel, redisconn.Events{Message: s.hear, Up: s.reconnected, Down: s.disconnected})
	}
	if s.longest < 0 { // the first time: whoever may not subscribe, or not send messages, is told at once
		if err := s.inbox.Await(ctx); err != nil {
			return nil, s.failure(err)
		}
		if err := s.client.Do(ctx, s.client.B().Spublish().Channel(s.channel).Message("").Build()).Error(); err != nil {
			return nil, s.failure(err)
		}
	}
	s.longest, s.last = st.guard, st.contact
	s.state.Store(st)
	return st, nil
}

// agree reads what the store is, or sets it up.
func (s *Store) agree(ctx context.Context) (*opened, error) {
	guard := DefaultGuard
	if s.config.guard != nil {
		guard = *s.config.guard
	}
	guard = max(guard, s.longest, 0) // the server may have forgotten it, but not the holds that were granted under it
	r, err := s.found(ctx, fnFind, nil)
	if err != nil {
		return nil, err
	}
	kept := contact{lag: r.span(3), replicas: int(r.number(4))}
	want, err := s.contacts(ctx, kept)
	if err != nil {
		return nil, err
	}
	isNew := len(r.rest) == 0
	if isNew {
		want = want.atLeast(s.last)
		if err := fits(guard, want); err != nil {
			return nil, err
		}
	}
	if isNew || want != kept {
		written, err := s.found(ctx, fnOpen, []string{randomText(), micros(guard), micros(want.lag), strconv.Itoa(want.replicas)})
		switch {
		case err == nil:
			r = written
		case isNew || !driver.Answered(err): // else the store is there, and a server that writes nothing now can be told later
			return nil, err
		}
	}
	if len(r.rest) != 6 || r.text(0) == "" {
		return nil, s.strange(ctx, fnOpen)
	}
	if r.number(1) != format {
		return nil, &driver.Refused{Err: fmt.Errorf("%w: key %q says format %d, this program knows format %d: use a program of the same age, or another prefix",
			ErrFormat, s.keys.store(), r.number(1), format)}
	}
	if found := r.span(2); s.config.guard != nil && found != *s.config.guard {
		return nil, &driver.Refused{Err: &GuardError{Asked: *s.config.guard, Found: found, Key: s.keys.store()}}
	}
	st := &opened{id: r.text(0), guard: r.span(2), contact: contact{lag: r.span(3), replicas: int(r.number(4))}}
	if err := fits(st.guard, st.contact); err != nil {
		return nil, err
	}
	return st, nil
}

// fits reports a guard that has no room for any TTL.
func fits(guard time.Duration, c contact) error {
	if guard > 0 && guard-c.fence() < coreMinTTL {
		return &driver.Refused{Err: &ShortGuardError{Guard: guard, Fence: c.fence()}}
	}
	return nil
}

// found calls one of the functions that tell of the store.
func (s *Store) found(ctx context.Context, function string, args []string) (reply, error) {
	message, err := engine.Call(ctx, s.client, function, []string{s.keys.store()}, args)
	if err != nil {
		return reply{}, s.failure(err)
	}
	all, err := message.ToArray()
	if err != nil {
		return reply{}, s.strange(ctx, function)
	}
	return reply{rest: all}, nil
}

// forget makes the next call open the store again: its key is not the one that was opened.
func (s *Store) forget(was opened) {
	if st := s.state.Load(); st != nil && *st == was {
		s.state.CompareAndSwap(st, nil)
	}
}

// Clock is driver.Boot: the store is in another process.
func (s *Store) Clock() driver.Clock { return s.clock }

// String is the URL without its secrets.
func (s *Store) String() string { return s.text }

// Format prints String, whatever the verb: there are secrets inside.
func (s *Store) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// Identity is a random text that was written when the store was used for the first time.
func (s *Store) Identity(ctx context.Context) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	st, err := s.opened(ctx)
	if err != nil {
		return "", err
	}
	return "redis:" + st.id, nil
}

// DefaultTTL is what the URL's ttl says; else the guard, if it is so short that the core's own default would be refused; else 0.
func (s *Store) DefaultTTL() time.Duration {
	st := s.state.Load()
	if st == nil && s.config.guard != nil {
		st = &opened{guard: *s.config.guard} // as it will be, or it will not be opened
	}
	if s.config.ttl == 0 && st != nil && st.maxTTL() < coreTTL {
		return st.maxTTL()
	}
	return s.config.ttl
}

// Close ends the subscription, and the connections if the store has made them itself. Calls under way end with driver.ErrClosed.
// Holds stay until they are released or run out.
func (s *Store) Close() error {
	s.end()
	s.opening <- struct{}{}
	defer func() { <-s.opening }()
	if s.owned {
		s.client.Close() // twice does nothing
	}
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

func (s *Store) closed() error {
	return fmt.Errorf("this client of %s is %w: open another one", s, driver.ErrClosed)
}

// usable reports what ends a call before it begins.
func (s *Store) usable(ctx context.Context) error {
	if s.life.Err() != nil {
		return s.closed()
	}
	return ctx.Err()
}

// failure turns an error of the connection into one of this store's.
func (s *Store) failure(err error) error {
	if s.life.Err() != nil {
		return s.closed()
	}
	err = redisconn.Error(err)
	switch refused, ok := err.(*driver.Refused); {
	case ok && errors.Is(err, ErrReadOnly):
		redisconn.Demoted(s.client)
		if s.served.Load() {
			return refused.Err // it was the primary, and is no more: another one is, or will be
		}
	case ok && errors.Is(err, ErrReplicas):
		redisconn.Doubt(s.client)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		err = fmt.Errorf("the connection ended before the answer came; what was asked may have been done: %w", err)
	}
	return err
}
