package locktest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// Patience is how long the kit waits for something that must happen in the end, beyond the TTLs that it has to wait for. The
// environment variable HOLDFAST_LOCKTEST_PATIENCE, with a value such as 1m, changes it: for a machine that is slow, or for a
// driver that is known to fail.
const Patience = 15 * time.Second

const patienceVariable = "HOLDFAST_LOCKTEST_PATIENCE"

// patience is what the environment says, or Patience.
var patience = sync.OnceValue(func() time.Duration {
	text := os.Getenv(patienceVariable)
	if text == "" {
		return Patience
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		panic(fmt.Sprintf("locktest: %s=%q: write a positive duration such as 30s or 1m", patienceVariable, text))
	}
	return d
})

// A Harness tells the kit how to reach the store under test.
type Harness struct {
	// Start brings a server up that nobody else uses meanwhile, once for each Run, and returns its address. What it starts it
	// ends by t.Cleanup. It is not called in child processes: these get the address. nil: the address is "".
	Start func(t testing.TB) (address string)

	// Open returns a new client of the server at that address. It is called many times, also in child processes.
	Open func(ctx context.Context, address string) (driver.Store, error)

	// Link returns a client that reaches the server through a link with faults. nil: the kit puts a link of its own in front
	// of a store from Open, which holds back calls and their answers.
	Link func(t testing.TB, address string) (driver.Store, Faults)

	// InProcess says that other processes cannot reach the store. The cases with child processes then do not apply.
	InProcess bool

	// TTL is the short TTL that timed cases use; 0: half a second, or what the store allows if that is more.
	TTL time.Duration

	// State lists what is in the store and does not belong there when nobody holds or waits: keys, rows, nodes, sessions. Token
	// counters may stay, and are left out. The leak cases compare before and after. nil: only Inspector.List is looked at.
	State func(ctx context.Context, address string) ([]string, error)
}

// Faults of a link between a client and its server. They hold for what is sent from now on, and all may be repeated.
type Faults interface {
	HoldRequests() // what the client sends is kept back
	HoldReplies()  // requests reach the server; what the server sends is kept back
	Resume()       // what was kept back is delivered, and nothing is held any more
	Cut()          // what was kept back is lost, connections break, and nothing is held any more: the client can connect again

	// Strand breaks the connections as the client sees them, but the requests kept back still reach the server, at Resume: a
	// request that arrives after its sender has connected again and undone it. What is sent from now on is not held.
	Strand()
}

// Run checks the store that h reaches. It may be called in a test or in a subtest, once in each.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Open == nil {
		t.Fatal("locktest: Harness.Open is nil: it must return a new client of the store")
	}
	actAsChild(t.Name(), h) // does not return in a child process
	k := newKit(t, h)
	k.sayWhatDoesNotApply(t)
	k.runBeside(t, beside)
	k.runAlone(t, alone)
}
