package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"holdfast.dev/driver"
)

var (
	errUndone  = fmt.Errorf("%w: it was released before it was asked for again", driver.ErrGone)
	errPending = errors.New("no answer yet")
)

// pauses is how often somebody who waits tries, though nothing is told. Where nobody would tell, because a peer holds the lock or the nodes cannot, it
// tries every pollEvery at least, as the peers do.
var pauses = driver.Backoff{Min: 50 * time.Millisecond, Max: 600 * time.Millisecond}

const pollEvery = 250 * time.Millisecond

// Acquire asks for r, and waits; see driver.Store.
func (s *Store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := s.check(r); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	a := s.join(r)
	if a == nil {
		return nil, errUndone
	}
	grant, err := s.acquire(ctx, r, a)
	s.leave(r, a, err)
	return grant, err
}

// check refuses what no majority can do.
func (s *Store) check(r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	switch {
	case r.Mode != driver.Exclusive:
		return fmt.Errorf("%w: over several independent servers %s cannot be counted soundly; use redis:// for it", driver.ErrUnsupported, modeText(r.Mode))
	case r.Keep > 0:
		return fmt.Errorf("%w: a minimum hold; what a minority keeps for nobody is not kept", driver.ErrUnsupported)
	case r.Reserve > 0:
		return fmt.Errorf("%w: tokens in reserve", driver.ErrUnsupported)
	}
	return nil
}

func modeText(m driver.Mode) string {
	if m == driver.Shared {
		return "readers"
	}
	return "permits"
}

func (s *Store) acquire(ctx context.Context, r *driver.Request, a *attempt) (*driver.Grant, error) {
	if err := s.begin(ctx, r, a); err != nil {
		return nil, err
	}
	defer func() { <-a.turn }()
	if grant, err := s.goOn(ctx, a, r); grant != nil || err != nil {
		return grant, err
	}
	if r.NoWait {
		return s.tryOnce(ctx, a, r)
	}
	key := a.question.keys[0]
	w := s.stand(r, a)
	defer s.leaveLine(w, key)
	select {
	case <-w.first:
	case <-a.undone:
		return nil, errUndone
	case <-s.life.Done():
		return nil, s.closed()
	case <-ctx.Done():
		return nil, errors.Join(s.knownOf(key), ctx.Err())
	}
	own := *r
	own.Waiting = func(p driver.Progress) { s.tellAll(key, p) }
	return driver.Watch(ctx, &own, s.pauses, w.woken, func(ctx context.Context) (*driver.Grant, error) {
		grant, err := s.once(ctx, a, r, s.asking(w, key))
		if err != nil && !s.isTold(a, err) {
			s.pollSoon(key)
		}
		if e, ok := err.(*NodesError); ok {
			s.tellFailure(key, e)
		}
		return grant, err
	})
}

// isTold reports whether whoever waits for the lock is told when it is free.
func (s *Store) isTold(a *attempt, err error) bool {
	if held, ok := err.(*driver.Held); ok && slices.ContainsFunc(held.Holders, func(h driver.Holder) bool { return h.Label == foreign && h.Token == 0 }) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.last == nil {
		return false
	}
	a.last.mu.Lock()
	defer a.last.mu.Unlock()
	return a.last.isTold()
}

// goOn goes on with what the attempt has already: the same hold, its TTL begun anew.
func (s *Store) goOn(ctx context.Context, a *attempt, r *driver.Request) (*driver.Grant, error) {
	s.mu.Lock()
	t := a.last
	s.mu.Unlock()
	if t == nil {
		return nil, nil
	}
	if err := s.await(ctx, a, t); err != nil {
		return nil, err
	}
	return s.again(ctx, t, r.TTL)
}

// again renews the hold of a try that somebody asks for again. No grant and no error: there is none any more.
func (s *Store) again(ctx context.Context, t *try, ttl time.Duration) (*driver.Grant, error) {
	asked := s.clock.Now()
	left, err := t.renew(ctx, ttl, true)
	if b, ok := errors.AsType[*stillBroken](err); ok {
		left, err = b.left, nil
	}
	switch {
	case err == nil:
		return &driver.Grant{Token: t.token, Asked: asked, TTL: left, Lease: lease{t}}, nil
	case errors.Is(err, driver.ErrGone):
		t.finish()
		return nil, nil
	}
	return nil, err
}

