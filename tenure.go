package holdfast

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
)

// A tenure is one grant of the store, from grant to release or loss. Several Holds share it when a lock is re-entered. All its
// fields are guarded by the client's mutex.
//
//	held ──── Unlock of the last hold ────────────────────────────▶ released
//	 │
//	 ├── foreseen: the end is Grace away ──▶ ending ── the end ──▶ over ── background release
//	 ├── broken, still the store's until its TTL ends ─▶ ending        ▲
//	 └── gone, session ended, broken at once ──────────────────────────┘
//
// held: contexts live. ending: contexts have ended with a *LostError, nothing is renewed, but nobody else can hold it yet: Left
// tells for how long. over: it may be somebody else's.
type tenure struct {
	c       *Client
	req     *driver.Request
	token   uint64
	granted driver.Instant
	keep    *keep          // nil: nothing runs out in the store
	maxEnd  driver.Instant // where MaxHold ends it
	grace   time.Duration

	localEnd driver.Instant // valid until then at most, whatever the store says: the earlier of MaxHold's and Fixed's end
	lost     *LostError     // not nil: contexts have ended
	over     bool
	detached bool    // released or over: the client does nothing more about it by itself
	holds    []*Hold // that are not unlocked yet
	root     Hold    // the outermost hold
	first    [1]*Hold
	alarm    alarm // the next moment to look at it: Grace before the end, then the end
}

// end is until when the tenure is valid. c.mu is held.
func (t *tenure) end() driver.Instant {
	if t.keep == nil {
		return t.localEnd
	}
	return min(t.localEnd, t.keep.end)
}

// graceBound is the longest Grace that the tenure can have: half of what the store grants at a time. c.mu is held.
func (t *tenure) graceBound() time.Duration {
	if t.keep == nil {
		return t.req.TTL / 2
	}
	return t.keep.span / 2
}

// left is how long the tenure is still valid. c.mu is held.
func (t *tenure) left(now driver.Instant) time.Duration {
	if t.over {
		return 0
	}
	end := t.end()
	if end == driver.Never {
		return driver.Forever
	}
	return max(0, end.Sub(now))
}

// ring is what the alarm does: it ends what is due, or sleeps on if renewals have moved the end meanwhile.
func (t *tenure) ring() {
	now := t.c.clock.Now()
	t.c.mu.Lock()
	after := t.settle(now)
	switch {
	case t.detached: // over, or unlocked while the alarm rang
	case t.lost == nil && !now.Before(t.end().Add(-t.grace)):
		after = t.lose(t.foreseen(), nil, now)
	default:
		t.watch()
	}
	t.c.mu.Unlock()
	after.runApart(t.c)
}

// foreseen is the reason of a loss that the clock brings. c.mu is held.
func (t *tenure) foreseen() Reason {
	if t.end() == t.maxEnd {
		return ReasonMaxHold
	}
	return ReasonExpired
}

// watch sets the alarm to the next moment at which something must happen. c.mu is held.
func (t *tenure) watch() {
	if t.detached {
		return
	}
	at := t.end()
	if t.lost == nil && at != driver.Never {
		at = at.Add(-t.grace)
	}
	t.c.schedule.set(&t.alarm, at)
}

// lose ends the contexts of all holds and renews no more. If the store has let go already the tenure is over. c.mu is held; the
// caller runs what is returned after it let go of it.
func (t *tenure) lose(why Reason, err error, now driver.Instant) aftermath {
	var after aftermath
	if err == nil && t.keep != nil && why == ReasonExpired {
		err = t.keep.problem
	}
	gone := errors.Is(err, driver.ErrGone) || errors.Is(err, driver.ErrSession)
	if why == ReasonTaken && !now.Before(t.end()) {
		why = t.foreseen() // the store's clock was faster than our own alarm: nobody took anything
	}
	if t.lost == nil {
		t.lost = t.lostError(why, err)
		t.localEnd = t.end() // a lease that others go on renewing is no longer this one's
		for _, h := range t.holds {
			after.cancel(h.takeContexts(), t.lost)
			h.wake()
		}
		t.over = t.over || gone
		e := t.event(EventLost, now)
		e.Err = t.lost
		after.observe(t.c, e)
	}
	if gone {
		after.join(t.finish())
	} else {
		t.watch()
	}
	return after
}

func (t *tenure) lostError(why Reason, err error) *LostError {
	return &LostError{Name: t.req.Name, Mode: t.req.Mode, Token: t.token, Reason: why, Err: err}
}

// finish ends the tenure's validity and lets the store know, in the background, that nobody needs it any more. c.mu is held.
func (t *tenure) finish() aftermath {
	var after aftermath
	t.over = true
	if t.detached {
		return after
	}
	end := t.end()
	t.detach()
	after.then(func() { t.c.releaseLater(t.req, end) })
	return after
}

// detach takes the tenure out of everything that the client does by itself. c.mu is held.
func (t *tenure) detach() {
	t.detached = true
	t.c.schedule.clear(&t.alarm)
	if t.keep != nil {
		t.keep.leave(t)
	}
	delete(t.c.tenures, t)
}

// event describes the tenure now. c.mu is held.
func (t *tenure) event(kind Kind, now driver.Instant) Event {
	return Event{
		Kind: kind, Name: t.req.Name, Mode: t.req.Mode, Label: t.req.Label, Token: t.token, Count: len(t.holds),
		Held: now.Sub(t.granted), Left: t.left(now),
	}
}

// An aftermath is what must be done once the client's mutex is free: ending contexts first, because others may hold the lock soon;
// then telling the observer and asking the store, which take as long as they take.
type aftermath struct {
	contexts []context.CancelCauseFunc
	causes   []error
	rest     []func()
}

func (a *aftermath) then(f func()) { a.rest = append(a.rest, f) }

func (a *aftermath) join(b aftermath) {
	a.contexts = append(a.contexts, b.contexts...)
	a.causes = append(a.causes, b.causes...)
	a.rest = append(a.rest, b.rest...)
}

func (a *aftermath) observe(c *Client, e Event) {
	if c.config.observer != nil {
		a.then(func() { c.observe(c.base, e) })
	}
}

func (a *aftermath) cancel(contexts []context.CancelCauseFunc, cause error) {
	for _, cancel := range contexts {
		a.contexts = append(a.contexts, cancel)
		a.causes = append(a.causes, cause)
	}
}

// run does all of it.
func (a *aftermath) run() {
	a.end()
	a.finish()
}

// runApart ends the contexts, and does the rest on a goroutine of its own: for those who must not wait, because they ring for
// everybody or belong to a driver.
func (a *aftermath) runApart(c *Client) {
	a.end()
	if len(a.rest) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spawn(a.finish)
	}
}

func (a *aftermath) end() {
	for i, cancel := range a.contexts {
		cancel(a.causes[i])
	}
}

func (a *aftermath) finish() {
	for _, f := range a.rest {
		f()
	}
}
