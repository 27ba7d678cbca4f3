package redislock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"holdfast.dev/driver"
)

// Acquire asks for r and waits its turn; see driver.Store.
func (s *Store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	p := s.join(r)
	w := wait{s: s, r: r, p: p, claim: min(s.config.claim, r.TTL)}
	grant, err := w.run(ctx)
	s.leave(p, err == nil)
	return grant, err
}

// A wait is one call of Acquire: it asks, and asks again whenever it has a reason to.
type wait struct {
	s     *Store
	r     *driver.Request
	p     *party
	claim time.Duration

	asked  driver.Instant // the clock before the last request went out
	queued bool           // the server has given it a place
	known  error          // why there is no grant yet: *driver.Held or *driver.Guarded
	told   driver.Instant // when Request.Waiting was called last; 0: never
}

// errLook: it is time to ask again.
var errLook = errors.New("look again")

func (w *wait) run(ctx context.Context) (*driver.Grant, error) {
	for {
		reply, err := w.ask(ctx)
		if err != nil {
			return nil, w.cutOff(ctx, err)
		}
		grant, pause, err := w.weigh(ctx, reply)
		if grant != nil || err != nil {
			return grant, err
		}
		if grant, err = w.await(ctx, pause); !errors.Is(err, errLook) {
			return grant, err
		}
	}
}

// ask sends one request, under a new id.
func (w *wait) ask(ctx context.Context) (reply, error) {
	s, r := w.s, w.r
	if _, err := s.opened(ctx); err != nil { // so that there is an inbox
		return reply{}, err
	}
	channel, how := s.channel, "wait"
	if r.Mode == driver.Exclusive && r.Keep == 0 && r.Reserve == 0 {
		how = "take"
	}
	if !s.hears.Load() {
		if w.known != nil || w.queued { // it has to wait, so it must be told: ask when that is possible
			if err := s.inbox.Await(ctx); err != nil {
				return reply{}, err
			}
		} else {
			channel = ""
		}
	}
	if r.NoWait {
		how = "leave"
		if !s.alone(w.p) {
			how = "look"
		}
	}
	if !s.renumber(w.p) {
		return reply{}, driver.ErrGone
	}
	w.asked = s.clock.Now()
	t := w.p.turn
	answer, err := s.call(ctx, fnAcquire, t.key, t.secret, micros(s.ttl(r.TTL)), how, string(w.pack(channel)))
	if err != nil && !driver.Answered(err) {
		return reply{}, err
	}
	if released := s.answered(w.p); released && err == nil {
		return reply{}, driver.ErrGone
	}
	return answer, err
}

// pack is the request as the engine keeps it.
func (w *wait) pack(channel string) pack {
	r := w.r
	p := make(pack, 0, 128+len(channel)+len(r.Label))
	p = p.text(modeText(r.Mode)).number(int64(r.N)).number(int64(r.Limit)).span(w.s.ttl(r.TTL)).span(w.claim).span(r.Keep).number(int64(reserve(r)))
	return p.span(life(r.TTL)).text(channel).text(strconv.FormatUint(w.p.id, 10)).text(r.Label).no()
}

// weigh reads an answer: a grant, an error, or how long to wait before asking again.
func (w *wait) weigh(ctx context.Context, a reply) (*driver.Grant, time.Duration, error) {
	switch a.says {
	case saysGranted:
		if a.alone > 0 { // taken, as it was asked for
			return w.s.grant(w.r, uint64(a.alone), 0, w.asked, w.s.ttl(w.r.TTL)), 0, nil
		}
		return w.s.grant(w.r, uint64(a.number(0)), uint64(a.number(1)), w.asked, a.span(2)), 0, nil
	case saysWaits:
		w.queued = true
		return nil, w.pause(int(a.number(0)), a.span(1), a.span(2)), w.standing(int(a.number(0)), a.span(1), a.span(2), a.holders(3))
	case saysHeld:
		if w.r.NoWait {
			return nil, 0, held(a.span(0), a.span(1), a.holders(2))
		}
		w.known = held(a.span(0), a.span(1), a.holders(2)) // not queued, because it could not have been told: ask again when it can be
		return nil, 0, nil
	case saysGuarded:
		if w.r.NoWait {
			return nil, 0, held(0, a.span(0), nil)
		}
		return nil, w.pause(0, 0, a.span(0)), w.standing(0, 0, a.span(0), nil)
	}
	return nil, 0, w.refusal(ctx, a)
}

// refusal is an answer that is neither a grant nor a place in the queue.
func (w *wait) refusal(ctx context.Context, a reply) error {
	switch a.says {
	case saysGone, saysUndone:
		return fmt.Errorf("%w: it was released before it was asked for", driver.ErrGone)
	case saysOther:
		return fmt.Errorf("%w: the attempt has asked for something else before; use a new one", driver.ErrRequest)
	case saysLimit:
		return &driver.LimitError{N: w.r.N, Want: w.r.Limit, Have: int(a.number(0))}
	case saysFull:
		return &driver.Refused{Err: ErrQueueFull}
	}
	return w.s.strange(ctx, fnAcquire)
}

