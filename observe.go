package holdfast

import (
	"context"
	"time"
)

// An Observer is told what happens to a client's locks, for logs and metrics. Observe is called as things happen, from many
// goroutines, and must not block: Lock, Unlock and renewals wait for it. The end of a context does not.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// ObserverFunc is a function that is an Observer.
type ObserverFunc func(ctx context.Context, e Event)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// A Kind of Event. Which durations an event carries stands beside it.
type Kind string

const (
	EventWaiting   Kind = "waiting"   // somebody else holds it: Progress, Waited; again when there is news, at most about every second
	EventAcquired  Kind = "acquired"  // Waited, Left; Count > 1: re-entered
	EventFailed    Kind = "failed"    // Lock or TryLock gave up: Waited, Err
	EventRetried   Kind = "retried"   // the store gave no usable answer to an acquire, it is asked again: Took, Err
	EventRenewed   Kind = "renewed"   // Took, Held, Left
	EventUnrenewed Kind = "unrenewed" // a renewal got no usable answer, it is asked again: Took, Held, Left, Err
	EventLost      Kind = "lost"      // Held, Left (what remains of Grace), Err (a *LostError)
	EventReleased  Kind = "released"  // Took, Held, Left before it; Count > 0: still held by others; Err: what Unlock says
	EventUndone    Kind = "undone"    // what an acquire may have left behind is gone: Took; Err: not confirmed yet, it goes on in the background
	EventBreaking  Kind = "breaking"  // this client broke somebody's hold: Token, Took, Err
)

// An Event is something that happened to a lock.
type Event struct {
	Kind  Kind
	Store string
	Name  string
	Mode  Mode   // Permits: it is about the semaphore of that name
	Label string // of the holder or waiter
	Token uint64
	Count int // how often it is entered

	Waited time.Duration // since Lock was called
	Took   time.Duration // how long the store took to answer
	Held   time.Duration // since it was granted
	Left   time.Duration // how long it is valid if nothing more happens

	Progress Progress
	Err      error
}

func (c *Client) observe(ctx context.Context, e Event) {
	if c.config.observer != nil {
		e.Store = c.store.String()
		c.config.observer.Observe(ctx, e)
	}
}
