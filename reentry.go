package holdfast

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/driver"
)

// Re-entry nests, never fans out. A hold has at most one live child. A second goroutine that re-enters with the same context waits
// until the first child is unlocked, so that siblings exclude each other just as strangers do:
//
//	A ── child B ── child C      Lock with C's context nests below C; with A's context it waits for B's end
//
// The store's hold ends with the last Unlock, in whatever order: B may outlive A, and C may outlive B. C then has B's place below A: a
// slot is free when everything below it has ended. A hold that has ended is re-entered no more:
// whoever still has its context nests in the innermost hold around it that is still good, or else goes to the end of the store's
// queue, like everybody else.
//
// Readers that re-enter a reader are the exception: they would not exclude each other as strangers either, so they nest side by side.
// Read inside write nests like a writer. Write inside read can only wait for itself: it is ErrUpgrade. Permits never nest.
//
// A nested hold keeps the TTL, MaxHold and MinHold of the outermost; the longest Grace counts.

// reenter nests a hold below outer. It returns neither hold nor error if outer has ended: then the store must be asked. ctx ends with
// the caller's or with the client.
func (t *target) reenter(ctx context.Context, outer *Hold, noWait bool) (*Hold, error) {
	if outer.t.req.Mode == Shared {
		if t.mode == Exclusive && outer.Err() == nil {
			return nil, fmt.Errorf("holdfast: lock %q: %w", t.name, ErrUpgrade)
		}
		return outer.nest(&t.config, nil), nil
	}
	slot, done := outer.child()
	if slot == nil {
		return nil, nil
	}
	if noWait {
		select {
		case slot <- struct{}{}:
		default:
			return nil, outer.heldBySibling(nil)
		}
	} else if taken, err := t.c.waitForSlot(ctx, outer, slot, done); !taken {
		return nil, err
	}
	hold := outer.nest(&t.config, slot)
	if hold == nil {
		<-slot
	}
	return hold, nil
}

// waitForSlot waits until outer's other child has ended. Neither taken nor an error: outer has ended.
func (c *Client) waitForSlot(ctx context.Context, outer *Hold, slot chan<- struct{}, done <-chan struct{}) (taken bool, err error) {
	select {
	case slot <- struct{}{}:
		return true, nil
	case <-done:
	case <-ctx.Done():
	}
	switch {
	case c.isClosed():
		return false, c.gone
	case ctx.Err() != nil: // perhaps because it descends from outer's
		return false, outer.heldBySibling(ctx.Err())
	}
	return false, nil
}

// child returns the slot for outer's one child, and what ends the wait for it; nil if outer has ended.
func (h *Hold) child() (slot chan struct{}, done <-chan struct{}) {
	defer h.look()()
	if h.err() != nil {
		return nil, nil
	}
	if h.slot == nil {
		h.slot = make(chan struct{}, 1)
	}
	return h.slot, h.whenDone()
}

// nest makes the child, once its slot is taken, if it needs one; nil if the hold has ended meanwhile.
func (h *Hold) nest(config *lockConfig, slot chan struct{}) *Hold {
	child, count := h.nested(config, slot)
	if child != nil {
		h.t.recount(count)
	}
	return child
}

func (h *Hold) nested(config *lockConfig, slot chan struct{}) (child *Hold, count int) {
	defer h.look()()
	if h.err() != nil {
		return nil, 0
	}
	t := h.t
	if grace := min(config.grace, t.graceBound()); grace > t.grace {
		t.grace = grace
		t.watch()
	}
	child = t.enter(h)
	if slot != nil {
		child.turn, h.heir = slot, child
	}
	return child, len(t.holds)
}

// bequeath ends the hold's place among the others. A child that lives on takes it over; else it returns the slot to be freed. c.mu is
// held.
func (h *Hold) bequeath() (turn chan struct{}) {
	heir := h.heir
	h.heir = nil
	if h.turn != nil {
		h.parent.heir = heir
	}
	if heir == nil {
		return h.turn
	}
	heir.parent, heir.turn = h.parent, h.turn
	return nil
}

// heldBySibling says that this process itself is in the way.
func (h *Hold) heldBySibling(ended error) error {
	defer h.look()()
	now := h.t.c.clock.Now()
	return &HeldError{Name: h.Name(), Err: ended, Holders: []Holder{{
		Label: h.t.req.Label + " (a nested hold of this client)", Token: h.t.token, Mode: h.t.req.Mode,
		Held: now.Sub(h.t.granted), Left: h.t.left(now),
	}}}
}

// recount shows on the wire how often the lock is entered, where the store has a place for it. The hold does not depend on it: an
// answer that does not come changes nothing, but a store that no longer has the hold is believed.
func (t *tenure) recount(count int) {
	counter, ok := t.c.store.(driver.Counter)
	if !ok || count == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(t.c.base, time.Second)
	defer cancel()
	err := counter.Count(ctx, t.req, count)
	if why := lossOf(err); why != "" {
		t.c.mu.Lock()
		var after aftermath
		if !t.detached {
			after = t.lose(why, err, t.c.clock.Now())
		}
		t.c.mu.Unlock()
		after.run()
	}
}
