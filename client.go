package holdfast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/driver"
)

// What a store says of itself and of its locks.
type (
	Guarantees = driver.Guarantees // what it promises, as it is deployed
	Info       = driver.Info       // a lock, with its holders and waiters
	Holder     = driver.Holder     // somebody who holds it
	Waiter     = driver.Waiter     // somebody who waits for it
	Progress   = driver.Progress   // how things stand for one who waits
	Mode       = driver.Mode       // how somebody holds it
)

// Values of Mode.
const (
	Exclusive = driver.Exclusive // alone: a Mutex, an RWMutex, an Election
	Shared    = driver.Shared    // beside other readers: RWMutex.Reader
	Permits   = driver.Permits   // some permits of a Semaphore
)

// Values of Guarantees.Fencing: how far tokens can be relied on.
const (
	FencingNone     = driver.FencingNone     // tokens are zero
	FencingVolatile = driver.FencingVolatile // tokens rise for as long as the store keeps its memory
	FencingDurable  = driver.FencingDurable  // tokens rise across restarts and failovers too
)

// Forever is Hold.Left and Holder.Left where nothing runs out.
const Forever = driver.Forever

// A Client is an open store. Its methods may be called from many goroutines. Holds, re-entry and Close belong to a client: two
// clients of one store are strangers, also within one process.
type Client struct {
	store    driver.Store
	clock    driver.Clock
	span     atomic.Pointer[span] // see within
	config   clientConfig
	attempts *driver.Attempts
	schedule *schedule
	random   func() float64
	known    atomic.Pointer[Guarantees] // as last found
	identity atomic.Pointer[string]     // of the store, once somebody has asked for it

	gone error           // that this client is closed
	base context.Context // ends when Close is over: nothing is asked of the store any more
	stop context.CancelFunc

	endless wait // ends, with gone, when Close begins

	// mu guards everything below, and all tenures, holds and keeps. Nothing blocks while it is held.
	mu      sync.Mutex
	closed  bool // Close has begun
	ended   bool // base has ended
	keeps   map[driver.Lease]*keep
	tenures map[*tenure]struct{}
	waits   map[<-chan struct{}]*wait // of calls that wait, by what ends their contexts
	idling  *wait                     // the last one that nobody has used any more, or somebody again
	running int                       // calls and background work under way
	idle    chan struct{}             // closed when running falls to 0 after Close has begun
}

// New makes a client of a store that was opened by hand, with an existing connection for instance. The client closes it.
func New(store driver.Store, opts ...OpenOption) *Client {
	c := &Client{
		store: store, config: newClientConfig(opts), attempts: driver.NewAttempts(), random: rand.Float64,
		keeps: make(map[driver.Lease]*keep), tenures: make(map[*tenure]struct{}),
		waits: make(map[<-chan struct{}]*wait), idle: make(chan struct{}),
	}
	c.base, c.stop = context.WithCancel(context.Background())
	c.endless.Context, c.endless.cancel = context.WithCancelCause(context.Background())
	if store == nil {
		c.store = noStore{}
		c.config.lock.wrong = errNoStore
	}
	c.gone = fmt.Errorf("holdfast: store %s: %w; open a new one", c.store, ErrClosed)
	if d, ok := c.store.(driver.Defaulter); ok && !c.config.lock.ttlGiven && d.DefaultTTL() > 0 {
		c.config.lock.ttl = d.DefaultTTL()
	}
	c.clock = c.store.Clock()
	c.schedule = newSchedule(c.clock)
	return c
}

// String names the client's store, without secrets.
func (c *Client) String() string { return "holdfast client of " + c.store.String() }

// Format prints String, whatever the verb: inside are the ids of holds, which are secrets.
func (c *Client) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// begin counts a call, so that Close can wait for it. Its error is ErrClosed, or that there is no store.
func (c *Client) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.countUp()
}

// countUp is begin. c.mu is held.
func (c *Client) countUp() error {
	if _, none := c.store.(noStore); none {
		return errNoStore
	}
	if c.closed {
		return c.gone
	}
	c.running++
	return nil
}

