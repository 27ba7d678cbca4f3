package redislock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// Acquire asks for r and waits its turn; see driver.Store.
func (s *Store) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := s.guard.Usable(ctx); err != nil {
		return nil, err
	}
	p, passed, crowded := s.join(r)
	if p == nil {
		return nil, fmt.Errorf("%w: it was released before it was asked for again", driver.ErrGone)
	}
	w := wait{s: s, r: r, p: p}
	var grant *driver.Grant
	var err error
	if passed { // and the server does not know: what is asked next must not find somebody whose part is over
		_, err = s.renew(ctx, p.turn, r.TTL, false)
	}
	if err == nil || errors.Is(err, driver.ErrGone) || errors.Is(err, driver.ErrBroken) {
		grant, err = w.run(ctx, crowded)
	}
	if loser := s.leave(p, err); loser != nil {
		loser.tell(driver.ErrGone)
	}
	return grant, err
}

// A wait is one call of Acquire: it asks, and asks again whenever it has a reason to.
type wait struct {
	s *Store
	r *driver.Request
	p *party

	st      *guard.Opened  // the store, when the last request was made
	ttl     time.Duration  // that it asked for
	claim   time.Duration  // that it has to claim a grant that comes as a message
	packed  string         // what was asked for, as the engine keeps it
	asked   driver.Instant // the clock before it went out
	queued  bool           // the server has given it a place
	refused error          // why the last question was not answered
	known   error          // why there is no grant yet: *driver.Held or *driver.Guarded
	told    driver.Instant // when Request.Waiting was called last; 0: never
}

// errQueued keeps a refusal of one who waits from being an answer: the attempt may still have its place.
var errQueued = errors.New("it may still be in the queue")

// isPassing reports a refusal that ends by itself, or by an administrator's hand: those who wait go on waiting.
func isPassing(err error) bool {
	return errors.Is(err, ErrMemory) || errors.Is(err, ErrPersistence) || errors.Is(err, ErrReplicas)
}

// errLook: it is time to ask again. errConfirm: a grant has come that must be confirmed.
var (
	errLook    = errors.New("look again")
	errConfirm = errors.New("confirm")
)

