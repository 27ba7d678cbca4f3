package holdfast

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// A keep renews one lease of the store, for all tenures that live by it: mostly one, but all of a client's where the store has
// sessions. Renewal has three answers:
//
//	renewed  the deadline moves to the moment the request went out + what the store says − margin
//	gone     the tenures are lost, at once
//	unknown  nothing is known, so nothing moves: it is asked again, and again, and the tenures' own alarms end them at the deadline
//
// Each renewal runs on a goroutine of its own, one at a time for a lease, so that a store, node or shard that hangs delays
// nobody else's.
type keep struct {
	c       *Client
	lease   driver.Lease
	ask     time.Duration  // the TTL to ask for
	span    time.Duration  // what is confirmed at a time: it paces renewals, and how long they are waited for
	end     driver.Instant // valid until then, as confirmed
	tenures []*tenure
	first   [1]*tenure // where the tenures are as long as it is one
	due     alarm
	backoff driver.Backoff
	busy    bool  // a renewal is under way
	problem error // why the last regular renewal failed
}

// validUntil is the rule of time that everything rests on: a hold is valid from the moment before the request that was granted or
// renewed went out, for what the store promised, less the margin by which clocks may differ.
func validUntil(asked driver.Instant, ttl time.Duration) driver.Instant {
	return asked.Add(ttl - driver.Margin(ttl))
}

// keepFor returns the keep of grant's lease, a new one if it is the first by it. c.mu is held.
func (c *Client) keepFor(grant *driver.Grant, ask time.Duration) *keep {
	k := c.keeps[grant.Lease]
	if k == nil {
		k = &keep{c: c, lease: grant.Lease, end: validUntil(grant.Asked, grant.TTL)}
		k.due.What, k.tenures, k.backoff.Rand = k, k.first[:0], c.random
		c.keeps[grant.Lease] = k
	}
	k.ask = max(k.ask, ask)
	k.pace(grant.TTL)
	k.end = max(k.end, validUntil(grant.Asked, grant.TTL))
	return k
}

// join adds t, and sees to the next renewal. c.mu is held.
//
// A grant that came by a push counts from a moment long past, and its renewal would be due at once. But most holds are short: as long
// as enough of it is left, it gets a little time to end without one.
func (k *keep) join(t *tenure, grant *driver.Grant, now driver.Instant) {
	k.tenures = append(k.tenures, t)
	if !k.busy {
		soon := min(now.Add(k.span/10), k.end.Add(-k.span/3))
		k.next(max(grant.Asked, soon.Add(-k.span/3)))
	}
}

// leave removes t; the last one ends the keep. c.mu is held.
func (k *keep) leave(t *tenure) {
	if i := slices.Index(k.tenures, t); i >= 0 {
		k.tenures = slices.Delete(k.tenures, i, i+1)
	}
	if len(k.tenures) == 0 {
		k.c.schedule.clear(&k.due)
		if k.c.keeps[k.lease] == k {
			delete(k.c.keeps, k.lease)
		}
	}
}

// pace takes in what the store has confirmed: a session's TTL, or the lock's own. What Extend has added does not count: renewals,
// by which a loss is noticed, do not become rare. c.mu is held.
func (k *keep) pace(holds time.Duration) {
	k.span = holds
	if g := k.c.known.Load(); g == nil || g.Session == 0 {
		k.span = min(holds, k.ask)
	}
	k.backoff.Min, k.backoff.Max = max(k.span/50, 5*time.Millisecond), max(k.span/10, 10*time.Millisecond)
}

// next sets the alarm for the next renewal, a third of the span after asked, a little earlier at random, unless one is due before.
// c.mu is held.
func (k *keep) next(asked driver.Instant) {
	if !k.needed() {
		return
	}
	third := k.span / 3
	k.c.schedule.advance(&k.due, asked.Add(third-time.Duration(k.c.random()*float64(third)/5)))
}

// needed reports whether any tenure wants to live longer than the lease does: not one that is Fixed, nor one that is ending.
// c.mu is held.
func (k *keep) needed() bool {
	return slices.ContainsFunc(k.tenures, func(t *tenure) bool { return t.lost == nil && k.end.Before(t.localEnd) })
}

// ring is what the alarm does: it asks the store, on a goroutine of its own.
func (k *keep) ring() {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if k.busy || !k.needed() || k.c.ended {
		return
	}
	k.busy = true
	ask := k.ask
	limit := min(k.end.Sub(k.c.clock.Now()), max(k.span/3, 100*time.Millisecond))
	k.c.spawn(func() {
		ctx, cancel := context.WithTimeout(k.c.base, limit)
		defer cancel()
		k.try(ctx, ask, true)
	})
}

// try asks the store for ttl and takes its answer in. regular: it is the renewal that busy stands for, not a caller's own, which
// moves the deadline and nothing else.
func (k *keep) try(ctx context.Context, ttl time.Duration, regular bool) error {
	asked := k.c.clock.Now()
	holds, err := k.lease.Renew(ctx, ttl)
	if err == nil && holds <= 0 {
		err = errors.New("the store confirmed a renewal without saying for how long")
	}
	return k.answer(asked, holds, err, regular)
}

// answer takes in what the store said to a renewal that went out at asked.
func (k *keep) answer(asked driver.Instant, holds time.Duration, err error, regular bool) error {
	c := k.c
	now := c.clock.Now()
	c.mu.Lock()
	if k.busy = k.busy && !regular; regular {
		k.problem = err
	}
	var after aftermath
	switch {
	case err == nil && !now.Before(k.end): // too late: what has ended does not begin again, and its alarm is about to say so
	case err == nil:
		k.end = max(k.end, validUntil(asked, holds))
		if regular {
			k.backoff.Reset()
			k.pace(holds)
			k.next(asked)
		}
	case lossOf(err) != "":
		for _, t := range slices.Clone(k.tenures) {
			after.join(t.lose(lossOf(err), err, now))
		}
	case regular && k.needed():
		c.schedule.advance(&k.due, now.Add(k.backoff.Next()))
	}
	var events []Event
	if regular {
		events = k.events(asked, now, err)
	}
	c.mu.Unlock()
	after.run()
	for _, e := range events {
		c.observe(c.base, e)
	}
	return err
}

// events tells of a renewal, tenure by tenure, if somebody listens. c.mu is held.
func (k *keep) events(asked, now driver.Instant, err error) (events []Event) {
	if k.c.config.observer == nil || lossOf(err) != "" {
		return nil
	}
	kind := EventRenewed
	if err != nil {
		kind = EventUnrenewed
	}
	for _, t := range k.tenures {
		e := t.event(kind, now)
		e.Took, e.Err = now.Sub(asked), err
		events = append(events, e)
	}
	return events
}

// lossOf returns why err, from a renewal or from Request.Lost, ends a hold; "" if it does not.
func lossOf(err error) Reason {
	switch {
	case errors.Is(err, driver.ErrBroken):
		return ReasonBroken
	case errors.Is(err, driver.ErrSession):
		return ReasonSession
	case errors.Is(err, driver.ErrGone):
		return ReasonTaken
	}
	return ""
}