// isClosed reports whether Close has begun. A cause of a context does not tell: it can be another client's.
func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// beginWait is begin for a call that waits: until ctx ends, or the client. end it with endWait.
func (c *Client) beginWait(ctx context.Context) (*wait, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.countUp(); err != nil {
		return nil, err
	}
	done := ctx.Done()
	if done == nil { // it can end with nothing but the client
		return &c.endless, nil
	}
	w := c.waits[done]
	if w == nil {
		w = &wait{done: done}
		w.Context, w.cancel = context.WithCancelCause(ctx)
		c.waits[done] = w
	}
	w.calls++
	return w, nil
}

// endWait ends what beginWait has begun.
func (c *Client) endWait(w *wait) {
	if old := c.idleWait(w); old != nil {
		old.cancel(nil)
	}
}

// idleWait counts a call down, and one of w's. The wait without calls that is left over is remembered, because mostly the next call has the
// same context; it returns the one that was remembered before.
func (c *Client) idleWait(w *wait) (old *wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countDown()
	if w.done == nil {
		return nil
	}
	if w.calls--; w.calls > 0 || c.idling == w {
		return nil
	}
	old, c.idling = c.idling, w
	if old == nil || old.calls > 0 {
		return nil // in use again: whoever ends it comes here
	}
	delete(c.waits, old.done)
	return old
}

// A wait is a context that ends with the client, or with those of the calls that share it: they end together, because their Done is the same.
type wait struct {
	context.Context
	cancel context.CancelCauseFunc
	done   <-chan struct{} // nil: it ends with the client only
	calls  int             // guarded by the client's mutex
}

// of returns the wait with the values of ctx.
func (w *wait) of(ctx context.Context) context.Context { return boundless{w, ctx} }

// A boundless context is one that ends with a wait, and has the values of its call's context.
type boundless struct {
	*wait
	values context.Context
}

// Value has nothing of another call's. The wait that ends with the client only has no values, but is known to package context, which asks
// here.
func (b boundless) Value(key any) any {
	if v := b.values.Value(key); v != nil || b.wait.done != nil {
		return v
	}
	return b.wait.Value(key)
}

// AfterFunc is what package context looks for where it does not know a context: without it each child would cost a goroutine.
func (b boundless) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(b.wait.Context, f)
}

// end counts a call down.
func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countDown()
}

// countDown is end. c.mu is held.
func (c *Client) countDown() {
	if c.running--; c.running == 0 && c.closed {
		select {
		case <-c.idle:
		default:
			close(c.idle)
		}
	}
}

// spawn runs f in the background, counted, unless the client has ended. c.mu is held.
func (c *Client) spawn(f func()) bool {
	if c.ended {
		return false
	}
	c.running++
	go func() {
		defer c.end()
		f()
	}()
	return true
}

// backoff is the pauses between asks of a store that gives no usable answer.
func (c *Client) backoff() driver.Backoff {
	return driver.Backoff{Min: 10 * time.Millisecond, Max: time.Second, Rand: c.random}
}

func (c *Client) storeError(op, name string, err error) error {
	e := &StoreError{Op: op, Name: name, Store: c.store.String(), Err: err}
	var node *driver.NodeError
	if errors.As(err, &node) {
		e.Node = node.Node
	}
	return e
}

// Guarantees asks what the store promises, as it is deployed now.
func (c *Client) Guarantees(ctx context.Context) (Guarantees, error) {
	return ask(ctx, c, "guarantees", "", c.findGuarantees)
}

func (c *Client) findGuarantees(ctx context.Context) (Guarantees, error) {
	g, err := c.store.Guarantees(ctx)
	if err == nil {
		c.known.Store(&g)
	}
	return g, err
}

// guarantees returns what was found before, or asks.
func (c *Client) guarantees(ctx context.Context) (Guarantees, error) {
	if g := c.known.Load(); g != nil {
		return *g, nil
	}
	return c.findGuarantees(ctx)
}

// meets reports what the store lacks for this client and this lock.
func (c *Client) meets(g Guarantees, mode Mode, config *lockConfig) error {
	if c.config.require {
		if missing := correct(g); len(missing) > 0 {
			return &RequirementError{Store: c.store.String(), Missing: missing}
		}
	}
	return config.fits(g, mode)
}
