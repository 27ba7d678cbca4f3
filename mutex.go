package holdfast

import (
	"context"
	"errors"
	"reflect"
)

// A Locker is anything that can be held.
type Locker interface {
	// Lock waits until it holds, first come first served where the store can. ctx bounds only the wait: the hold outlives it. An
	// error that is ErrHeld names the holders; if ctx cut the wait off it is ctx.Err() too. A store that cannot be reached is
	// asked again until ctx ends: a *StoreError that is ctx.Err() too. After the end of ctx it takes up to a second to clean up.
	Lock(ctx context.Context) (*Hold, error)

	// TryLock holds at once or not at all: ErrHeld, ErrGuarded, or a *StoreError if the store gives no usable answer to three
	// asks. ctx bounds how long it waits for answers: give it a deadline too.
	TryLock(ctx context.Context) (*Hold, error)
}

// A Mutex is a lock that one holder has at a time. It is a name and options, nothing more: make as many as you like, anywhere.
type Mutex struct{ target target }

// Mutex returns the lock of that name. It never fails: a bad name or option is reported by Lock.
func (c *Client) Mutex(name string, opts ...Option) *Mutex {
	return &Mutex{c.target(name, Exclusive, opts)}
}

// target describes a lock of c.
func (c *Client) target(name string, mode Mode, opts []Option) target {
	return target{c: c, name: name, mode: mode, config: c.config.lock.with(opts)}
}

// Name returns the name of the lock.
func (m *Mutex) Name() string { return m.target.name }

// Lock waits for the lock. See Locker.
func (m *Mutex) Lock(ctx context.Context) (*Hold, error) { return m.target.lock(ctx, false) }

// TryLock takes the lock if it is free. See Locker.
func (m *Mutex) TryLock(ctx context.Context) (*Hold, error) { return m.target.lock(ctx, true) }

// Do runs f while it holds l. The context that f gets ends, with a cause, before anybody else can hold the lock, and carries the
// fencing token (Token). Do waits for f before it unlocks, whatever happens; a panic in f passes through. It returns what f
// returns, joined with ErrLost if the lock was lost meanwhile, or with a *StoreError of Op "unlock" if the store did not confirm
// the release.
func Do(ctx context.Context, l Locker, f func(ctx context.Context) error) (err error) {
	if f == nil || isNil(l) {
		return argumentError("Do: the function or the locker is nil")
	}
	hold, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	if err := hold.work(); err != nil {
		hold.Unlock()
		return err // it ended before anything was done under it
	}
	defer func() {
		if problem := hold.Unlock(); err == nil {
			err = problem
		} else if problem != nil && !errors.Is(err, problem) { // f may have returned it, as the cause of its context
			err = errors.Join(err, problem)
		}
	}()
	return f(hold.Context(ctx))
}

// isNil reports whether l is nil, or a nil of some type.
func isNil(l Locker) bool {
	v := reflect.ValueOf(l)
	return l == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// work marks a hold inside Do, unless it has ended already.
func (h *Hold) work() error {
	if h.parts != nil {
		return h.eachPart((*Hold).work)
	}
	defer h.look()()
	h.working = h.err() == nil
	return h.err()
}

// Do runs f while it holds the lock of that name. See the function Do.
func (c *Client) Do(ctx context.Context, name string, f func(ctx context.Context) error, opts ...Option) error {
	return Do(ctx, c.Mutex(name, opts...), f)
}
