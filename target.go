package holdfast

import (
	"context"
	"errors"
	"fmt"

	"holdfast.dev/driver"
)

// A target is what is to be held: which lock of which client, in which mode, with which options.
type target struct {
	c        *Client
	name     string
	mode     driver.Mode
	n, limit int // Permits
	config   lockConfig
}

// lock is what every Lock and TryLock does.
func (t *target) lock(ctx context.Context, noWait bool) (*Hold, error) {
	c := t.c
	if err := t.precheck(ctx); err != nil {
		return nil, err
	}
	wait, err := c.beginWait(ctx)
	if err != nil {
		return nil, err
	}
	defer c.endWait(wait)
	var started driver.Instant
	if c.config.observer != nil { // nobody else wants to know
		started = c.clock.Now()
	}
	hold, err := t.reenterOrAcquire(ctx, wait, noWait, started)
	if c.config.observer != nil {
		e := Event{Kind: EventFailed, Name: t.name, Mode: t.mode, Label: t.config.label(), Waited: c.clock.Now().Sub(started), Err: err}
		if err == nil {
			e.Kind, e.Mode = EventAcquired, hold.t.req.Mode // a reader inside a writer holds as that does
			e.Token, e.Count, e.Left = hold.Token(), hold.Count(), hold.Left()
		}
		c.observe(ctx, e)
	}
	return hold, err
}

// precheck reports everything that is wrong without asking the store.
func (t *target) precheck(ctx context.Context) error {
	if ctx == nil {
		return argumentError("the context is nil")
	}
	if t.c == nil || t.c.store == nil {
		return argumentError("the client, or what was to be locked, was not made by Open or New")
	}
	if err := checkName(t.name); err != nil {
		return err
	}
	if err := t.config.check(); err != nil {
		return err
	}
	if t.mode == driver.Permits && (t.n < 1 || t.n > t.limit) {
		return fmt.Errorf("holdfast: %w: semaphore %q: %w", ErrArgument, t.name, &LimitError{N: t.n, Want: t.limit})
	}
	if ctx.Err() != nil {
		return endedError(ctx, fmt.Sprintf("%s %q", kind(t.mode), t.name))
	}
	return nil
}

// reenterOrAcquire waits until wait ends: with the caller's ctx or with the client. The hold ends with neither.
func (t *target) reenterOrAcquire(ctx context.Context, wait *wait, noWait bool, started driver.Instant) (*Hold, error) {
	c, until := t.c, wait.of(ctx)
	if outer := heldIn(ctx, c, t.name); outer != nil && t.mode != driver.Permits {
		if hold, err := t.reenter(until, outer, noWait); hold != nil || err != nil {
			return hold, err
		}
	}
	backoff := c.backoff()
	for tries := 1; ; tries++ {
		a := &attempt{c: c, config: &t.config, started: started}
		a.req = driver.Request{
			Name: t.name, Attempt: c.attempts.Next(), Label: t.config.label(), Mode: t.mode, N: t.n, Limit: t.limit,
			TTL: t.config.ttl, Keep: t.config.minHold, NoWait: noWait, Waiting: a.waiting, Lost: a.storeLost,
		}
		hold, err := a.run(until, &backoff)
		switch {
		case err == nil:
			return hold, nil
		case errors.Is(err, errAnew) && !(noWait && tries >= tryAsks) && driver.Sleep(wait, backoff.Next()) == nil:
			continue
		case wait.Err() != nil && c.isClosed():
			return nil, c.gone
		}
		return nil, a.explain(err, ctx.Err())
	}
}
