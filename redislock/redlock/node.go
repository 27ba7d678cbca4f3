package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// A node is one of the servers, as this client knows it.
//
//	unconnected ── dialled, opened ──▶ linked ── no answer, three times in a row ──▶ silent ── it answers ──▶ linked
//
// A node that is silent is not asked, but for one request at a time that finds out whether it answers again: so one that hangs costs no goroutine
// for each lock, and what was never sent need not be undone.
type node struct {
	name  string
	dial  func(ctx context.Context) (rueidis.Client, error)
	join  func(n *node, c rueidis.Client) *link
	admit func(n *node, run string) error // refuses a server process that another node is

	linked       atomic.Pointer[link]
	run          atomic.Pointer[string]           // the id of its server process, as last heard
	vetoes       atomic.Pointer[driver.NodeError] // nil, or that it has another list of nodes: then nothing is granted anywhere
	reconsidered atomic.Int64                     // when it was last asked whether it still vetoes: the clock, in nanoseconds

	silent atomic.Int32 // requests without an answer since the last one that had one
	probed atomic.Int64 // when one was last sent although it was silent: the clock, in nanoseconds

	mu         sync.Mutex
	connecting *connecting // nil: nobody is
	again      time.Time   // when it may be tried again
	failure    error       // why it was not connected, the last time
	closed     bool
	undos      undos
	frees      frees

	offset atomic.Int64 // its clock less ours, in microseconds; see clocks.go
	timed  atomic.Bool  // offset is known
}

// A link is a node that is connected.
type link struct {
	client rueidis.Client
	guard  *guard.Store
	box    *ballotBox
	inbox  atomic.Pointer[redisconn.Inbox]
	plain  bool // it has no functions
}

type connecting struct {
	looked chan struct{}  // closed when the server was dialled, and looked at
	client rueidis.Client // nil: it is none that could be used
	done   chan struct{}
	link   *link
	err    error
}

const (
	reconnectPause = 200 * time.Millisecond // from one failed connection to the next
	silentAfter    = 3                      // unanswered requests
	leastPatience  = 20 * time.Millisecond  // of those that count
	probeEvery     = 100 * time.Millisecond
	connectFor     = 10 * time.Second // at most; the connection's own time-out is less, usually
)

var (
	errSilent = errors.New("it has not answered for a while, and is not asked until it does")
	errPlain  = &driver.Refused{Err: &ServerError{Code: "ERR", Err: ErrFunctions, Message: "it has no functions (Redis 7.0 or later has them), and others of the list do: without them it has no guard and no tokens, so its vote does not count"}}
)

// timeoutError is a node that did not answer in time. It is not the end of anybody's context.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