// finish ends a try whose hold is lost: what is left of it is freed.
func (t *try) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

// tryOnce tries without waiting for anybody. A vote that nobody has won says nothing of whether the lock is held: it is repeated, a few times.
func (s *Store) tryOnce(ctx context.Context, a *attempt, r *driver.Request) (*driver.Grant, error) {
	const most = 4
	for i := 1; ; i++ {
		grant, err := s.once(ctx, a, r, nil)
		s.mu.Lock()
		split := a.last != nil && a.last.isSplit()
		s.mu.Unlock()
		held, taken := err.(*driver.Held)
		if !split || !taken || i == most {
			return grant, err
		}
		if err := driver.Sleep(ctx, held.RetryIn); err != nil {
			return nil, err
		}
	}
}

func (t *try) isSplit() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.split
}

// beyond makes the numbers of further tries greater than n: another client has used it for the same attempt.
func (s *Store) beyond(n uint32) {
	for {
		last := s.tries.Load()
		if last >= n || s.tries.CompareAndSwap(last, n) {
			return
		}
	}
}

// await waits until a try holds, or is over.
func (s *Store) await(ctx context.Context, a *attempt, t *try) error {
	select {
	case <-t.done:
		return nil
	default:
	}
	select {
	case <-t.done:
		return nil
	case <-a.undone:
		return errUndone
	case <-s.life.Done():
		return s.closed()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once tries once. w: its owner waits, and tries again.
func (s *Store) once(ctx context.Context, a *attempt, r *driver.Request, w *waits) (*driver.Grant, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	t := s.next(a, s.ttl(r.TTL+extra), w)
	if t == nil {
		return nil, errUndone
	}
	t.start()
	if err := s.await(ctx, a, t); err != nil {
		return nil, err
	}
	t.mu.Lock()
	phase, lost, split := t.phase, t.lost, t.split
	t.mu.Unlock()
	if a.splits++; !split {
		a.splits = 0
	}
	if phase == holding {
		return &driver.Grant{Token: t.token, Asked: t.asked, TTL: believed(t.ttl), Lease: lease{t}}, nil
	}
	if lost == nil {
		return nil, errUndone
	}
	if s.isDead(t) {
		return nil, errUndone
	}
	if other := s.adopt(a, t); other != nil {
		if grant, err := s.again(ctx, other, r.TTL); grant != nil || err != nil {
			return grant, err
		}
	}
	return nil, lost
}

// isDead reports whether the attempt was released, by another client. If only tries of that one are dead this client's are numbered beyond them.
func (s *Store) isDead(t *try) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.seats {
		v := t.seats[i].vote
		if v.word == undone && v.try == lastTry {
			return true
		}
		if n, err := strconv.ParseUint(v.try, 16, 32); v.word == undone && err == nil {
			s.beyond(uint32(n))
		}
	}
	return false
}

// adopt finds the hold of the attempt that it got by another client: a majority says so, and by which try.
func (s *Store) adopt(a *attempt, t *try) *try {
	t.mu.Lock()
	counts := make(map[string]int)
	var number string
	var token uint64
	for i := range t.seats {
		v := t.seats[i].vote
		if v.word == already && (v.token > 0 || t.form == plainForm || s.config.untokened) {
			counts[v.try]++
			if counts[v.try] >= majority(len(t.seats)) {
				number, token = v.try, v.token
			}
		}
	}
	t.mu.Unlock()
	n, err := strconv.ParseUint(number, 16, 32)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.ended {
		return nil
	}
	other := s.newTry(a, t.ttl, uint32(n), nil)
	other.phase, other.wasHeld, other.token, other.asked = holding, true, token, t.asked
	for i := range other.seats {
		other.seats[i].vote = answer{word: done} // as far as is known
	}
	close(other.done)
	s.beyond(uint32(n))
	a.last = other
	return other
}
