package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// A script is a store that does exactly what a test tells it to, and writes down what it was asked. It is no lock: it grants
// everything, because what is tested here is what the core makes of a store's answers. Tests of locking use memlock.
//
// Left alone it grants at once for the TTL that was asked for, renews by what it was asked for, and forgets at Release. Its clock
// is driver.Local, so that in a synctest bubble everything takes the time that the test says, to the nanosecond.
type script struct {
	clock    driver.Clock
	promises holdfast.Guarantees
	session  *scriptLease // not nil: the lease of all grants
	forever  bool         // grants have no lease

	// What to do instead, if not nil; ask counts the calls of that kind from 1. Once something runs, use change to set it.
	acquire    func(ctx context.Context, r *driver.Request, ask int) (*driver.Grant, error)
	release    func(ctx context.Context, r *driver.Request, ask int) error
	renew      func(ctx context.Context, l *scriptLease, ttl time.Duration, ask int) (time.Duration, error)
	guarantees func(ctx context.Context, ask int) (holdfast.Guarantees, error)
	closing    func() error

	mu    sync.Mutex
	calls []scriptCall
	asks  map[string]int
	token uint64
	holds map[driver.Attempt]*driver.Request
}

// A scriptCall is one call of the store.
type scriptCall struct {
	op       string // acquire, release, renew, count, guarantees, close
	name     string
	id       driver.Attempt
	at       time.Duration // since the store was made
	ttl      time.Duration // renew: what was asked for
	keep     time.Duration
	n        int   // count
	ended    error // of the context that it got, as it was called
	deadline bool  // of that context
}

// A scriptLease is the lease of one grant, or the session of them all.
type scriptLease struct {
	s *script
	r *driver.Request // nil: a session
}

// The errors of a script that are no answers, and the one that a store gives of its own.
var (
	errCut  = errors.New("the connection was cut")
	errFull = errors.New("out of memory")
)

func newScript() *script {
	return &script{
		clock:    driver.Local(),
		promises: holdfast.Guarantees{Fencing: driver.FencingVolatile, Keep: true, MinTTL: time.Millisecond, MaxTTL: holdfast.MaxTTL},
		holds:    make(map[driver.Attempt]*driver.Request),
		asks:     make(map[string]int),
	}
}

// withSession makes s a store with one session for everything.
func (s *script) withSession(ttl time.Duration) *script {
	s.session = &scriptLease{s: s}
	s.promises.Session = ttl
	s.promises.MinTTL, s.promises.MaxTTL = 0, 0
	return s
}

// withoutTTL makes s a store where nothing runs out.
func (s *script) withoutTTL() *script {
	s.forever = true
	s.promises.MinTTL, s.promises.MaxTTL = 0, 0
	return s
}

// open makes a client of s, which is closed at the end of the test at the latest.
func (s *script) open(t testing.TB, opts ...holdfast.OpenOption) *holdfast.Client {
	c := holdfast.New(s, opts...)
	t.Cleanup(func() { c.Close() })
	return c
}

// note writes a call down and returns how many of its kind there were.
func (s *script) note(ctx context.Context, call scriptCall) (ask int) {
	call.at = time.Duration(s.clock.Now())
	if ctx != nil {
		call.ended = ctx.Err()
		_, call.deadline = ctx.Deadline()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	s.asks[call.op]++
	return s.asks[call.op]
}

// change sets what the store does from now on, while others may be asking it.
func (s *script) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// current reads what change may set.
func current[T any](s *script, f *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *f
}

// asked returns the calls of that kind, or all without one.
func (s *script) asked(op ...string) []scriptCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c scriptCall) bool { return len(op) > 0 && !slices.Contains(op, c.op) })
}

// held counts the attempts that the store believes to hold.
func (s *script) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holds)
}

// grant grants r, as though it had been asked for at that moment.
func (s *script) grant(r *driver.Request, asked driver.Instant) *driver.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[r.Attempt] = r
	s.token++
	g := &driver.Grant{Token: s.token, Asked: asked, TTL: r.TTL}
	switch {
	case s.session != nil:
		g.Lease, g.TTL = s.session, s.promises.Session
	case !s.forever:
		g.Lease = &scriptLease{s, r}
	}
	return g
}

// free forgets an attempt, and reports whether it was there.
func (s *script) free(r *driver.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[r.Attempt] == nil {
		return driver.ErrGone
	}
	delete(s.holds, r.Attempt)
	return nil
}

// unusable is why nobody can be asked: the context has ended, or the store was closed.
func (s *script) unusable(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asks["close"] > 0 {
		return driver.ErrClosed
	}
	return ctx.Err()
}

func (s *script) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	asked := s.clock.Now()
	ask := s.note(ctx, scriptCall{op: "acquire", name: r.Name, id: r.Attempt, ttl: r.TTL, keep: r.Keep})
	if acquire := current(s, &s.acquire); acquire != nil {
		return acquire(ctx, r, ask)
	}
	if err := s.unusable(ctx); err != nil {
		return nil, err
	}
	return s.grant(r, asked), nil
}

func (s *script) Release(ctx context.Context, r *driver.Request) error {
	ask := s.note(ctx, scriptCall{op: "release", name: r.Name, id: r.Attempt, keep: r.Keep})
	if release := current(s, &s.release); release != nil {
		return release(ctx, r, ask)
	}
	if err := s.unusable(ctx); err != nil {
		return err
	}
	return s.free(r)
}

func (l *scriptLease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	call := scriptCall{op: "renew", ttl: ttl}
	if l.r != nil {
		call.name, call.id = l.r.Name, l.r.Attempt
	}
	ask := l.s.note(ctx, call)
	if renew := current(l.s, &l.s.renew); renew != nil {
		return renew(ctx, l, ttl, ask)
	}
	if err := l.s.unusable(ctx); err != nil {
		return 0, err
	}
	if l.r == nil {
		return l.s.promises.Session, nil
	}
	return ttl, nil
}

func (s *script) Guarantees(ctx context.Context) (holdfast.Guarantees, error) {
	ask := s.note(ctx, scriptCall{op: "guarantees"})
	if guarantees := current(s, &s.guarantees); guarantees != nil {
		return guarantees(ctx, ask)
	}
	return s.promises, nil
}

func (s *script) Close() error {
	s.note(noContext, scriptCall{op: "close"})
	if s.closing != nil {
		return s.closing()
	}
	return nil
}

func (s *script) Clock() driver.Clock                      { return s.clock }
func (s *script) String() string                           { return "script://" }
func (s *script) Identity(context.Context) (string, error) { return "script", nil }

// hang waits for an answer that never comes.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
