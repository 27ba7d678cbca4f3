package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/driver"
)

// Dial returns the store that is served at addr, a host:port. It is also a driver.Inspector and a driver.Breaker.
func Dial(ctx context.Context, addr string) (driver.Store, error) {
	s := &store{clock: driver.Boot()}
	s.client = newClient(addr, s.tellLost)
	if _, err := s.client.connect(ctx); err != nil {
		return nil, s.client.unknown(err)
	}
	return s, nil
}

type store struct {
	client *client
	clock  driver.Clock
	owners sync.Map // of attempts that are not known to be over: key to *owner
}

// Acquire asks the server, again if the grant has come after a wait: the client's rules 1 to 3.
func (s *store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	what := pack(r)
	entry, _ := s.owners.LoadOrStore(what.key(), &owner{lost: r.Lost}) // asked again, it stays the first: Lost is called at most once
	o := entry.(*owner)
	var known error // why there was no grant yet, as far as known
	confirms := false
	waiting := func(p driver.Progress) {
		known = reason(p)
		if r.Waiting != nil {
			r.Waiting(p)
		}
	}
	for {
		asked := s.clock.Now()
		answer, err := s.client.do(ctx, &call{Op: opAcquire, Request: what}, waiting)
		switch {
		case driver.Answered(err):
			s.owners.Delete(what.key())
			return nil, err
		case ctx.Err() != nil && errors.Is(err, ctx.Err()): // without it, Held would be an answer
			return nil, errors.Join(known, err)
		case err != nil:
			return nil, err
		}
		g := answer.Grant
		old := g.Waited && s.clock.Now().Sub(asked) > g.TTL/10
		switch {
		case old && !o.released.Load():
			confirms = true // an old push, perhaps: ask again
			continue
		case o.released.Load():
			if confirms {
				s.releaseAgain(ctx, o, what)
			}
			return nil, driver.ErrGone
		}
		return &driver.Grant{Token: g.Token, Spare: g.Spare, Asked: asked, TTL: g.TTL, Lease: lease{s, what.key()}}, nil
	}
}

// releaseAgain undoes a confirmation that a Release has overtaken, and that therefore holds again, once that Release is over: its
// answer must tell what it found.
func (s *store) releaseAgain(ctx context.Context, o *owner, what request) {
	o.releasing.Lock()
	defer o.releasing.Unlock()
	s.client.do(ctx, &call{Op: opRelease, Request: what}, nil)
}

func reason(p driver.Progress) error {
	if p.Guard > 0 {
		return &driver.Guarded{Left: p.Guard}
	}
	return &driver.Held{Holders: p.Holders}
}

// Release undoes the attempt at the server, whatever became of it.
func (s *store) Release(ctx context.Context, r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	what := pack(r)
	if entry, ok := s.owners.Load(what.key()); ok {
		o := entry.(*owner)
		o.released.Store(true)
		o.releasing.Lock()
		defer o.releasing.Unlock()
	}
	_, err := s.client.do(ctx, &call{Op: opRelease, Request: what}, nil)
	if err == nil || errors.Is(err, driver.ErrGone) {
		s.owners.Delete(what.key())
	}
	return err
}

// A lease is one grant's; equal for equal attempts.
type lease struct {
	s *store
	key
}

// Renew asks the server for ttl from now on: the client's rule 4. It counts from a later moment than the call, so it holds for at
// least what it says.
func (l lease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	what := request{Name: l.Name, Attempt: l.Attempt, Mode: l.Mode, TTL: ttl}
	answer, err := l.s.client.do(ctx, &call{Op: opRenew, Request: what}, nil)
	if err != nil {
		return 0, err
	}
	return answer.TTL, nil
}

// Format hides the attempt's id, whatever the verb.
func (l lease) Format(f fmt.State, _ rune) { io.WriteString(f, "lease of "+l.s.String()) }

// An owner is to be told, once, that the hold of its attempt has ended.
type owner struct {
	lost     func(error) // may be nil
	once     sync.Once
	released atomic.Bool // Release was called

	releasing sync.Mutex // held by Release
}

// tellLost passes on what the server reports of an attempt: the client's rule 5.
func (s *store) tellLost(k key, err error) {
	entry, _ := s.owners.Load(k)
	if o, ok := entry.(*owner); ok && o.lost != nil {
		o.once.Do(func() { o.lost(err) })
	}
}

// Guarantees are the served store's.
func (s *store) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	answer, err := s.client.do(ctx, &call{Op: opGuarantees}, nil)
	return answer.Guarantees, err
}

// Identity is the served store's.
func (s *store) Identity(ctx context.Context) (string, error) {
	answer, err := s.client.do(ctx, &call{Op: opIdentity}, nil)
	return answer.Identity, err
}

// Clock is driver.Boot: the store is in another process.
func (s *store) Clock() driver.Clock { return s.clock }

func (s *store) String() string { return s.client.String() }

// Format prints String, whatever the verb: there are attempts' ids inside.
func (s *store) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// Close ends the connection. Holds stay until they are released or run out.
func (s *store) Close() error {
	s.client.close()
	return nil
}

// Inspect shows a lock as the served store does.
func (s *store) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	answer, err := s.client.do(ctx, &call{Op: opInspect, Name: name, Mode: mode}, nil)
	if err != nil {
		return nil, err
	}
	return answer.Infos[0], nil
}

// List shows what the served store shows, as it was at one moment.
func (s *store) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		answer, err := s.client.do(ctx, &call{Op: opList, Name: prefix}, nil)
		for _, info := range answer.Infos {
			if !yield(info, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Break ends a hold as the served store does.
func (s *store) Break(ctx context.Context, b *driver.BreakRequest) error {
	what := *b // it may still be on its way to the wire when Break has returned
	_, err := s.client.do(ctx, &call{Op: opBreak, Break: &what}, nil)
	return err
}
