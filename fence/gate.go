package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Gate stands before resources that one process guards. For each it remembers the greatest token that ever came, and refuses
// lesser ones. Its zero value is ready; it must not be copied.
//
// For one resource:
//
//  1. The gate is raised when a token arrives, before it is let in: a newer token is proof that the older hold has ended, even
//     if whoever brought it gives up waiting.
//  2. Only the greatest token is let in, and only when no act with a lesser one is under way: it waits for that to end.
//  3. Equal tokens are let in together: they are one hold, or readers that hold together. The gate excludes the past, not them
//     from each other.
//
// Resources do not wait for each other. A Gate keeps a small record (about a hundred bytes and the name) for every resource
// that was ever named, until Forget; do not let strangers choose the names.
type Gate struct {
	mu    sync.Mutex // guards everything below; never held while an act runs
	slots map[string]*slot
}

// slot is what a Gate knows of one resource.
type slot struct {
	highest uint64        // the greatest token that ever arrived
	by      uint64        // the token of the acts under way
	acting  int           // how many these are
	idle    chan struct{} // closed when they have ended; nil while nobody waits
}

// Pass lets a token pass, or answers *StaleError. Afterwards no act with a lesser token is under way, and none begins. Use it
// before a read; for a write use Do, because a newer token may pass between Pass and whatever follows it.
//
// It waits for acts with lesser tokens, no longer than ctx: it then answers an error that is ctx.Err() and the context's cause.
// Whatever f says against fencing is returned, ErrNoToken if it has none.
func (g *Gate) Pass(ctx context.Context, resource string, f Fencer) error {
	return g.Do(ctx, resource, f, func() error { return nil })
}

// Do passes like Pass, and runs act inside: until it returns, no newer token passes. So what act writes is written before
// anything that a newer holder reads, or is refused. It returns what act returns; whether act ran with an error or was kept
// out can be told by ErrStale and ErrNoToken.
//
// ctx bounds only the wait. An act that never ends keeps all newer holders out: bound it, for instance by the hold's context. In
// act, do not pass the same resource with another token.
func (g *Gate) Do(ctx context.Context, resource string, f Fencer, act func() error) error {
	if act == nil {
		return fmt.Errorf("fence: %q: %w: the function is nil; to let a token pass without an act use Pass", resource, ErrArgument)
	}
	token, err := tokenOf(resource, f)
	if err != nil {
		return err
	}
	s, err := g.enter(ctx, resource, token)
	if err != nil {
		return err
	}
	defer g.leave(s)
	return act()
}

// Highest returns the greatest token that arrived for a resource; 0 if none did.
func (g *Gate) Highest(resource string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.slots[resource]; s != nil {
		return s.highest
	}
	return 0
}

// Forget drops what is known about a resource, and reports whether it did: not while an act is under way. Afterwards any token passes, so forget only what can never be written again: a resource that is gone for good and
// whose name is not used again, or one whose store refuses stale tokens by itself.
func (g *Gate) Forget(resource string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.slots[resource]; s != nil && s.acting > 0 {
		return false
	}
	delete(g.slots, resource)
	return true
}

func (g *Gate) enter(ctx context.Context, resource string, token uint64) (*slot, error) {
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, resource)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		s := g.slot(resource) // looked up again after every wait: it may have been forgotten
		if token < s.highest {
			return nil, &StaleError{Resource: resource, Token: token, Highest: s.highest}
		}
		s.highest = token
		if s.acting == 0 || s.by == token {
			s.acting++
			s.by = token
			return s, nil
		}
		if !g.await(ctx, s) {
			return nil, gaveUp(ctx, resource)
		}
	}
}

// slot returns what is known about a resource; g.mu is held.
func (g *Gate) slot(resource string) *slot {
	s := g.slots[resource]
	if s == nil {
		if g.slots == nil {
			g.slots = make(map[string]*slot)
		}
		s = new(slot)
		g.slots[resource] = s
	}
	return s
}

// await waits, with g.mu released, until the acts under way have ended, and reports whether they did before ctx. Someone newer
// may have arrived meanwhile: look again.
func (g *Gate) await(ctx context.Context, s *slot) bool {
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *Gate) leave(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.acting--; s.acting == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// gaveUp is the error of a wait that its context ended: also its cause, which tells of a lost hold.
func gaveUp(ctx context.Context, resource string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("fence: %q: not let in: %w", resource, err)
}
