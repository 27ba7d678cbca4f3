package redislock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"holdfast.dev/driver"
)

// await waits for a message, for the time to ask again (errLook), or for the end. A grant whose message may be old is confirmed.
func (w *wait) await(ctx context.Context, pause time.Duration) (*driver.Grant, error) {
	grant, err := w.awaitNews(ctx, pause)
	if errors.Is(err, errConfirm) {
		return w.confirm(ctx)
	}
	return grant, err
}

// confirm claims a grant that came as a message, before anybody believes in it. If it has lapsed, it is time to ask again.
func (w *wait) confirm(ctx context.Context) (*driver.Grant, error) {
	s, p := w.s, w.p
	asked := s.clock.Now()
	left, err := s.renew(ctx, p.turn, w.ttl, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	pushed := p.pushed
	switch {
	case p.turn.released:
		return nil, driver.ErrGone
	case errors.Is(err, driver.ErrGone), errors.Is(err, driver.ErrBroken):
		p.pushed = nil
		return nil, errLook
	case err != nil && driver.Answered(err):
		return nil, errors.Join(err, errQueued)
	case err != nil:
		return nil, w.cutOff(ctx, err)
	}
	return p.granted(pushed.token, pushed.spare, asked, left), nil
}

func (w *wait) awaitNews(ctx context.Context, pause time.Duration) (*driver.Grant, error) {
	timer := w.sit(pause)
	defer w.rise()
	for {
		select {
		case <-timer.C:
			if grant, err := w.news(true); grant != nil || err != nil {
				return grant, err
			}
			return nil, errLook
		case <-w.p.wake:
		case <-w.s.guard.Life().Done():
			return nil, w.s.guard.ClosedError()
		case <-ctx.Done():
			if grant, err := w.news(true); grant != nil || errors.Is(err, driver.ErrGone) {
				return grant, err // already in hand
			}
			w.learn()
			return nil, w.cutOff(ctx, ctx.Err())
		}
		if grant, err := w.news(false); grant != nil || err != nil {
			return grant, err
		}
	}
}

// learn is for one that has not asked yet: it takes over what is known by the one whose place it shares.
func (w *wait) learn() {
	if w.known != nil {
		return
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.p.with != nil {
		w.known = w.p.with.known
	}
	if w.known == nil {
		w.known = new(driver.Held) // others wait for it, and nothing more is known
	}
}

// sit begins to wait: from now on messages wake it, or set its timer.
func (w *wait) sit(pause time.Duration) *time.Timer {
	s, p := w.s, w.p
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.lookIn > 0 {
		pause = min(pause, p.lookIn)
	}
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
	}
	p.timer, p.due = time.NewTimer(pause), time.Now().Add(pause)
	s.enter(p, w.queued)
	p.sits, p.known, p.turn.packed, p.turn.ttl = true, w.known, w.packed, w.ttl
	p.rouse() // it looks first: something may have come before there was anybody to wake
	return p.timer
}

// rise ends a wait.
func (w *wait) rise() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.p.timer.Stop()
	w.p.timer, w.p.sits = nil, false
}

// news is what the messages say: a grant; errLook; ErrGone, if the attempt was released; or nothing. With last it will not be asked for
// again, and nothing can be passed on to the waiter from then on.
func (w *wait) news(last bool) (*driver.Grant, error) {
	s, p := w.s, w.p
	s.mu.Lock()
	defer s.mu.Unlock()
	if last || p.look {
		p.sits = false
	}
	switch {
	case p.turn.released:
		return nil, driver.ErrGone
	case p.pushed != nil:
		// The message may be old. What is certain is that the lock was not held yet when the last question went out; and that the
		// server keeps it for the time to claim it. A minimum hold counts only if somebody has run under it: so it is claimed first.
		asked, ttl, again := w.asked, w.claim, time.Duration(math.MaxInt64)
		switch relay := p.turn.relay; {
		case relay != nil:
			asked, ttl, again = relay.asked, relay.ttl, relay.patience()
		case p.pushed.relay != nil:
			s.begin(p.pushed.relay, p.turn, p.pushed.token, asked, ttl)
		}
		now, end := s.clock.Now(), asked.Add(ttl)
		left := end.Sub(now)
		if isShort(left, ttl) || w.r.Keep > 0 {
			return nil, errConfirm
		}
		want := w.r.TTL
		p.claim = time.AfterFunc(min(left*45/100, again), func() { s.claimLater(p, want, end) })
		if p.turn.relay != nil && p.pushed.relay == nil {
			// It was passed on: its own time begins now. What is left of the relay's ends with the same margin as for the others.
			asked, ttl = now, left-driver.Margin(ttl)+driver.Margin(left)
		}
		return p.granted(p.pushed.token, p.pushed.spare, asked, ttl), nil
	case p.look:
		return nil, errLook
	}
	return nil, nil
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
	if w.refused != nil {
		err = fmt.Errorf("%w: %w", w.refused, err)
	}
	if w.known != nil {
		err = errors.Join(w.known, err)
	}
	return err
}