// held is why there is no grant.
func held(left, guard time.Duration, holders []driver.Holder) error {
	if guard > 0 {
		return &driver.Guarded{Left: guard}
	}
	return &driver.Held{Holders: holders, RetryIn: left}
}

// standing tells the waiter how things are, at most about once a second.
func (w *wait) standing(place int, left, guard time.Duration, holders []driver.Holder) error {
	w.known = held(left, guard, holders)
	now := w.s.clock.Now()
	if w.r.Waiting != nil && (w.told == 0 || now.Sub(w.told) >= time.Second) {
		w.told = now
		w.r.Waiting(driver.Progress{Place: place, Holders: holders, Guard: guard})
	}
	return nil
}

// How often somebody who waits asks, though nothing was heard.
const (
	leastLife = 10 * time.Second       // of a place in the queue that is not asked for
	stagger   = 20 * time.Millisecond  // between one place and the next, when a hold is to run out
	slack     = 2 * time.Millisecond   // after that
	guardLook = 500 * time.Millisecond // while the guard is on: each question proves that time has passed
)

// life is how long the server keeps a place in the queue that is not asked for.
func life(ttl time.Duration) time.Duration { return max(2*ttl, leastLife) }

// pause is how long to wait for a message before asking again.
func (w *wait) pause(place int, left, guard time.Duration) time.Duration {
	pause := leastLife * 2 / 5
	if guard > 0 {
		return min(guardLook, guard+slack)
	}
	pause -= time.Duration(rand.Int64N(int64(pause / 4))) // those who came together do not ask together
	if left > 0 {
		pause = min(pause, left+slack+time.Duration(min(max(place-1, 0), 50))*stagger)
	}
	return pause
}

// await waits for a message, for the time to ask again (errLook), or for the end.
func (w *wait) await(ctx context.Context, pause time.Duration) (*driver.Grant, error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	w.s.mu.Lock()
	if w.p.wake == nil {
		w.p.wake = make(chan struct{}, 1)
	}
	w.p.rouse() // look first: something may have come before there was anybody to wake
	w.s.mu.Unlock()
	for {
		select {
		case <-timer.C:
			return nil, errLook
		case <-w.p.wake:
		case <-w.s.life.Done():
			return nil, w.s.closed()
		case <-ctx.Done():
			if grant, err := w.news(); grant != nil || errors.Is(err, driver.ErrGone) {
				return grant, err // already in hand
			}
			return nil, w.cutOff(ctx, ctx.Err())
		}
		grant, err := w.news()
		if grant != nil || err != nil {
			return grant, err
		}
		if in := w.lookIn(); in > 0 {
			timer.Reset(in)
		}
	}
}

// news is what the messages say: a grant; errLook; ErrGone, if the attempt was released; or nothing.
func (w *wait) news() (*driver.Grant, error) {
	s, p := w.s, w.p
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.turn.released:
		return nil, driver.ErrGone
	case p.pushed != nil:
		// The message may be old. What is certain is that the lock was not held yet when the last question went out; and that the
		// server keeps it for the time to claim it.
		if left := w.asked.Add(w.claim).Sub(s.clock.Now()); left < w.claim/10+2*driver.Margin(w.claim) {
			return nil, errLook
		}
		p.claim = time.AfterFunc(w.claim*45/100, func() { s.claimLater(w.r, p, w.asked.Add(w.claim)) })
		return s.grant(w.r, p.pushed.token, p.pushed.spare, w.asked, w.claim), nil
	case p.look:
		return nil, errLook
	}
	return nil, nil
}

func (w *wait) lookIn() time.Duration {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	in := w.p.lookIn
	w.p.lookIn = 0
	return in
}

// cutOff adds what is known to the error of a wait that has ended. Without the context's error Held would be an answer (A4).
func (w *wait) cutOff(ctx context.Context, err error) error {
	ended := ctx.Err()
	if ended == nil || driver.Answered(err) {
		return err
	}
	if !errors.Is(err, ended) {
		err = errors.Join(err, ended)
	}
	if w.known != nil {
		err = errors.Join(w.known, err)
	}
	return err
}

// ttl is what the server is asked for.
func (s *Store) ttl(wish time.Duration) time.Duration {
	return min(max(wish, MinTTL), s.maxTTL())
}

func (s *Store) maxTTL() time.Duration {
	if st := s.state.Load(); st != nil && st.guard > 0 {
		return min(MaxTTL, st.guard)
	}
	return MaxTTL
}

// reserve is how many further tokens are asked for. Readers share theirs.
func reserve(r *driver.Request) uint64 {
	if r.Mode == driver.Shared {
		return 0
	}
	return min(uint64(r.Reserve), MaxReserve)
}

func (s *Store) grant(r *driver.Request, token, spare uint64, asked driver.Instant, ttl time.Duration) *driver.Grant {
	return &driver.Grant{Token: token, Spare: spare, Asked: asked, TTL: ttl, Lease: lease{s, whoOf(r)}}
}
