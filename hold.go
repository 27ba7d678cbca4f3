package holdfast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// A Hold is one successful acquisition, from its grant until Unlock or loss. It belongs to whoever has it: no goroutine or thread
// owns it. Its methods may be called from many goroutines.
type Hold struct {
	t      *tenure // nil: of a Multi
	parts  []*Hold // of a Multi, which has nothing else: see multi.go
	whole  *Hold   // the Multi of which it is a part
	parent *Hold   // the hold that this one re-entered, or, once that was unlocked, the one around it; nil: it is the outermost

	// Guarded by the client's mutex:
	turn     chan struct{} // the slot that this one has taken: its parent's, or, since that was unlocked, that one's; nil: none was needed
	heir     *Hold         // the live child that has taken this one's slot
	contexts map[*holdContext]ending
	slot     chan struct{} // taken by the one live child; nil until somebody re-enters
	done     chan struct{} // closed when the hold has ended; nil until somebody waits for that
	cause    error         // not nil: contexts have ended, though the hold was not lost
	ended    bool          // unlocked
	working  bool          // inside Do: Close waits for it
}

// An ending ends one context of a hold.
type ending struct {
	cancel context.CancelCauseFunc
	stop   func() bool
}

// enter makes a hold of the tenure. c.mu is held.
func (t *tenure) enter(parent *Hold) *Hold {
	h := &t.root // the first one costs nothing
	if parent != nil {
		h = new(Hold)
	}
	h.t, h.parent = t, parent
	t.holds = append(t.holds, h)
	return h
}

// String names the lock and the token.
func (h *Hold) String() string {
	if h.parts != nil {
		return h.describeParts()
	}
	return fmt.Sprintf("hold of %q, token %d", h.Name(), h.Token())
}

// Format prints String, whatever the verb: inside is the id of the attempt, which is a secret.
func (h *Hold) Format(f fmt.State, _ rune) { io.WriteString(f, h.String()) }

// Name returns the name of the lock; of a Multi all names, with " + " between them.
func (h *Hold) Name() string {
	if h.parts != nil {
		return h.nameOfParts()
	}
	return h.t.req.Name
}

// Token returns the fencing token: greater than that of every earlier holder. Hand it to the resource with every request, and let
// the resource refuse tokens that are less than the greatest it has seen. 0: the store has no fencing; or it is a Multi, which has a
// token for each of its Parts. The token of permits tells them apart, for Break, and does not fence.
func (h *Hold) Token() uint64 {
	if h.parts != nil {
		return 0
	}
	return h.t.token
}

// FenceToken is Token for package fence, whose gates take a hold as it is. Permits of a semaphore do not fence, because their
// holders work side by side, and a Multi has several tokens: ErrUnsupported. It does not ask whether the hold is still good: a token
// that is outdated is what a gate is for.
func (h *Hold) FenceToken() (uint64, error) {
	if h.parts != nil {
		return h.fenceTokenOfParts()
	}
	if h.t.req.Mode == driver.Permits {
		return 0, unsupported(fmt.Sprintf("holdfast: semaphore %q: permits do not fence: their holders work side by side", h.Name()))
	}
	return h.t.token, nil
}

// Left returns how long the hold is valid if it is not renewed any more: nobody else can hold the lock for that long. 0 once it is
// over or unlocked; a hold that was broken, or whose Grace has begun, is lost but not over. A store where nothing runs out says Forever.
func (h *Hold) Left() time.Duration {
	if h.parts != nil {
		return h.leftOfParts()
	}
	defer h.look()()
	if h.ended {
		return 0
	}
	return h.t.left(h.t.c.clock.Now())
}

// Count returns how often the lock is entered: 1, and more while it is re-entered. 0 once the hold is unlocked.
func (h *Hold) Count() int {
	if h.parts != nil {
		return h.countOfParts()
	}
	defer h.look()()
	if h.ended {
		return 0
	}
	return len(h.t.holds)
}

// Err returns nil while the hold is good, a *LostError once it is lost, ErrReleased once it is unlocked, ErrClosed once its client
// was closed.
func (h *Hold) Err() error {
	if h.parts != nil {
		return h.errOfParts()
	}
	defer h.look()()
	return h.err()
}

