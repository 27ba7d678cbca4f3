package locktest_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/remote"
)

// TestSession is the kit on a store with sessions: whatever a client holds lives as long as its one lease. It is remote, with a
// lease that renews all.
func TestSession(t *testing.T) {
	locktest.Run(t, locktest.Harness{Start: serve, Open: dialSession, Link: locktest.TCP(dialSession)})
}

const sessionTTL = 5 * time.Second

func dialSession(ctx context.Context, address string) (driver.Store, error) {
	store, err := remote.Dial(ctx, address)
	return &sessions{Store: store}, err
}

type sessions struct {
	driver.Store
	mu  sync.Mutex
	now *session // nil: none yet
}

// A session is the lease of everything that one client holds.
type session struct {
	s     *sessions
	ends  driver.Instant // unless renewed
	holds map[driver.Attempt]hold
}

type hold struct {
	r     driver.Request
	lease driver.Lease
}

func (s *sessions) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Keep > 0 {
		return nil, driver.ErrUnsupported
	}
	held := *r
	held.TTL = sessionTTL
	g, err := s.Store.Acquire(ctx, &held)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || !s.Clock().Now().Before(s.now.ends) {
		s.now = &session{s: s, ends: g.Asked.Add(g.TTL), holds: make(map[driver.Attempt]hold)}
	}
	s.now.holds[r.Attempt] = hold{held, g.Lease}
	// The hold may outlive the session, but is to be believed only as long as that.
	return &driver.Grant{Token: g.Token, Spare: g.Spare, Asked: g.Asked, TTL: min(g.TTL, s.now.ends.Sub(g.Asked)), Lease: s.now}, nil
}

// Renew renews every hold of the session.
func (n *session) Renew(ctx context.Context, _ time.Duration) (time.Duration, error) {
	asked := n.s.Clock().Now()
	n.s.mu.Lock()
	holds, ended := maps.Clone(n.holds), !asked.Before(n.ends)
	n.s.mu.Unlock()
	if ended {
		return 0, driver.ErrSession
	}
	var all sync.WaitGroup
	unknown := make(chan error, len(holds))
	for a, h := range holds {
		all.Go(func() {
			_, err := h.lease.Renew(ctx, sessionTTL)
			switch {
			case errors.Is(err, driver.ErrGone):
				n.s.forget(a) // released meanwhile, or broken: told by Lost
			case err != nil && !errors.Is(err, driver.ErrBroken):
				unknown <- err
			}
		})
	}
	all.Wait()
	if len(unknown) > 0 {
		return 0, <-unknown
	}
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.ends = asked.Add(sessionTTL)
	return sessionTTL, nil
}

func (s *sessions) forget(a driver.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		delete(s.now.holds, a)
	}
}

func (s *sessions) Release(ctx context.Context, r *driver.Request) error {
	err := s.Store.Release(ctx, r)
	if err == nil || errors.Is(err, driver.ErrGone) {
		s.forget(r.Attempt)
	}
	return err
}

func (s *sessions) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	g, err := s.Store.Guarantees(ctx)
	g.Session, g.MinTTL, g.MaxTTL, g.Keep = sessionTTL, 0, 0, false
	return g, err
}

func (s *sessions) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	return s.Store.(driver.Inspector).Inspect(ctx, name, mode)
}

func (s *sessions) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return s.Store.(driver.Inspector).List(ctx, prefix)
}

func (s *sessions) Break(ctx context.Context, b *driver.BreakRequest) error {
	return s.Store.(driver.Breaker).Break(ctx, b)
}
