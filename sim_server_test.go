package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A simServer is a store of the simulation: memlock, which can be made to forget everything. Then it grants nothing until all
// holds that it may have forgotten have run out: the guard that a real store needs for the same promise.
type simServer struct {
	w     *world
	index int
	clock *simClock

	mu        sync.Mutex
	store     *memlock.Store
	epoch     int
	base, top uint64 // tokens go on rising over what is forgotten: the one thing that it remembers
	guarded   time.Time
	down      bool // nobody reaches it
}

func newSimServer(w *world, index int) *simServer {
	s := &simServer{w: w, index: index, clock: newSimClock(1, func() {})}
	s.store = memlock.NewServer(memlock.WithClock(s.clock)).Connect()
	return s
}

// identity sorts the servers by their index.
func (s *simServer) identity() string { return fmt.Sprint("sim-", s.index) }

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

func (s *simServer) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

func (s *simServer) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *simServer) acquire(ctx context.Context, r *driver.Request) (*driver.Grant, int, error) {
	store, epoch, guard := s.now()
	for guard > 0 {
		if r.NoWait {
			return nil, 0, &driver.Guarded{Left: guard}
		}
		r.Waiting(driver.Progress{Guard: guard})
		if err := driver.Sleep(ctx, guard+s.w.aMoment(r.Label)); err != nil {
			return nil, 0, err
		}
		store, epoch, guard = s.now()
	}
	grant, err := store.Acquire(ctx, r)
	if err == nil && s.w.session > 0 {
		// A hold that was broken lives no longer than it did, whatever its session does: it does not begin.
		if _, err := grant.Lease.Renew(ctx, 0); err != nil {
			return nil, 0, errNet
		}
	}
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
func (s *simServer) breakHold(name string, mode Mode, token uint64) {
	store, _, _ := s.now()
	s.mu.Lock()
	base := s.base
	s.mu.Unlock()
	if token > base {
		store.Break(s.w.ctx, &driver.BreakRequest{Name: name, Mode: mode, Token: token - base, By: "the simulation"})
	}
}

// A simTruth is what a server has, whatever its clients believe.
type simTruth struct {
	holders []simFact
	labels  []string // of all who hold and wait
	base    uint64   // tokens up to it are forgotten
	guard   time.Duration
}

// A simFact is one hold in a server.
type simFact struct {
	key    simKey
	holder driver.Holder // with the token that clients know
}

func (s *simServer) truth() (truth simTruth, err error) {
	store, _, guard := s.now()
	s.mu.Lock()
	truth.base, truth.guard = s.base, guard
	s.mu.Unlock()
	for info, problem := range store.List(s.w.ctx, "") {
		if problem != nil {
			return truth, errors.Join(err, problem)
		}
		for _, h := range info.Holders {
			if !h.Kept {
				h.Token += truth.base
				truth.labels = append(truth.labels, h.Label)
				truth.holders = append(truth.holders, simFact{simKey{s.index, info.Name, info.Mode == Permits}, h})
			}
		}
		for _, waiter := range info.Waiters {
			truth.labels = append(truth.labels, waiter.Label)
		}
	}
	return truth, err
}

// labels returns who holds and who waits, in any server.
func (w *world) labels() (labels []string) {
	for _, s := range w.servers {
		truth, err := s.truth()
		if err != nil {
			labels = append(labels, err.Error())
		}
		labels = append(labels, truth.labels...)
	}
	return labels
}
