package control

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast.dev/driver"
)

var _ driver.Store = (*store)(nil)

// A wait is one call of Acquire.
type wait struct {
	r        *driver.Request
	wake     chan struct{}
	released chan struct{} // closed by Release
}

// Acquire asks, and asks again when it may have become free.
func (s *store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := s.check(r); err != nil {
		return nil, err
	}
	if err := s.wire.ended(ctx); err != nil {
		return nil, err
	}
	w := &wait{r: r, wake: make(chan struct{}, 1), released: make(chan struct{})}
	s.mu.Lock()
	s.waits[w] = true // before it asks, so that no message is missed
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waits, w)
		s.mu.Unlock()
	}()
	return s.wait(ctx, w)
}

func (s *store) check(r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Mode != driver.Exclusive || r.Keep > 0 || r.Reserve > 0 {
		return driver.ErrUnsupported
	}
	return nil
}

func (s *store) wait(ctx context.Context, w *wait) (*driver.Grant, error) {
	patience := s.patience
	var told time.Time
	for {
		grant, err := s.try(ctx, w)
		left, taken := until(err)
		if w.r.NoWait || !taken {
			return grant, err
		}
		if now := time.Now(); w.r.Waiting != nil && now.Sub(told) >= time.Second {
			told = now
			w.r.Waiting(progress(err))
		}
		if err := s.sit(ctx, w, err, min(patience.Next(), left)); err != nil {
			return nil, err
		}
	}
}

// try asks once.
func (s *store) try(ctx context.Context, w *wait) (*driver.Grant, error) {
	asked := s.clock.Now()
	token, err := s.ways.take(ctx, w.r)
	select {
	case <-w.released:
		return nil, driver.ErrGone // whatever was answered: its Release came later, or left a mark
	default:
	}
	if err != nil {
		return nil, err
	}
	if s.fromAnswer {
		asked = s.clock.Now()
	}
	ttl := w.r.TTL.Truncate(time.Millisecond)
	return &driver.Grant{Token: token, Asked: asked, TTL: ttl, Lease: &lease{s, w.r}}, nil
}

// sit waits until it is worth asking again, which err has said that it is not yet.
func (s *store) sit(ctx context.Context, w *wait, err error, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	look := timer.C
	if s.onlyTold {
		look = nil
	}
	select {
	case <-look:
	case <-w.wake:
	case <-w.released:
		return driver.ErrGone
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	case <-s.wire.life.Done():
		return driver.ErrClosed
	}
	return nil
}

// until reports whether err says that it is not free yet, and when it will be at the latest if nothing happens.
func until(err error) (left time.Duration, taken bool) {
	if err == nil || !driver.Answered(err) {
		return 0, false
	}
	if held, ok := errors.AsType[*driver.Held](err); ok {
		if held.RetryIn <= 0 {
			return driver.Forever, true
		}
		return held.RetryIn, true
	}
	if guarded, ok := errors.AsType[*driver.Guarded](err); ok {
		return max(guarded.Left, time.Millisecond), true
	}
	return 0, false
}

func progress(err error) driver.Progress {
	if guarded, ok := errors.AsType[*driver.Guarded](err); ok {
		return driver.Progress{Guard: guarded.Left}
	}
	return driver.Progress{}
}

// hear wakes those who wait for a lock.
func (s *store) hear(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.waits {
		if w.r.Name == name {
			select {
			case w.wake <- struct{}{}:
			default: // it will look anyway
			}
		}
	}
}

// Release frees the attempt, and ends its wait.
func (s *store) Release(ctx context.Context, r *driver.Request) error {
	if err := s.check(r); err != nil {
		return err
	}
	waited := false
	s.mu.Lock()
	for w := range s.waits {
		if w.r.Attempt == r.Attempt && w.r.Name == r.Name {
			delete(s.waits, w)
			close(w.released)
			waited = true
		}
	}
	s.mu.Unlock()
	err := s.ways.free(ctx, r)
	if waited && errors.Is(err, driver.ErrGone) {
		return nil // it did not hold, but it waited
	}
	return err
}

// A lease keeps one grant alive.
type lease struct {
	s *store
	r *driver.Request
}

// Renew asks the server.
func (l *lease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	return l.s.ways.renew(ctx, l.r, ttl)
}

// Guarantees is what it claims; a broken one may claim too much.
func (s *store) Guarantees(context.Context) (driver.Guarantees, error) {
	if s.wire.life.Err() != nil {
		return driver.Guarantees{}, driver.ErrClosed
	}
	return s.guarantees, nil
}

// Clock is Boot, but for N16.
func (s *store) Clock() driver.Clock { return s.clock }

func (s *store) String() string { return s.title }

// storeScript. KEYS: store. ARGV: what it is to be if it is not yet.
const storeScript = `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return {redis.call('GET', KEYS[1])}`

const storeKey = "control:store"

// Identity is random, and kept in the server.
func (s *store) Identity(ctx context.Context) (string, error) {
	answer, err := s.wire.ask(ctx, storeScript, []string{storeKey}, rand.Text())
	if err != nil {
		return "", err
	}
	return "control " + answer[0], nil
}

// Close ends everything at once.
func (s *store) Close() error {
	for _, end := range s.closing {
		end()
	}
	s.wire.close()
	for _, w := range s.more {
		w.close()
	}
	return nil
}

// Left lists the keys of locks that are in a server: when all have ended, two TTLs later, there should be none. It is for one whose
// stores are all closed.
func Left(ctx context.Context, addr string) ([]string, error) {
	w, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer w.close()
	m, err := w.do(ctx, "KEYS", "control:*")
	if err != nil {
		return nil, err
	}
	keys, err := m.AsStrSlice()
	stays := func(key string) bool {
		return key == storeKey || key == bornKey || strings.HasPrefix(key, tokenPrefix)
	}
	keys = slices.DeleteFunc(keys, stays)
	for i, key := range keys {
		if mark, ok := strings.CutPrefix(key, gonePrefix); ok {
			_, name, _ := strings.Cut(mark, ":")
			keys[i] = gonePrefix + "…:" + name // an attempt's id is secret
		}
	}
	slices.Sort(keys)
	return keys, err
}
