package holdfast

import (
	"context"

	"holdfast.dev/driver"
)

// A holdContext carries the hold that it belongs to, so that Lock can tell re-entry from a stranger, and Token the token.
type holdContext struct {
	context.Context
	hold *Hold
}

type heldKey struct {
	c    *Client
	name string
}

type tokenKey struct{}

// A census collects all holds from whose contexts a context descends.
type census struct{ holds []*Hold }

// Value finds the hold. Permits are passed over by those who look for a lock or its token: they are no lock, and they do not fence.
func (x *holdContext) Value(key any) any {
	permits := x.hold.t.req.Mode == driver.Permits
	switch k := key.(type) {
	case heldKey:
		if !permits && x.hold.t.c == k.c && x.hold.Name() == k.name && x.hold.Err() == nil {
			return x.hold
		}
	case tokenKey:
		if !permits {
			return x.hold
		}
	case *census:
		k.holds = append(k.holds, x.hold)
	}
	return x.Context.Value(key)
}

// heldIn returns the innermost hold of that lock that is still good and from whose Context ctx descends, or nil.
func heldIn(ctx context.Context, c *Client, name string) *Hold {
	if ctx == nil || ctx.Value(tokenKey{}) == nil {
		return nil // no hold at all: the common case, and cheaper to ask
	}
	h, _ := ctx.Value(heldKey{c, name}).(*Hold)
	return h
}

// Token returns the fencing token of the innermost lock from whose hold's Context ctx descends; 0 if there is none. Permits of a
// semaphore are passed over: they do not fence. Under a Multi it is 0: which of its tokens is meant only Held or Parts can tell.
func Token(ctx context.Context) uint64 {
	if ctx == nil {
		return 0
	}
	if h, ok := ctx.Value(tokenKey{}).(*Hold); ok {
		return h.Token()
	}
	return 0
}

// Held returns the hold of that lock from whose Context ctx descends, if it is still good.
func (c *Client) Held(ctx context.Context, name string) (*Hold, bool) {
	h := heldIn(ctx, c, name)
	return h, h != nil
}

// Context returns a context for work under the lock. It ends when parent does; and with the hold, context.Cause then telling why:
// a *LostError, with Grace before anybody else can hold the lock where that is foreseen, and at that moment at the latest, even
// if nothing answers; ErrReleased; ErrClosed. Lock with a context that descends from it re-enters the lock.
//
// A process that is stopped cannot see its context end: only the fencing token helps there.
func (h *Hold) Context(parent context.Context) context.Context {
	if parent == nil {
		parent = context.Background()
	}
	if h.parts != nil {
		return h.contextOfParts(parent)
	}
	ctx, cancel := context.WithCancelCause(parent)
	x := &holdContext{ctx, h}
	defer h.look()()
	if err := h.err(); err != nil {
		cancel(err)
		return x
	}
	if h.contexts == nil {
		h.contexts = make(map[*holdContext]ending)
	}
	h.contexts[x] = ending{cancel, context.AfterFunc(ctx, func() { h.forget(x) })}
	return x
}

// forget drops a context whose parent has ended, so that a long hold does not collect them.
func (h *Hold) forget(x *holdContext) {
	h.t.c.mu.Lock()
	defer h.t.c.mu.Unlock()
	delete(h.contexts, x)
}

// takeContexts returns how to end all contexts of the hold, and forgets them. c.mu is held.
func (h *Hold) takeContexts() (cancels []context.CancelCauseFunc) {
	for _, e := range h.contexts {
		e.stop()
		cancels = append(cancels, e.cancel)
	}
	h.contexts = nil
	return cancels
}

// whenDone returns what is closed when the hold has ended, which it has not yet. c.mu is held.
func (h *Hold) whenDone() <-chan struct{} {
	if h.done == nil {
		h.done = make(chan struct{})
	}
	return h.done
}

// wake tells those who wait for the end of the hold. c.mu is held.
func (h *Hold) wake() {
	if h.done != nil {
		close(h.done)
		h.done = nil
	}
}