// err is Err. c.mu is held.
func (h *Hold) err() error {
	switch {
	case h.t.lost != nil:
		return h.t.lost
	case h.cause != nil:
		return fmt.Errorf("holdfast: %s %q: the hold has ended: %w", kind(h.t.req.Mode), h.Name(), h.cause)
	case h.ended:
		return fmt.Errorf("holdfast: %s %q: %w", kind(h.t.req.Mode), h.Name(), ErrReleased)
	}
	return nil
}

// look takes the client's mutex and ends the hold if its time is over, also when the alarm has not rung yet. It returns how to
// let go.
func (h *Hold) look() (unlock func()) {
	c := h.t.c
	c.mu.Lock()
	after := h.t.settle(c.clock.Now())
	return func() {
		c.mu.Unlock()
		after.run()
	}
}

// settle ends the tenure if its time is over. c.mu is held.
func (t *tenure) settle(now driver.Instant) (after aftermath) {
	if !t.detached && !now.Before(t.end()) {
		after = t.lose(t.foreseen(), nil, now)
		after.join(t.finish())
	}
	return after
}

// Check asks the store whether it still has the hold: nil, a *LostError, or a *StoreError if it does not answer before ctx ends. On
// a store with sessions the session is asked for, and where nothing runs out there is nothing to ask: there a hold that somebody
// took away is known only by what the store tells by itself. A good answer of the past says nothing about the future: use the token
// for that.
func (h *Hold) Check(ctx context.Context) error {
	if h.parts != nil {
		return h.eachPart(func(p *Hold) error { return p.Check(ctx) })
	}
	return h.renew(ctx, "check", 0)
}

// Extend makes sure that at least d is left: it asks the store for that if need be. It never shortens, and extending twice does
// not add up. A hold that is renewed anyway needs it only before a pause longer than its TTL; a Fixed one is moved by it; MaxHold
// is not. A session cannot be extended: there it moves the local end of a Fixed hold, and is ErrTTL for others if d is more than the
// session's TTL. ErrTTL: d is more than the store or MaxHold allows.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if h.parts != nil {
		return h.extendParts(ctx, d)
	}
	g := h.t.c.known.Load() // there since the first grant
	high := MaxTTL
	if g.Session == 0 && g.MaxTTL > 0 {
		high = min(high, g.MaxTTL)
	}
	high -= high / 50 // for the margin, and for the way
	if d <= 0 || d > high {
		return ttlError("Extend", d, time.Nanosecond, high)
	}
	// What the way to the store and back costs is not known before: ask for a little more, and again if that was too little.
	for slack := 10 * time.Millisecond; ; slack *= 4 {
		enough, err := h.reaches(d)
		if enough || err != nil {
			return err
		}
		if slack > d+10*time.Second {
			return fmt.Errorf("holdfast: %w: Extend: the store promises less than %v", ErrTTL, d)
		}
		if err := h.renew(ctx, "extend", d+slack+driver.Margin(d+slack)); err != nil {
			return err
		}
		if h.t.moveFixed(d+slack, g.Session > 0) {
			return nil
		}
	}
}

// reaches reports whether at least d is left.
func (h *Hold) reaches(d time.Duration) (bool, error) {
	defer h.look()()
	now := h.t.c.clock.Now()
	if err := h.err(); err != nil {
		return false, err
	}
	if h.t.maxEnd.Before(now.Add(d)) {
		return false, fmt.Errorf("holdfast: %w: Extend by %v would pass MaxHold; %v are left until then", ErrTTL, d, h.t.maxEnd.Sub(now))
	}
	return h.t.left(now) >= d, nil
}

// moveFixed moves the local end of a Fixed hold: to what the store has just confirmed, or, where it has only sessions, to d from
// now, and then that is all.
func (t *tenure) moveFixed(d time.Duration, session bool) (done bool) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	fixed := t.localEnd != t.maxEnd
	if fixed {
		end := t.c.clock.Now().Add(d)
		if t.keep != nil && !session {
			end = t.keep.end
		}
		t.localEnd = max(t.localEnd, min(end, t.maxEnd))
		if t.keep != nil && !t.keep.busy {
			t.keep.next(t.c.clock.Now()) // a session must now outlive what it was needed for
		}
	}
	t.watch()
	return session && fixed
}

