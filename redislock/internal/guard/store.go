package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// A Config says what a store is made of.
type Config struct {
	Client  rueidis.Client
	Owned   bool               // Close closes the client, too
	Library *redisconn.Library // by NewLibrary
	Key     string             // of the store's hash
	Guard   *time.Duration     // nil: what the store has, or DefaultGuard for a new one
	List    string             // a text that all clients must agree on; "": there is none
	Text    string             // what errors call the store
	Bound   []string           // functions that are not sent again to a store with another guard: see Call
	Wrong   error              // of the options: with this every opening ends

	// Ready, if there is one, is called while the store is opened, after the clients have agreed: first, if it never was open before. If it
	// fails, so does the opening. One at a time, and not after Close.
	Ready func(ctx context.Context, first bool) error

	// Writes, if there is one, is called before the store's key is set up, or is given the list: whether all is well elsewhere, too. If it fails,
	// nothing is written, and so does the opening.
	Writes func(ctx context.Context) (Elsewhere, error)
}

// Elsewhere is what is known of a store that other servers have, too.
type Elsewhere struct {
	Guard   time.Duration // the longest that others have; for who asks for none
	Doubted bool          // this server may stand for another one, which has granted something: it serves a guard first, however long it has been up
}

// A Store is what one client has of a store: what was agreed on, once it was opened, and the ways to the server. It is safe for
// concurrent use.
type Store struct {
	config Config

	life context.Context // ends with Close
	end  context.CancelFunc

	opening chan struct{} // has an element while somebody opens the store; a mutex that knows contexts
	state   atomic.Pointer[Opened]
	longest time.Duration // the guard that the store had when it was opened last, -1 before; whoever opens has it
	last    Contact       // and what it needed to know of its replicas
	served  atomic.Bool   // a primary has answered
	proofs  proofs
	why     reason
}

// New returns a store that was not opened yet. Nothing is asked of the server.
func New(c Config) *Store {
	s := &Store{config: c, opening: make(chan struct{}, 1), longest: -1}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// RandomText is a name that nobody else has: 65 random bits. It is no secret.
func RandomText() string { return strings.ToLower(rand.Text()[:13]) }

// State returns what the store is, nil if it is not open.
func (s *Store) State() *Opened { return s.state.Load() }

// Served reports whether the server was seen to be a primary.
func (s *Store) Served() bool { return s.served.Load() }

// Life ends with Close.
func (s *Store) Life() context.Context { return s.life }

// Opened returns what the store is, after it was opened.
func (s *Store) Opened(ctx context.Context) (*Opened, error) {
	if st := s.state.Load(); st != nil {
		return st, nil
	}
	return s.open(ctx)
}

// open loads the library, agrees with the other clients, and lets the package around it get ready. One at a time does it.
func (s *Store) open(ctx context.Context) (*Opened, error) {
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)() // Close does not wait for a server
	case <-s.life.Done():
		return nil, s.ClosedError()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch st := s.state.Load(); {
	case s.life.Err() != nil:
		return nil, s.ClosedError()
	case st != nil:
		return st, nil
	case s.config.Wrong != nil:
		return nil, s.config.Wrong
	}
	if err := s.config.Library.Load(ctx, s.config.Client); err != nil {
		return nil, s.Failure(err)
	}
	st, err := s.agree(ctx)
	if err != nil {
		return nil, err
	}
	if s.config.Ready != nil {
		if err := s.config.Ready(ctx, s.longest < 0); err != nil {
			return nil, err
		}
	}
	s.longest, s.last = st.Guard, st.Contact
	s.state.Store(st)
	return st, nil
}

// Forget makes the next call open the store again, unless that was done since it was found to be was: its key is not the one that was opened.
func (s *Store) Forget(was Opened) {
	if st := s.state.Load(); st != nil && *st == was {
		s.state.CompareAndSwap(st, nil)
	}
}

// DefaultTTL is the longest TTL, as far as that is known, if the core's own default would be refused; else 0.
func (s *Store) DefaultTTL() time.Duration {
	st := s.state.Load()
	if st == nil && s.config.Guard != nil {
		st = &Opened{Guard: *s.config.Guard} // as it will be, or it will not be opened
	}
	if st != nil && st.MaxTTL() < coreTTL {
		return st.MaxTTL()
	}
	return 0
}

// Close ends what is under way, and waits for whoever opens the store; afterwards nobody does. It closes the client if that is owned.
func (s *Store) Close() {
	s.end()
	s.opening <- struct{}{}
	defer func() { <-s.opening }()
	if s.config.Owned {
		s.config.Client.Close() // twice does nothing
	}
}

// ClosedError is the answer to who asks after Close.
func (s *Store) ClosedError() error {
	return fmt.Errorf("this client of %s is %w: open another one", s.config.Text, driver.ErrClosed)
}

// Usable reports what ends a call before it begins.
func (s *Store) Usable(ctx context.Context) error {
	if s.life.Err() != nil {
		return s.ClosedError()
	}
	return ctx.Err()
}

// Failure turns an error of the connection into one of this store's. Where it says that the server is no primary, or may be none, the
// client is told, and looks for another.
func (s *Store) Failure(err error) error {
	if s.life.Err() != nil {
		return s.ClosedError()
	}
	err = redisconn.Error(err)
	switch refused, ok := err.(*driver.Refused); {
	case ok && errors.Is(err, redisconn.ErrReadOnly):
		redisconn.Demoted(s.config.Client)
		if s.served.Load() {
			return refused.Err // it was the primary, and is no more: another one is, or will be
		}
	case ok && errors.Is(err, redisconn.ErrReplicas):
		redisconn.Doubt(s.config.Client)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		err = fmt.Errorf("the connection ended before the answer came; what was asked may have been done: %w", err)
	}
	return err
}
