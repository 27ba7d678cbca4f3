package driver

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Backoff is a growing, jittered delay: each is half as long again as the one before, from Min to Max, and shortened at random
// by up to a half, so that those who failed together do not come back together.
type Backoff struct {
	Min, Max time.Duration
	Rand     func() float64 // in [0,1); nil: math/rand/v2

	next time.Duration
}

// Next returns the next delay.
func (b *Backoff) Next() time.Duration {
	random := b.Rand
	if random == nil {
		random = rand.Float64
	}
	b.next = min(max(b.next+b.next/2, b.Min), b.Max)
	return b.next - time.Duration(random()*float64(b.next)/2)
}

// Reset begins anew at Min.
func (b *Backoff) Reset() { b.next = 0 }

// Sleep waits for d or for the end of ctx, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Poll is how a store waits that cannot tell its waiters when it is their turn: it calls try until that answers something other
// than *Held or *Guarded, with back-off and jitter, sooner if the answer says when to ask again. With r.NoWait it tries once.
// When ctx ends it returns the last answer joined with ctx.Err(), as rule A4 of Store asks.
func Poll(ctx context.Context, r *Request, b Backoff, try func(context.Context) (*Grant, error)) (*Grant, error) {
	for {
		grant, err := try(ctx)
		if r.NoWait || err == nil {
			return grant, err
		}
		var held *Held
		var guarded *Guarded
		var hint time.Duration
		switch {
		case errors.As(err, &held):
			hint = held.RetryIn
			r.waiting(Progress{Holders: held.Holders})
		case errors.As(err, &guarded):
			hint = guarded.Left
			r.waiting(Progress{Guard: guarded.Left})
		default:
			return nil, err
		}
		delay := b.Next()
		if hint > 0 {
			delay = min(delay, hint)
		}
		if ended := Sleep(ctx, delay); ended != nil {
			return nil, errors.Join(err, ended)
		}
	}
}

func (r *Request) waiting(p Progress) {
	if r.Waiting != nil {
		r.Waiting(p)
	}
}
