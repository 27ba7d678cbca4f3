package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"holdfast.dev/driver"
)

const tryAsks = 3 // how often TryLock asks a store that gives no usable answer

// An attempt is one request on its way to a grant. It asks the store as often as need be, always under the same id, so that an
// answer that got lost costs nothing; and it leaves nothing behind when it gives up.
type attempt struct {
	c       *Client
	req     driver.Request
	config  *lockConfig
	started driver.Instant // 0 without an observer, who is told how long things took
	asked   bool           // the store was asked for the lock at least once

	standing atomic.Pointer[driver.Progress] // how things stood when last heard of
	tenure   *tenure                         // once granted; guarded by c.mu
	lost     error                           // told by the store before the grant was taken in; guarded by c.mu
}

// endedError says that something was not asked for, because ctx has ended, and why it has.
func endedError(ctx context.Context, op string) error {
	err := fmt.Errorf("holdfast: %s: not asked for, because the context has ended: %w", op, ctx.Err())
	if cause := context.Cause(ctx); cause != ctx.Err() {
		err = fmt.Errorf("%w (%v)", err, cause)
	}
	return err
}

func checkName(name string) error {
	if err := driver.CheckName(name); err != nil {
		return fmt.Errorf("holdfast: %w", err)
	}
	return nil
}

// errAnew: the store dropped the attempt, or lost its hold before it began. Only a new id, at the end of the queue, can go on.
var errAnew = errors.New("the store dropped the attempt")

// errLate: the grant was valid no longer when it came. The same attempt is asked for again, which renews it.
var errLate = errors.New("the store's answer came too late to be of use")

// final is an error that asking again does not mend, found before the store was asked for the lock.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// run asks the store until it grants, refuses, or ctx ends, and undoes what an unknown answer may have left.
func (a *attempt) run(ctx context.Context, backoff *driver.Backoff) (*Hold, error) {
	unknown := false // the store may know of this attempt
	var before error // why the last ask failed
	for asks := 1; ; asks++ {
		asked := a.started
		if asks > 1 {
			asked = a.c.clock.Now()
		}
		hold, err := a.ask(ctx)
		if err == nil {
			return hold, nil
		}
		answered := driver.Answered(err)
		unknown = unknown || a.asked && !answered
		if !answered && a.worthAsking(err) && !(a.req.NoWait && asks >= tryAsks) {
			took := a.c.clock.Now().Sub(asked)
			if driver.Sleep(ctx, backoff.Next()) == nil {
				before = err
				a.c.observe(ctx, Event{Kind: EventRetried, Name: a.req.Name, Mode: a.req.Mode, Label: a.req.Label, Took: took, Err: err})
				continue
			}
		}
		if ended := ctx.Err(); before != nil && ended != nil && err == ended { // it says nothing but that
			err = fmt.Errorf("%w: %w", before, ended)
		}
		if unknown {
			a.undo() // also after an answer: an earlier ask may still be on its way
		}
		if answered && errors.Is(err, driver.ErrGone) {
			err = errAnew
		}
		return nil, err
	}
}

// worthAsking reports whether asking again, after an unknown answer, can help.
func (a *attempt) worthAsking(err error) bool {
	return !errors.As(err, new(final)) && !errors.Is(err, errAnew) && !errors.Is(err, ErrClosed)
}