func (w *wait) run(ctx context.Context, crowded bool) (*driver.Grant, error) {
	if crowded {
		if grant, err := w.ride(ctx); !errors.Is(err, errLook) {
			return grant, err
		}
	}
	for {
		reply, err := w.ask(ctx)
		if err == nil {
			w.refused = nil
		}
		switch {
		case err != nil && w.queued && isPassing(err):
			w.refused = err // it still has its place, and what it waits for may come all the same
			if grant, err := w.await(ctx, w.pause(0, 0, 0)); !errors.Is(err, errLook) {
				return grant, err
			}
			continue
		case err != nil && !w.r.NoWait && errors.Is(err, ErrReplicas): // after a failover it takes a while until they follow
			w.refused = err
			w.tell(driver.Progress{Why: err.Error()})
			if err := driver.Sleep(ctx, guardLook); err != nil {
				return nil, w.cutOff(ctx, err)
			}
			continue
		case err != nil && w.queued && driver.Answered(err) && !errors.Is(err, driver.ErrGone):
			return nil, errors.Join(err, errQueued)
		case err != nil:
			return nil, w.cutOff(ctx, err)
		case reply.Says == guard.SaysBound: // the store was set up anew, with another guard
			w.s.guard.Forget(*w.st)
			if err := driver.Sleep(ctx, 10*time.Millisecond); err != nil {
				return nil, w.cutOff(ctx, err)
			}
			continue
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

// at notes what is asked for, of the store as it was opened.
func (w *wait) at(st *guard.Opened) {
	w.st, w.ttl = st, st.TTL(w.r.TTL)
	w.claim = min(w.s.config.claim, w.ttl)
}

// ask sends one request, under a new id.
func (w *wait) ask(ctx context.Context) (guard.Reply, error) {
	s, r := w.s, w.r
	st, err := s.guard.Opened(ctx) // so that there is an inbox
	if err != nil {
		return guard.Reply{}, err
	}
	w.at(st)
	channel, how := s.channel, "wait"
	if w.passes() {
		how = "take"
	}
	if !s.inbox.IsUp() {
		if err := w.awaitInbox(ctx); err != nil {
			return guard.Reply{}, err
		}
		if !s.inbox.IsUp() {
			channel = "" // it cannot be told, so it is not queued; but it keeps its place, and gets the lock if that is free
		}
	}
	ok, alone := s.renumber(w.p)
	switch {
	case !ok:
		return guard.Reply{}, driver.ErrGone
	case r.NoWait && alone:
		how = "leave"
	case r.NoWait:
		how = "look"
	}
	before := w.asked
	w.asked = s.clock.Now()
	t := w.p.turn
	packed := w.packs(channel)
	if w.packed = packed; channel == "" {
		w.packed = "" // nothing is passed on to who cannot be told
	}
	answer, err := s.callAt(ctx, st, fnAcquire, t.key, t.secret, s.micros(w.ttl), how, packed)
	if err != nil && !driver.Answered(err) && !errors.As(err, new(*guard.Unsent)) {
		return guard.Reply{}, err
	}
	if err != nil {
		w.packed = ""    // the server knows it by the id before
		w.asked = before // it proves nothing about when the lock was not held yet
	}
	if released := s.answered(w.p, err != nil); released && err == nil {
		return guard.Reply{}, driver.ErrGone
	}
	return answer, err
}

// awaitInbox waits until messages can be heard. Who knows that it has to wait does so for as long as it would before it asks; who may
// find the lock free, for a moment, if the connection has only just broken: it is mostly back at once.
func (w *wait) awaitInbox(ctx context.Context) error {
	patience := w.pause(0, 0, 0)
	if w.known == nil && !w.queued {
		if patience = 100 * time.Millisecond; time.Since(time.Unix(0, w.s.deaf.Load())) > time.Second {
			return ctx.Err()
		}
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := w.s.inbox.Await(soon); err != nil && soon.Err() == nil {
		return w.s.guard.Failure(err)
	}
	return ctx.Err()
}

// packs returns the request as the engine keeps it.
func (w *wait) packs(channel string) string {
	var room [256]byte // mostly enough, and not on the heap
	return string(w.pack(room[:0], channel))
}

// pack appends the request to p.
func (w *wait) pack(p pack, channel string) pack {
	r := w.r
	p = p.text(modeText(r.Mode)).number(int64(r.N)).number(int64(r.Limit)).span(w.ttl).span(w.claim).span(r.Keep).number(int64(reserve(r)))
	return p.span(life(r.TTL)).text(channel).id(w.p.id).text(r.Label).no()
}

// weigh reads an answer: a grant, an error, or how long to wait before asking again.
func (w *wait) weigh(ctx context.Context, a guard.Reply) (*driver.Grant, time.Duration, error) {
	switch a.Says {
	case saysGranted:
		if a.Alone > 0 { // taken, as it was asked for
			return w.p.granted(uint64(a.Alone), 0, w.asked, w.ttl), 0, nil
		}
		return w.p.granted(uint64(a.Number(0)), uint64(a.Number(1)), w.asked, a.Span(2)), 0, nil
	case saysWaits:
		w.queued = true
		return nil, w.pause(int(a.Number(0)), a.Span(1), a.Span(2)), w.standing(ctx, int(a.Number(0)), a.Span(1), a.Span(2), readHolders(a, 3))
	case saysHeld:
		if w.r.NoWait {
			return nil, 0, w.held(ctx, a.Span(0), a.Span(1), readHolders(a, 2))
		}
		w.known = w.held(ctx, a.Span(0), a.Span(1), readHolders(a, 2)) // not queued, because it could not have been told: ask again when it can be
		w.queued = false
		return nil, 0, nil
	case guard.SaysGuarded:
		if w.r.NoWait {
			return nil, 0, w.held(ctx, 0, a.Span(0), nil)
		}
		return nil, w.pause(0, 0, a.Span(0)), w.standing(ctx, 0, 0, a.Span(0), nil)
	}
	return nil, 0, w.refusal(ctx, a)
}

// refusal is an answer that is neither a grant nor a place in the queue.
func (w *wait) refusal(ctx context.Context, a guard.Reply) error {
	switch a.Says {
	case saysGone, saysUndone:
		return fmt.Errorf("%w: it was released before it was asked for", driver.ErrGone)
	case saysOther:
		return fmt.Errorf("%w: the attempt has asked for something else before; use a new one", driver.ErrRequest)
	case saysLimit:
		return &driver.LimitError{N: w.r.N, Want: w.r.Limit, Have: int(a.Number(0))}
	case saysFull:
		return &driver.Refused{Err: ErrQueueFull}
	}
	return w.s.guard.Strange(ctx, fnAcquire)
}

// held is why there is no grant.
func (w *wait) held(ctx context.Context, left, guard time.Duration, holders []driver.Holder) error {
	if guard > 0 {
		return &driver.Guarded{Left: guard, Why: w.s.guard.Reason(ctx)}
	}
	return &driver.Held{Holders: holders, RetryIn: left}
}

// standing notes how things are, and tells the waiter.
func (w *wait) standing(ctx context.Context, place int, left, guard time.Duration, holders []driver.Holder) error {
	w.known = w.held(ctx, left, guard, holders)
	progress := driver.Progress{Place: place, Holders: holders, Guard: guard}
	if known, guarded := w.known.(*driver.Guarded); guarded {
		progress.Why = known.Why
	}
	w.tell(progress)
	return nil
}

// tell tells how things are, at most about once a second.
func (w *wait) tell(p driver.Progress) {
	now := w.s.clock.Now()
	if w.r.Waiting != nil && (w.told == 0 || now.Sub(w.told) >= time.Second) {
		w.told = now
		w.r.Waiting(p)
	}
}

// How often somebody who waits asks, though nothing was heard.
const (
	longest   = 4 * time.Second        // between two questions
	leastLife = 750 * time.Millisecond // of a place in the queue that is not asked for
	stagger   = 20 * time.Millisecond  // between one place and the next, when a hold is to run out
	slack     = 2 * time.Millisecond   // after that
	guardLook = 500 * time.Millisecond // while the guard is on: each question proves that time has passed
)

// life is how long the server keeps a place in the queue that is not asked for. Less than two TTLs, so that what a process leaves
// behind that was killed is gone by then.
func life(ttl time.Duration) time.Duration { return max(ttl+ttl/2, leastLife) }

// pause is how long to wait for a message before asking again.
func (w *wait) pause(place int, left, guard time.Duration) time.Duration {
	pause := min(longest, life(w.r.TTL)*2/5)
	if guard > 0 {
		return min(guardLook, guard+slack)
	}
	pause -= time.Duration(rand.Int64N(int64(pause / 4))) // those who came together do not ask together
	if left > 0 {
		pause = min(pause, left+slack+time.Duration(min(max(place-1, 0), 50))*stagger)
	}
	return pause
}

// reserve is how many further tokens are asked for. Readers share theirs.
func reserve(r *driver.Request) uint64 {
	if r.Mode == driver.Shared {
		return 0
	}
	return min(uint64(r.Reserve), MaxReserve)
}

// granted is what comes of a call of Acquire.
func (p *party) granted(token, spare uint64, asked driver.Instant, ttl time.Duration) *driver.Grant {
	p.grant = driver.Grant{Token: token, Spare: spare, Asked: asked, TTL: ttl, Lease: lease{p.turn}}
	return &p.grant
}
