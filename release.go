package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev/driver"
)

// How long a caller waits for what is being cleaned up behind it, before that goes on in the background.
const (
	undoWait   = time.Second     // a Lock that was cancelled
	unlockWait = 5 * time.Second // an Unlock
	closeWait  = 2 * time.Second // a Close
)

// release makes sure that req's attempt neither waits nor holds. It returns nil, driver.ErrGone if the store's first answer was
// that, or, after wait, a *StoreError: then it goes on in the background, until the store has let go by itself for certain. end is
// until when the hold is valid if the answer never comes. The caller is counted by begin.
func (c *Client) release(req *driver.Request, wait time.Duration, end driver.Instant) error {
	begun := c.clock.Now()
	err := c.releaseUntil(req, begun, begun.Add(wait), true)
	switch {
	case err == nil, errors.Is(err, driver.ErrGone):
		return err
	case hopeless(err) && !errors.Is(err, ErrClosed):
		return c.storeError("unlock", req.Name, err)
	}
	giveUp := c.giveUp(req, begun, end)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.spawn(func() { c.releaseUntil(req, c.clock.Now(), giveUp, false) }) || c.closed {
		return c.storeError("unlock", req.Name, fmt.Errorf("not confirmed, it is left to its TTL: %w", err))
	}
	return c.storeError("unlock", req.Name, fmt.Errorf("not confirmed yet, it goes on in the background: %w", err))
}

// releaseLater releases in the background from the start.
func (c *Client) releaseLater(req *driver.Request, end driver.Instant) {
	now := c.clock.Now()
	giveUp := c.giveUp(req, now, end)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spawn(func() { c.releaseUntil(req, now, giveUp, false) })
}

// giveUp is when the store has let go by itself for certain, of a hold that is valid until end, and of a request that was on its
// way at now.
func (c *Client) giveUp(req *driver.Request, now, end driver.Instant) driver.Instant {
	g := c.known.Load()
	if g == nil || g.MaxTTL == 0 && g.Session == 0 {
		return driver.Never
	}
	ttl := max(req.TTL, g.Session)
	if end != driver.Never { // else it ends with its session, or with another's news
		ttl = max(ttl, end.Sub(now))
	}
	return now.Add(ttl + 2*driver.Margin(ttl))
}

// hopeless reports whether a Release that failed with err would fail so for ever. A store that refuses otherwise, because it has
// become read-only for instance, may think better of it.
func hopeless(err error) bool {
	return errors.Is(err, ErrClosed) || driver.Answered(err) &&
		(errors.Is(err, driver.ErrRequest) || errors.Is(err, ErrName) || errors.Is(err, ErrUnsupported))
}

// releaseUntil repeats Release, from now on, until the store has answered, the client ends, or until late. waited: somebody waits
// for it, who is told of a refusal at once.
func (c *Client) releaseUntil(req *driver.Request, now, late driver.Instant, waited bool) error {
	backoff := c.backoff()
	for asks := 1; ; asks++ {
		err := c.releaseOnce(req, late.Sub(now))
		switch {
		case errors.Is(err, driver.ErrSession):
			err = errors.Join(driver.ErrGone, err)
			fallthrough
		case errors.Is(err, driver.ErrGone):
			if asks > 1 {
				return nil // by an earlier ask, whose answer was lost
			}
			return err
		case err == nil, hopeless(err), waited && driver.Answered(err):
			return err
		}
		// A last ask with no time left for its answer would be of no use: sleep on, and say so.
		left := late.Sub(c.clock.Now())
		pause := min(backoff.Next(), left)
		if pause <= 0 || driver.Sleep(c.base, pause) != nil || pause == left {
			return err
		}
		now = c.clock.Now()
	}
}

// releaseOnce asks the store once, and does not wait for ever for an answer that got lost.
func (c *Client) releaseOnce(req *driver.Request, wait time.Duration) error {
	usual := min(max(req.TTL/3, 500*time.Millisecond), unlockWait)
	if wait >= usual {
		return c.store.Release(c.within(usual), req)
	}
	ctx, cancel := context.WithTimeout(c.base, wait)
	defer cancel()
	return c.store.Release(ctx, req)
}

// A span is a context that many calls share which need one that ends at about the same time: making one for each would cost more than
// all else that the client does for an Unlock.
type span struct {
	context.Context
	length time.Duration
	begun  time.Time
}

// within returns a context that ends after d, or up to a fifth earlier.
func (c *Client) within(d time.Duration) context.Context {
	now := time.Now()
	if s := c.span.Load(); s != nil && s.length == d && now.Sub(s.begun) < d/5 {
		return s
	}
	ctx, cancel := context.WithTimeout(c.base, d)
	context.AfterFunc(ctx, cancel)
	s := &span{ctx, d, now}
	c.span.Store(s)
	return s
}
