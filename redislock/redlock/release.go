package redlock

import (
	"context"
	"time"

	"holdfast.dev/driver"
)

// Release makes sure that r's attempt neither waits nor holds; see driver.Store. It is done at a majority; nodes that do not answer are told in the
// background, for as long as they may have something.
func (s *Store) Release(ctx context.Context, r *driver.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	a, known := s.undo(r)
	s.mu.Lock()
	t, before, waited := a.last, a.before, a.waits(s.clock.Now(), r.TTL)
	s.mu.Unlock()
	if t == nil && known && waited { // it stood in line, and has asked nobody
		s.forget(r, 0)
		return nil
	}
	if t == nil { // another client may have asked
		t = s.newTry(a, s.ttl(r.TTL), 0, nil)
		t.phase = over
		for i := range t.seats {
			t.seats[i].doubt = true
		}
	}
	t.inherits(before)
	err := t.releaseAll(ctx, s.ttl(r.TTL+extra))
	if err == nil || err == driver.ErrGone {
		s.forget(r, 0)
		s.freed(nil, a.question.keys[0])
		if waited && err == driver.ErrGone && !t.held() {
			return nil // it waited
		}
		return err
	}
	s.forget(r, 2*r.TTL+time.Minute)
	return err
}

// held reports whether the try ever had a majority.
func (t *try) held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wasHeld
}

// releaseAll releases the attempt at every node that may have something of it.
func (t *try) releaseAll(ctx context.Context, ttl time.Duration) error {
	t.mu.Lock()
	ttl = max(ttl, t.ttl)
	p := t.newPoll()
	if t.phase != over {
		if t.phase != holding {
			close(t.done)
		}
		t.phase = over
	}
	t.ended = true
	u := undoing{all: true, ttl: ttl, next: t.s.nextWaits(t.q.keys[0])}
	r := t.s.newRound(releasePatience)
	for i := range t.seats {
		if seat := &t.seats[i]; !seat.has() && !seat.busy {
			p.released(i, answer{word: gone}) // nothing was sent there, or it was refused, or it was released before
			continue
		}
		t.release(i, r, u, func(a answer) { p.released(i, a) })
	}
	t.mu.Unlock()
	r.end()
	return p.await(ctx, ttl)
}

// released takes in what a node says to a release.
func (p *poll) released(i int, a answer) {
	p.answers[i] = a
	n, q := len(p.answers), majority(len(p.answers))
	freed, all := p.count(done)
	switch none, _ := p.count(gone); {
	case freed >= q:
		p.decide(0, nil)
	case none > n-q:
		p.decide(0, driver.ErrGone)
	case all == n && freed+none >= q:
		p.decide(0, nil)
	case all == n:
		p.decide(0, p.t.nodesError(p.answers))
	case freed+none >= q && p.settled != nil:
		close(p.settled)
		p.settled = nil
	}
}

// await waits for the outcome of a release. When a majority has nothing any more the others are waited for only a moment: they tell whether the attempt
// had it, not whether it has.
func (p *poll) await(ctx context.Context, ttl time.Duration) error {
	p.t.mu.Lock()
	settled := p.settled
	p.t.mu.Unlock()
	var moment <-chan time.Time
	for {
		select {
		case <-p.decided:
			return p.result
		case <-settled:
			settled = nil
			timer := time.NewTimer(p.t.s.nodeTimeout(ttl))
			defer timer.Stop()
			moment = timer.C
		case <-moment:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-p.t.s.life.Done():
			return p.t.s.closed()
		}
	}
}
