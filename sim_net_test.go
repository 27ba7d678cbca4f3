package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// errNet is what a client of the simulation sees when its request or the answer went missing: unknown.
var errNet = errors.New("simulated network: no answer")

// faults are how bad the network is.
type faults struct {
	delay     time.Duration // each way, at most
	loss, dup float64       // of requests, and of answers
}

// A simStore is a client's driver: the way from one machine to one server, with its faults.
type simStore struct {
	w       *world
	machine *simMachine
	server  *simServer

	mu      sync.Mutex
	cut     bool        // nothing arrives, either way
	arrived time.Time   // when the last request reaches the server, in a calm world
	session *simSession // nil: none yet
}

var _ driver.Store = (*simStore)(nil)

// A leg is one copy of a request and its answer.
type leg struct {
	there, back         time.Duration
	lostThere, lostBack bool
}

// legs draws the fate of one call. It depends on what is asked and on the moment, and not on what else is asked at that moment:
// goroutines that run at once do so in any order.
func (n *simStore) legs(what string) (legs []leg, patience time.Duration) {
	f := n.w.faults()
	random := n.w.random(what + n.String())
	n.mu.Lock()
	defer n.mu.Unlock()
	delay := func() time.Duration {
		d := time.Duration(random.Int64N(int64(200 * time.Microsecond)))
		if random.IntN(3) == 0 {
			d += time.Duration(random.Float64() * float64(f.delay))
		}
		return d
	}
	copies := 1
	if random.Float64() < f.dup {
		copies = 2
	}
	for range copies {
		legs = append(legs, leg{delay(), delay(), random.Float64() < f.loss, random.Float64() < f.loss})
	}
	if n.w.calm() {
		// One connection, in order, that never breaks: no request overtakes another, none is repeated.
		arrives := time.Now().Add(legs[0].there)
		if !arrives.After(n.arrived) {
			arrives = n.arrived.Add(1)
		}
		n.arrived, legs[0].there = arrives, time.Until(arrives)
		return legs, time.Hour
	}
	return legs, n.w.ttl/4 + time.Duration(random.Int64N(int64(n.w.ttl)))
}

func (n *simStore) isCut() bool {
	n.mu.Lock()
	cut := n.cut
	n.mu.Unlock()
	return cut || n.machine.isDead() || n.server.isDown()
}

func (n *simStore) setCut(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
}

// call carries f to the server, as often as the network likes, and its answer back, if the network likes. A call that waits for
// somebody else gets a longer patience.
func call[T any](ctx context.Context, n *simStore, what string, patience time.Duration, f func(context.Context) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err() // nothing was sent
	}
	legs, little := n.legs(what)
	replies := make(chan reply, len(legs))
	server, gone := context.WithCancel(n.w.ctx)
	for _, l := range legs {
		go func() {
			if driver.Sleep(n.w.ctx, l.there) != nil || l.lostThere || n.isCut() {
				return
			}
			value, err := f(server)
			if driver.Sleep(n.w.ctx, l.back) != nil || l.lostBack || n.isCut() {
				return
			}
			n.machine.awake(what)
			replies <- reply{value, err}
		}()
	}
	// The server learns later that nobody listens any more.
	defer time.AfterFunc(legs[0].there+legs[0].back, gone)
	impatient := time.NewTimer(patience + little)
	defer impatient.Stop()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-impatient.C:
		return none, errNet
	}
}

func (n *simStore) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if n.w.session > 0 {
		return n.acquireInSession(ctx, r)
	}
	return n.acquire(ctx, r)
}

// acquire asks until the answer is fresh.
func (n *simStore) acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	remote := *r
	remote.Lost = func(err error) { n.push(r.Label+" lost", func() { r.Lost(err) }) }
	remote.Waiting = func(p driver.Progress) { n.push(r.Label+" waiting", func() { r.Waiting(p) }) }
	for first := true; ; first = false {
		asked := n.Clock().Now()
		grant, err := call(ctx, n, r.Label+" acquire", 2*n.w.ttl, func(server context.Context) (*driver.Grant, error) {
			grant, epoch, err := n.server.acquire(server, &remote)
			if err == nil {
				grant.Lease = &simLease{n, r.Label, grant.Lease, epoch}
			}
			return grant, err
		})
		if err != nil {
			return nil, err
		}
		grant.Asked = asked
		// The answer to a call that waited is old: it says that the hold has begun at some time since. Confirm it.
		if !first || n.Clock().Now().Sub(asked) < 5*time.Millisecond {
			return grant, nil
		}
	}
}

// push carries news from the server, perhaps.
func (n *simStore) push(what string, f func()) {
	legs, _ := n.legs(what)
	go func() {
		if driver.Sleep(n.w.ctx, legs[0].back) == nil && !legs[0].lostBack && !n.isCut() {
			n.machine.awake(what)
			f()
		}
	}()
}

func (n *simStore) Release(ctx context.Context, r *driver.Request) error {
	n.leaveSession(r.Attempt)
	_, err := call(ctx, n, r.Label+" release", 0, func(server context.Context) (struct{}, error) {
		return struct{}{}, n.server.release(server, r)
	})
	return err
}

// A simLease keeps one grant alive.
type simLease struct {
	n     *simStore
	label string
	lease driver.Lease
	epoch int
}

func (l *simLease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	holds, err := call(ctx, l.n, l.label+" renew", 0, func(server context.Context) (time.Duration, error) {
		return l.n.server.renew(server, l.lease, l.epoch, ttl)
	})
	if lossOf(err) != "" {
		l.n.w.told(l)
	}
	return holds, err
}

func (n *simStore) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	store, _, _ := n.server.now()
	g, err := store.Guarantees(ctx)
	if n.w.session > 0 {
		g.Session, g.MinTTL, g.MaxTTL, g.Keep = n.w.session, 0, 0, false
	}
	return g, err
}

func (n *simStore) Identity(ctx context.Context) (string, error) {
	return call(ctx, n, "identity", 0, func(context.Context) (string, error) { return n.server.identity(), nil })
}

func (n *simStore) Clock() driver.Clock { return n.machine.clock }
func (n *simStore) String() string      { return fmt.Sprintf("sim://%s/%d", n.machine.name, n.server.index) }
func (n *simStore) Close() error        { return nil }