// renew asks the store now, for the caller.
func (h *Hold) renew(ctx context.Context, op string, ttl time.Duration) error {
	if ctx == nil {
		return argumentError("the context is nil")
	}
	if err := h.Err(); err != nil {
		return err
	}
	c, k := h.t.c, h.t.keep
	if err := c.begin(); err != nil {
		return err
	}
	defer c.end()
	if k == nil {
		return nil // nothing runs out, and what the store says by itself was told
	}
	if err := k.try(ctx, ttl, false); err != nil && lossOf(err) == "" {
		return c.storeError(op, h.Name(), err)
	}
	return h.Err()
}

// Unlock ends the hold; the last one of a re-entered lock frees it. It needs no context: it waits for the store no longer than the
// hold is valid, and 5 s at most; then it goes on in the background, and the error says so. It does nothing the second time, and
// says ErrReleased, or ErrLost again. ErrLost: the hold had ended before, so the work under it was not protected to its end.
func (h *Hold) Unlock() error {
	if h.parts != nil {
		return h.unlockParts(unlockWait, (*Hold).free)
	}
	return h.free(unlockWait)
}

// Undo gives the lock back as if it had never been got: it is Unlock, but MinHold does not count. It is for a holder that finds, before
// it has begun, that it cannot do its work: somebody else should then not have to wait for the end of a minimum hold.
func (h *Hold) Undo() error {
	if h.parts != nil {
		return h.unlockParts(unlockWait, (*Hold).undo)
	}
	return h.undo(unlockWait)
}

// free unlocks a hold, and waits for the store no longer than wait.
func (h *Hold) free(wait time.Duration) error { return h.unlock(h.t.req, wait) }

// undo unlocks a hold under which nobody ran, so that its MinHold does not count.
func (h *Hold) undo(wait time.Duration) error {
	req := *h.t.req
	if h == &h.t.root { // else somebody ran under the hold around it
		req.Keep = 0
	}
	return h.unlock(&req, wait)
}

// unlock ends the hold. If it is the last one it releases req, which is the tenure's, perhaps without its Keep.
func (h *Hold) unlock(req *driver.Request, wait time.Duration) error {
	c, t := h.t.c, h.t
	now := c.clock.Now()
	c.mu.Lock()
	if h.ended {
		err := h.err()
		c.mu.Unlock()
		return err
	}
	after := t.settle(now)
	h.ended = true
	after.cancel(h.takeContexts(), ErrReleased)
	h.wake()
	i := slices.Index(t.holds, h)
	t.holds = slices.Delete(t.holds, i, i+1)
	if c.closed && !t.working() {
		t.dropHolds() // they were left only because of this one
	}
	turn := h.bequeath()
	last := len(t.holds) == 0 && !t.detached
	end := t.end()
	wait = min(wait, t.left(now))
	e := t.event(EventReleased, now)
	if last {
		t.detach()
	}
	c.running++
	c.mu.Unlock()

	after.run()
	if last {
		e.Err = c.release(req, wait, end)
	} else {
		t.recount(e.Count)
	}
	if turn != nil {
		<-turn
	}
	return h.unlocked(e, now)
}

// unlocked ends an Unlock, and tells how it went.
func (h *Hold) unlocked(e Event, begun driver.Instant) error {
	c, t := h.t.c, h.t
	c.mu.Lock()
	if c.config.observer == nil {
		c.countDown()
	} else {
		defer c.end() // when that was told
	}
	if errors.Is(e.Err, driver.ErrGone) && t.lost == nil {
		t.lost = t.lostError(ReasonTaken, e.Err)
	}
	if t.lost != nil {
		e.Err = t.lost
	}
	c.mu.Unlock()
	if c.config.observer != nil {
		e.Took = c.clock.Now().Sub(begun)
		c.observe(c.base, e)
	}
	return e.Err
}
