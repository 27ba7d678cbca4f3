package memlock

import (
	"context"
	"fmt"
	"io"
	"time"

	"holdfast.dev/driver"
)

// Bounds of a request.
const (
	MinTTL     = time.Millisecond // a shorter wish is granted for this long
	MaxTTL     = 24 * time.Hour   // a longer wish is granted for this long
	MaxReserve = 1 << 16          // a greater Request.Reserve gets this many
)

// A Store is one client's connection to a [Server]. It is a driver.Store, a driver.Inspector and a driver.Breaker.
type Store struct {
	server *Server
	closed chan struct{} // closed with the server's mutex held
	leave  func()        // not nil: what else Close does; see open.go
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
	_ driver.Breaker   = (*Store)(nil)
	_ driver.Lease     = (*claim)(nil)
)

var errClosed = fmt.Errorf("this connection to mem:// is %w: open another one", driver.ErrClosed)

// New returns a connection to a new server of its own.
func New() *Store { return NewServer().Connect() }

// Connect returns a new connection to s.
func (s *Server) Connect() *Store { return &Store{server: s, closed: make(chan struct{})} }

// Guarantees says what memory can promise.
func (st *Store) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	if err := ctx.Err(); err != nil {
		return driver.Guarantees{}, err
	}
	if st.isClosed() {
		return driver.Guarantees{}, errClosed
	}
	return driver.Guarantees{
		Fencing: driver.FencingVolatile,
		// The store ends with its process, and all its clients with it: nobody is left who could hold anything. But what they had
		// begun elsewhere, such as a statement on its way to a database, can outlive them, and the next process grants the same
		// names with tokens that begin at 1 again. So neither is promised.
		SurvivesRestart:  false,
		SurvivesFailover: false,
		FIFO:             true, Shared: true, Permits: true, Keep: true, Reserve: true,
		MinTTL: MinTTL, MaxTTL: MaxTTL,
		Beyond: []string{
			"a second process: it has a memory of its own, and shares no lock with this one",
			"a restart of the process while something that it began under a lock, outside of it, still goes on: tokens begin at 1 again",
			"the last client of mem://NAME closes while it holds: opened again the store is empty",
		},
	}, nil
}

// Clock is the server's: [driver.Local], unless [WithClock] says otherwise.
func (st *Store) Clock() driver.Clock { return st.server.clock }

// String is mem://, with the name of the server if it has one.
func (st *Store) String() string { return st.server.String() }

// Format prints String, whatever the verb.
func (st *Store) Format(f fmt.State, _ rune) { io.WriteString(f, st.String()) }

// Identity is a random text of the server's own.
func (st *Store) Identity(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if st.isClosed() {
		return "", errClosed
	}
	return st.server.identity, nil
}

// Close ends this connection. Its waiting calls end with driver.ErrClosed; its waiters are absent from now on, and its holds stay
// until they run out. Closing twice does nothing.
func (st *Store) Close() error {
	if st.leave != nil {
		st.leave()
	} else {
		st.disconnect()
	}
	return nil
}

// disconnect does Close's work at the server, and reports whether st was still open.
func (st *Store) disconnect() bool {
	s := st.server
	now := s.enter()
	defer s.exit()
	if st.isClosed() {
		return false
	}
	close(st.closed)
	var left []*claim
	for _, c := range s.claims {
		if c.store == st {
			c.lost = nil // nothing is reported through a closed connection
		}
		if s.depart(c, func(call *caller) bool { return call.store == st }, now) {
			left = append(left, c)
		}
	}
	for _, c := range left { // only now: the next in the queue could have been another one of this connection
		s.serve(c.lock, now)
	}
	s.rest()
	return true
}

func (st *Store) isClosed() bool {
	select {
	case <-st.closed:
		return true
	default:
		return false
	}
}
