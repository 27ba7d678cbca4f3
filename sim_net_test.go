package holdfast

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// errNet is what a client of the simulation sees when its request or the answer went missing: unknown.
var errNet = errors.New("simulated network: no answer")

// A simServer is the store of the simulation: memlock, which can be made to forget everything. Then it grants nothing until all
// holds that it may have forgotten have run out: the guard that a real store needs for the same promise.
type simServer struct {
	w     *world
	clock *simClock

	mu        sync.Mutex
	store     *memlock.Store
	epoch     int
	base, top uint64 // tokens go on rising over what is forgotten: the one thing that it remembers
	guarded   time.Time
}

func newSimServer(w *world) *simServer {
	s := &simServer{w: w, clock: newSimClock(1, func() {})}
	s.store = memlock.NewServer(memlock.WithClock(s.clock)).Connect()
	return s
}

func (s *simServer) now() (*memlock.Store, int, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store, s.epoch, time.Until(s.guarded)
}

func (s *simServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.Close()
	s.epoch++
	s.base = s.top
	s.store = memlock.NewServer(memlock.WithClock(s.clock)).Connect()
	s.guarded = time.Now().Add(s.w.longest)
}

func (s *simServer) acquire(ctx context.Context, r *driver.Request) (*driver.Grant, int, error) {
	store, epoch, guard := s.now()
	for guard > 0 {
		if r.NoWait {
			return nil, 0, &driver.Guarded{Left: guard}
		}
		r.Waiting(driver.Progress{Guard: guard})
		if err := driver.Sleep(ctx, guard); err != nil {
			return nil, 0, err
		}
		store, epoch, guard = s.now()
	}
	grant, err := store.Acquire(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch {
		return nil, 0, errNet // it restarted meanwhile
	}
	if err != nil {
		return nil, 0, err
	}
	copied := *grant
	copied.Token += s.base
	s.top = max(s.top, copied.Token)
	return &copied, epoch, nil
}

func (s *simServer) release(ctx context.Context, r *driver.Request) error {
	store, _, _ := s.now()
	return store.Release(ctx, r)
}

func (s *simServer) renew(ctx context.Context, l driver.Lease, epoch int, ttl time.Duration) (time.Duration, error) {
	if _, now, _ := s.now(); now != epoch {
		return 0, driver.ErrGone
	}
	return l.Renew(ctx, ttl)
}

// breakHold ends a hold softly, as an operator would.
func (s *simServer) breakHold(name string, token uint64) {
	store, _, _ := s.now()
	s.mu.Lock()
	base := s.base
	s.mu.Unlock()
	if token > base {
		store.Break(s.w.ctx, &driver.BreakRequest{Name: name, Mode: driver.Exclusive, Token: token - base, By: "the simulation"})
	}
}

// labels returns who holds and who waits.
func (s *simServer) labels() (labels []string) {
	store, _, _ := s.now()
	for info, err := range store.List(s.w.ctx, "") {
		if err != nil {
			return append(labels, err.Error())
		}
		for _, h := range info.Holders {
			if !h.Kept {
				labels = append(labels, h.Label)
			}
		}
		for _, waiter := range info.Waiters {
			labels = append(labels, waiter.Label)
		}
	}
	return labels
}

// faults are how bad the network is, for one client or for all.
type faults struct {
	delay     time.Duration // each way, at most
	loss, dup float64       // of requests, and of answers
}

// A simStore is a client's driver: the way to the server, with its faults.
type simStore struct {
	w     *world
	name  string
	clock *simClock

	mu      sync.Mutex
	random  *rand.Rand
	cut     bool      // nothing arrives, either way
	dead    bool      // and that for good
	paused  time.Time // nothing is done before
	arrived time.Time // when the last request reaches the server, in a calm world
}

// A leg is one copy of a request and its answer.
type leg struct {
	there, back         time.Duration
	lostThere, lostBack bool
}

// legs draws the fate of one call.
func (n *simStore) legs() (legs []leg, patience time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.w.faults()
	delay := func() time.Duration {
		d := time.Duration(n.random.Int64N(int64(200 * time.Microsecond)))
		if n.random.IntN(3) == 0 {
			d += time.Duration(n.random.Float64() * float64(f.delay))
		}
		return d
	}
	copies := 1
	if n.random.Float64() < f.dup {
		copies = 2
	}
	for range copies {
		legs = append(legs, leg{delay(), delay(), n.random.Float64() < f.loss, n.random.Float64() < f.loss})
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
	return legs, n.w.ttl/4 + time.Duration(n.random.Int64N(int64(n.w.ttl)))
}

func (n *simStore) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut || n.dead
}

func (n *simStore) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

func (n *simStore) isPaused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.paused) > 0
}

// awake returns once the client is not paused.
func (n *simStore) awake() {
	for {
		n.mu.Lock()
		left := time.Until(n.paused)
		n.mu.Unlock()
		if left <= 0 || driver.Sleep(n.w.ctx, left) != nil {
			return
		}
	}
}

// call carries f to the server, as often as the network likes, and its answer back, if the network likes. A call that waits for
// somebody else gets a longer patience.
func call[T any](ctx context.Context, n *simStore, patience time.Duration, f func(context.Context) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err() // nothing was sent
	}
	legs, little := n.legs()
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
			n.awake()
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
	remote := *r
	remote.Lost = func(err error) { n.push(func() { r.Lost(err) }) }
	remote.Waiting = func(p driver.Progress) { n.push(func() { r.Waiting(p) }) }
	for first := true; ; first = false {
		asked := n.clock.Now()
		grant, err := call(ctx, n, 2*n.w.ttl, func(server context.Context) (*driver.Grant, error) {
			grant, epoch, err := n.w.server.acquire(server, &remote)
			if err == nil {
				grant.Lease = &simLease{n, grant.Lease, epoch}
			}
			return grant, err
		})
		if err != nil {
			return nil, err
		}
		grant.Asked = asked
		// The answer to a call that waited is old: it says that the hold has begun at some time since. Confirm it.
		if !first || n.clock.Now().Sub(asked) < 5*time.Millisecond {
			return grant, nil
		}
	}
}

// push carries news from the server, perhaps.
func (n *simStore) push(f func()) {
	legs, _ := n.legs()
	go func() {
		if driver.Sleep(n.w.ctx, legs[0].back) == nil && !legs[0].lostBack && !n.isCut() {
			n.awake()
			f()
		}
	}()
}

func (n *simStore) Release(ctx context.Context, r *driver.Request) error {
	_, err := call(ctx, n, 0, func(server context.Context) (struct{}, error) {
		return struct{}{}, n.w.server.release(server, r)
	})
	return err
}

type simLease struct {
	n     *simStore
	lease driver.Lease
	epoch int
}

func (l *simLease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	return call(ctx, l.n, 0, func(server context.Context) (time.Duration, error) {
		return l.n.w.server.renew(server, l.lease, l.epoch, ttl)
	})
}

func (n *simStore) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	store, _, _ := n.w.server.now()
	return store.Guarantees(ctx)
}

func (n *simStore) Clock() driver.Clock                          { return n.clock }
func (n *simStore) String() string                               { return "sim://" + n.name }
func (n *simStore) Identity(ctx context.Context) (string, error) { return "sim", nil }
func (n *simStore) Close() error                                 { return nil }
