package filelock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A Store is one client of a directory. It is a driver.Store, a driver.Inspector, a driver.Breaker and a driver.Keeper.
type Store struct {
	config
	dir      *directory
	identity string
	id       string // of this client
	presence *presence
	polls    bool // there is no bell: see poll.go
	closed   chan struct{}
	closing  context.Context // of what Close itself does

	mu        sync.Mutex // guards what follows, and what locks and attempts say; never held while anything blocks
	ended     bool       // closed is closed
	locks     map[string]*lock
	byRing    map[[ringLen]byte]*lock
	idle      []*lock       // not in use, the longest first; some are in use again by now
	tidying   bool          // a goroutine removes the files of the first, or pauses
	untidy    time.Duration // how long it paused last; 0: all could be removed
	tidyLater *time.Timer   // the end of the pause
	tombs     map[tombKey]driver.Instant
	graves    []tombKey      // in the order in which they were dug
	running   sync.WaitGroup // goroutines that Close waits for

	making  sync.Mutex // whoever makes a lock's file has it: see make.go
	watchMu sync.Mutex
	watches map[string]*watched
	rounds  *time.Timer // looks at what is held, while polling
	lap     []*lock     // what is left to be looked at, guarded by mu
	share   int         // how many of them in one round
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.Inspector = (*Store)(nil)
	_ driver.Breaker   = (*Store)(nil)
	_ driver.Keeper    = (*Store)(nil)
)

var errClosed = fmt.Errorf("this client of a directory is %w: open another one", driver.ErrClosed)

// encoding makes names of files: lower case only and nothing special, so that no system takes two of them for one, or one for
// something else.
var encoding = driver.Encoding{
	Safe:   func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' },
	Escape: '%',
	Max:    200,
}

const (
	lockPrefix    = "l-"
	permitsPrefix = "s-"
)

// keyOf is the name of the file of a lock or, with Permits, a semaphore.
func keyOf(name string, mode driver.Mode) string {
	if mode == driver.Permits {
		return permitsPrefix + encoding.Encode(name)
	}
	return lockPrefix + encoding.Encode(name)
}

// attemptHash stands for an attempt in files: its id is a secret, and is never on a disk.
func attemptHash(a driver.Attempt) string {
	sum := sha256.Sum256([]byte(a.Reveal()))
	return hex.EncodeToString(sum[:16])
}

// now is the moment by which entries are counted.
func (st *Store) now() moment {
	return moment{now: st.clock.now(), wall: time.Now().UnixNano(), clock: st.clock.name}
}

// Guarantees says what the directory can promise where it is.
func (st *Store) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	if err := ctx.Err(); err != nil {
		return driver.Guarantees{}, err
	}
	if st.isClosed() {
		return driver.Guarantees{}, errClosed
	}
	g := driver.Guarantees{
		Fencing: driver.FencingDurable,
		// There is no server that could restart: a hold ends with its process, and a restart of the machine ends all of them. Nor is
		// there a second one that could take over.
		SurvivesRestart: true, SurvivesFailover: true,
		FIFO: true, Shared: true, Permits: true, Keep: true,
		Beyond: []string{
			"the directory, or what is in it, is removed, replaced or restored from a copy while locks are held",
			"the directory is put back from a copy (cp -a, a snapshot) that was made since the machine was started: tokens are given again;" +
				" or a copy is used beside it, which has the same identity",
			"a process of the same user writes into the directory by other means",
			"a child of a process that holds a lock goes on with its work after that process has ended, and nobody has copies of its files (Files)",
		},
	}
	switch {
	case st.dir.volume.network != "" || st.network:
		g.Fencing, g.SurvivesRestart, g.SurvivesFailover = driver.FencingVolatile, false, false
		g.Beyond = append(g.Beyond,
			"the file server restarts or fails over, or a client's connection to it breaks, while locks are held",
			"the file server, or a client's cache, does not carry out flock for all machines alike",
			"the wall clocks of the machines differ: minimum holds end by them")
	case st.dir.volume.memory:
		g.Fencing, g.SurvivesRestart, g.SurvivesFailover = driver.FencingVolatile, false, false
		g.Beyond = append(g.Beyond, "a restart of the machine: the directory is in memory, and tokens begin at 1 again")
	}
	return g, nil
}

// Clock is [driver.Boot].
func (st *Store) Clock() driver.Clock { return driver.Boot() }

// String is the URL of the directory.
func (st *Store) String() string { return urlOf(st.dir.path, onWindows) }

// Format prints String, whatever the verb.
func (st *Store) Format(f fmt.State, _ rune) { io.WriteString(f, st.String()) }

// Identity is a random text of the directory's own, the same through whatever path it is reached.
func (st *Store) Identity(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if st.isClosed() {
		return "", errClosed
	}
	return "file:" + st.identity, nil
}

func (st *Store) isClosed() bool {
	select {
	case <-st.closed:
		return true
	default:
		return false
	}
}