// connect returns the link, and makes it first if it must. Those who come meanwhile wait for the same one; it goes on when their contexts end.
func (n *node) connect(ctx context.Context) (*link, error) {
	if l := n.linked.Load(); l != nil {
		return l, nil
	}
	try, err := n.connects()
	if err != nil {
		return nil, err
	}
	select {
	case <-try.done:
		return try.link, try.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connects returns the making of the link that is under way, and begins it if none is; or why that last failed, if it was a moment ago.
func (n *node) connects() (*connecting, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return nil, driver.ErrClosed
	case n.connecting == nil && time.Now().Before(n.again):
		return nil, n.failure
	case n.connecting == nil:
		n.connecting = &connecting{looked: make(chan struct{}), done: make(chan struct{})}
		go n.link(n.connecting)
	}
	return n.connecting, nil
}

// reach returns a client that leads to the node as soon as that was looked at, whether the store is opened there or not; nil: there is none.
func (n *node) reach(ctx context.Context) rueidis.Client {
	if l := n.linked.Load(); l != nil {
		return l.client
	}
	try, err := n.connects()
	if err != nil {
		return nil
	}
	select {
	case <-try.looked:
		return try.client
	case <-ctx.Done():
		return nil
	}
}

// link dials, and opens what the node keeps of the store.
func (n *node) link(try *connecting) {
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	var l *link
	client, err := n.dial(ctx)
	if err == nil {
		l = n.join(n, client)
		err = l.look(ctx, n)
	}
	if err == nil {
		try.client = client
	} else {
		n.disagrees(err)
	}
	close(try.looked)
	if err == nil {
		err = l.open(ctx)
		n.disagrees(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && n.closed {
		err = driver.ErrClosed
	}
	if err == nil {
		try.link = l
		n.linked.Store(l)
	} else {
		if l != nil {
			l.close()
		}
		n.again = time.Now().Add(reconnectPause)
	}
	n.failure, try.err = err, err
	n.connecting = nil
	close(try.done)
}

// look finds out what the server is: an independent primary, and no other node's.
func (l *link) look(ctx context.Context, n *node) error {
	text, err := l.client.Do(ctx, l.client.B().Info().Build()).ToString() // before Redis 7 it took one section only
	if err != nil {
		return l.guard.Failure(err)
	}
	info := redisconn.ReadInfo(text)
	switch {
	case info["cluster_enabled"] == "1":
		return &driver.Refused{Err: &ServerError{Code: "CLUSTER", Err: ErrCluster,
			Message: "it is a node of a Redis Cluster, whose masters are not independent of each other; name single servers"}}
	case info["role"] == "slave":
		return l.guard.Failure(redisconn.Reply("READONLY this is a replica"))
	}
	run := info["run_id"]
	return n.admit(n, run[:min(len(run), runDigits)])
}

// open opens what the server keeps of the store, if it has functions.
func (l *link) open(ctx context.Context) error {
	_, err := l.guard.Opened(ctx)
	if errors.Is(err, ErrFunctions) {
		l.plain = true
		return nil
	}
	return err
}

func (l *link) close() {
	l.guard.Close() // and the client, if it is ours
	if inbox := l.inbox.Load(); inbox != nil {
		go inbox.Close() // it may wait for a server that hangs
	}
}

// close ends the connection. Whoever uses the node is told driver.ErrClosed.
func (n *node) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	if l := n.linked.Load(); l != nil {
		l.close()
	}
}

// ask sends one request, if the node can be reached. full says that it must have functions.
func (n *node) ask(ctx context.Context, form form, patience time.Duration, request func(ctx context.Context, p primitive) answer) answer {
	if !n.mayAsk() {
		return answer{err: errSilent, unsent: true}
	}
	l, err := n.connect(ctx)
	if err == nil {
		err = redisconn.Ready(ctx, l.client)
	}
	if err != nil {
		if isTimeout(ctx, err) {
			n.unanswered(patience)
			err = &timeoutError{patience}
		}
		return answer{err: err, unsent: true}
	}
	var a answer
	switch {
	case form == plainForm:
		a = request(ctx, plain{l.client})
	case l.plain:
		return answer{err: errPlain, unsent: true}
	default:
		a = request(ctx, l.box)
	}
	if a.err != nil {
		n.disagrees(a.err)
	}
	if a.word == failed && isTimeout(ctx, a.err) && !driver.Answered(a.err) {
		n.unanswered(patience)
		a.err = &timeoutError{patience}
		return a
	}
	if a.word != failed || driver.Answered(a.err) {
		if n.silent.Swap(0) >= silentAfter {
			n.undos.wake()
		}
	}
	return a
}

// unanswered notes that a request had no answer. One that had little time says nothing of the node: locks with short TTLs ask so.
func (n *node) unanswered(patience time.Duration) {
	if patience >= leastPatience {
		n.silent.Add(1)
	}
}

// isTimeout reports whether a request has failed because its time was over. The connection may notice that a moment before the context does.
func isTimeout(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// mayAsk reports whether the node is to be asked: it answers, or it is time to see whether it does.
func (n *node) mayAsk() bool {
	if n.silent.Load() < silentAfter {
		return true
	}
	now, last := time.Now().UnixNano(), n.probed.Load()
	return now-last > int64(probeEvery) && n.probed.CompareAndSwap(last, now)
}

// A form is how nodes are spoken to.
type form uint8

const (
	fullForm  form = iota // by functions
	plainForm             // as the peers do
)
