package driver

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Backoff is a growing, jittered delay: each is half as long again as the one before, from Min to Max, and shortened at random
// by up to a half, so that those who failed together do not come back together. The zero value is ready to use.
type Backoff struct {
	Min  time.Duration  // 0: 1 ms
	Max  time.Duration  // 0: 1 s; if it is less than Min, every delay is Max
	Rand func() float64 // in [0,1); nil: math/rand/v2

	next time.Duration
}

// Next returns the next delay.
func (b *Backoff) Next() time.Duration {
	shortest, longest, random := b.Min, b.Max, b.Rand
	if shortest <= 0 {
		shortest = time.Millisecond // never zero: those who wait must not become a busy loop
	}
	if longest <= 0 {
		longest = time.Second
	}
	if random == nil {
		random = rand.Float64
	}
	if b.next < longest-longest/3 { // or a half more would be beyond longest, and might overflow
		b.next = min(max(b.next+b.next/2, shortest), longest)
	} else {
		b.next = longest
	}
	return b.next - time.Duration(random()*float64(b.next)/2)
}

// Reset begins anew at Min.
func (b *Backoff) Reset() { b.next = 0 }

// Sleep waits for d or for the end of ctx, whose error it then returns, also if ctx has ended before.
func Sleep(ctx context.Context, d time.Duration) error {
	_, err := pause(ctx, d, nil)
	return err
}

// pause waits for d, until somebody is woken, or for the end of ctx.
func pause(ctx context.Context, d time.Duration, woken <-chan struct{}) (told bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-woken:
		return true, nil
	case <-timer.C:
		return false, nil
	}
}

// Poll is how a store waits that cannot tell its waiters when it is their turn: it calls try until that answers something other
// than *Held or *Guarded, with back-off and jitter, sooner if the answer says when to ask again. With r.NoWait it tries once.
//
// When ctx ends it returns the last answer joined with ctx.Err(), as rule A4 of Store asks, also if it was try that noticed. An
// unknown error is returned at once, as it is: what was answered before says nothing about the request that is still under way.
//
// Rule R1: a Release of the same attempt must end the Poll. A driver that has no tombstones ends its context.
//
// It tells r.Waiting at the first answer, when *Held becomes *Guarded or the other way round, and otherwise once a second.
func Poll(ctx context.Context, r *Request, b Backoff, try func(context.Context) (*Grant, error)) (*Grant, error) {
	return Watch(ctx, r, b, nil, try)
}

// Watch is Poll for a store that can tell its waiters when it is worth asking again, but does not promise to: whatever comes on woken ends
// the pause, and the next one begins at b.Min again.
func Watch(ctx context.Context, r *Request, b Backoff, woken <-chan struct{}, try func(context.Context) (*Grant, error)) (*Grant, error) {
	var last error
	var told time.Time
	var guard bool
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		grant, err := try(ctx)
		if r.NoWait || err == nil {
			return grant, err
		}
		progress, hint, taken := wait(err)
		if !taken {
			return nil, cutOff(ctx, last, err)
		}
		if now := time.Now(); r.Waiting != nil && (last == nil || guard != (progress.Guard > 0) || now.Sub(told) >= time.Second) {
			told, guard = now, progress.Guard > 0
			r.Waiting(progress)
		}
		last = err
		delay := b.Next()
		if hint > 0 {
			delay = min(delay, hint)
		}
		switch told, ended := pause(ctx, delay, woken); {
		case ended != nil:
			return nil, errors.Join(err, ended)
		case told:
			b.Reset()
		}
	}
}

// wait reports whether err is an answer after which it is worth asking again, what to tell the waiter, and when to ask (0: not known).
func wait(err error) (p Progress, hint time.Duration, taken bool) {
	if !Answered(err) { // it may carry an answer beside the end of a context: the last request is unknown all the same
		return Progress{}, 0, false
	}
	if held, ok := errors.AsType[*Held](err); ok {
		return Progress{Holders: held.Holders}, held.RetryIn, true
	}
	if guarded, ok := errors.AsType[*Guarded](err); ok {
		return Progress{Guard: guarded.Left, Why: guarded.Why}, guarded.Left, true
	}
	return Progress{}, 0, false
}

// cutOff adds what rule A4 asks for to the error of a try during which ctx has ended. Joined with ctx.Err() it is no answer.
func cutOff(ctx context.Context, last, err error) error {
	ended := ctx.Err()
	if ended == nil || Answered(err) {
		return err
	}
	if !errors.Is(err, ended) {
		err = errors.Join(err, ended)
	}
	_, held := errors.AsType[*Held](err)
	_, guarded := errors.AsType[*Guarded](err)
	if last == nil || held || guarded {
		return err
	}
	return errors.Join(last, err)
}