// ask asks the store once.
func (a *attempt) ask(ctx context.Context) (*Hold, error) {
	g, err := a.c.guarantees(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.c.meets(g, a.req.Mode, a.config); err != nil {
		return nil, final{err}
	}
	a.asked = true
	grant, err := a.c.store.Acquire(ctx, &a.req)
	if err != nil {
		return nil, err
	}
	if grant == nil {
		return nil, errors.New("the driver answered neither with a grant nor with an error, against its contract")
	}
	if grant.Lease != nil && a.config.grace > grant.TTL/2 && grant.TTL < a.req.TTL && g.Session == 0 {
		if grant, err = a.confirm(ctx, grant); err != nil {
			return nil, err
		}
	}
	return a.adopt(grant)
}

// confirm renews a grant that is short, because it was pushed and lives only until it is claimed: its Grace needs more than that.
// One that has run out meanwhile is not confirmed by a late answer: it is asked for again.
func (a *attempt) confirm(ctx context.Context, grant *driver.Grant) (*driver.Grant, error) {
	asked, end := a.c.clock.Now(), validUntil(grant.Asked, grant.TTL)
	if !asked.Before(end) {
		return nil, errLate
	}
	holds, err := grant.Lease.Renew(ctx, a.req.TTL)
	switch {
	case lossOf(err) != "":
		return nil, errAnew
	case err != nil:
		return nil, fmt.Errorf("granted, but not confirmed: %w", err)
	case !a.c.clock.Now().Before(end):
		return nil, errLate
	}
	confirmed := *grant
	confirmed.Asked, confirmed.TTL = asked, holds
	return &confirmed, nil
}

// adopt makes a hold of what the store granted.
func (a *attempt) adopt(grant *driver.Grant) (*Hold, error) {
	c := a.c
	now := c.clock.Now()
	t := &tenure{c: c, req: &a.req, token: grant.Token, granted: now, maxEnd: driver.Never}
	t.alarm.What, t.holds = t, t.first[:0]
	if a.config.maxHold > 0 {
		t.maxEnd = now.Add(a.config.maxHold)
	}
	t.localEnd, t.grace = t.maxEnd, min(a.config.grace, a.req.TTL/2)
	if a.config.fixed {
		t.localEnd = min(t.localEnd, validUntil(grant.Asked, a.req.TTL))
	}
	end := t.localEnd
	if grant.Lease != nil {
		end = min(end, validUntil(grant.Asked, grant.TTL))
		t.grace = min(a.config.grace, grant.TTL/2)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed, !now.Before(end.Add(-t.grace)):
		return nil, errLate
	case a.lost != nil:
		return nil, errAnew
	}
	a.tenure = t
	c.tenures[t] = struct{}{}
	if grant.Lease != nil {
		t.keep = c.keepFor(grant, a.req.TTL)
		t.keep.join(t, grant, now)
	}
	t.watch()
	return t.enter(nil), nil
}

// undo makes sure that the attempt neither waits nor holds. It uses no context of the caller's: that one has ended, and a
// cleanup that ends with it would leave the lock to nobody for a whole TTL.
func (a *attempt) undo() {
	req := a.req
	req.Keep = 0 // nobody ran under it
	begun := a.c.clock.Now()
	err := a.c.release(&req, undoWait, begun)
	if errors.Is(err, driver.ErrGone) {
		err = nil
	}
	a.c.observe(a.c.base, Event{Kind: EventUndone, Name: req.Name, Mode: req.Mode, Label: req.Label, Took: a.c.clock.Now().Sub(begun), Err: err})
}

// waiting is Request.Waiting.
func (a *attempt) waiting(p driver.Progress) {
	a.standing.Store(&p)
	a.c.observe(a.c.base, Event{
		Kind: EventWaiting, Name: a.req.Name, Mode: a.req.Mode, Label: a.req.Label, Waited: a.c.clock.Now().Sub(a.started), Progress: p,
	})
}

// storeLost is Request.Lost.
func (a *attempt) storeLost(err error) {
	now := a.c.clock.Now()
	why := lossOf(err)
	if why == "" {
		why, err = ReasonTaken, errors.Join(driver.ErrGone, err)
	}
	a.c.mu.Lock()
	var after aftermath
	if a.tenure == nil {
		a.lost = err
	} else if !a.tenure.detached {
		after = a.tenure.lose(why, err, now)
	}
	a.c.mu.Unlock()
	after.runApart(a.c)
}

// holds reports whether one of the holders is this client itself.
func (c *Client) holds(req *driver.Request, holders []Holder) bool {
	ours := slices.DeleteFunc(slices.Clone(holders), func(h Holder) bool { return h.Kept || !strings.HasPrefix(h.Label, owner()) })
	if len(ours) == 0 {
		return false // of another process: no need to look at all that is held
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.tenures {
		if t.req.Name == req.Name && (t.req.Mode == Permits) == (req.Mode == Permits) &&
			slices.ContainsFunc(ours, func(h Holder) bool { return h.Token == t.token }) {
			return true
		}
	}
	return false
}

// explain turns what the store said, or did not say, into what the caller is told. ended is the error of the caller's context.
func (a *attempt) explain(err, ended error) error {
	var held *driver.Held
	var guarded *driver.Guarded
	var limit *LimitError
	var reason final
	if errors.As(err, &reason) {
		return reason.error
	}
	if errors.As(err, &limit) {
		return fmt.Errorf("holdfast: semaphore %q: %w", a.req.Name, limit)
	}
	// A wait that was cut off: what was last heard of it says why there was no grant, unless the store lacks something: then err does.
	if p := a.standing.Load(); p != nil && ended != nil && errors.Is(err, ended) && !errors.As(err, &held) && (p.Why == "" || p.Guard > 0) {
		if err = (&driver.Held{Holders: p.Holders}); p.Guard > 0 {
			err = &driver.Guarded{Left: p.Guard, Why: p.Why}
		}
	}
	switch {
	case errors.As(err, &held):
		return &HeldError{Name: a.req.Name, Holders: held.Holders, RetryIn: held.RetryIn, Own: a.c.holds(&a.req, held.Holders), Err: ended}
	case errors.As(err, &guarded):
		return &GuardedError{Name: a.req.Name, Left: guarded.Left, Why: guarded.Why, Err: ended}
	case ended != nil && !errors.Is(err, ended):
		err = fmt.Errorf("%w: %w", err, ended)
	case ended != nil:
		err = fmt.Errorf("no answer yet: %w", err)
	}
	return a.c.storeError("lock", a.req.Name, err)
}
