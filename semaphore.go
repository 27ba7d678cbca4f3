package holdfast

import (
	"context"

	"holdfast.dev/driver"
)

// A Semaphore is a number of permits, of which holders take some each. Its name is its own: the Mutex "x" and the Semaphore "x"
// have nothing to do with each other. Everybody who uses it names the same limit; while it is in use another limit is a *LimitError
// that names both.
//
// It is fair: who waits for many permits is not overtaken by those who want few. Permits do not fence, because their holders work
// side by side, and they are never re-entered: who holds permits and asks for more waits like everybody else, perhaps for itself.
type Semaphore struct{ target target }

// Semaphore returns the semaphore of that name. It never fails: a bad name, limit or option is reported by Acquire.
func (c *Client) Semaphore(name string, limit int, opts ...Option) *Semaphore {
	s := &Semaphore{c.target(name, Permits, opts)}
	s.target.limit = limit
	return s
}

// Name returns the name of the semaphore.
func (s *Semaphore) Name() string { return s.target.name }

// Limit returns how many permits there are.
func (s *Semaphore) Limit() int { return s.target.limit }

// Acquire waits until it holds n permits, all of them or none. ctx bounds only the wait. Unlock of the hold gives them back. Its
// errors are those of Locker.Lock, and *LimitError.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Hold, error) { return s.Permits(n).Lock(ctx) }

// TryAcquire takes n permits if so many are free and nobody waits. Its errors are those of Locker.TryLock, and *LimitError.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Hold, error) {
	return s.Permits(n).TryLock(ctx)
}

// Permits returns n permits as something to lock, for Do and Multi.
func (s *Semaphore) Permits(n int) Locker {
	p := &permits{s.target}
	p.target.n = n
	return p
}

// permits are some permits of a semaphore.
type permits struct{ target target }

func (p *permits) Lock(ctx context.Context) (*Hold, error)    { return p.target.lock(ctx, false) }
func (p *permits) TryLock(ctx context.Context) (*Hold, error) { return p.target.lock(ctx, true) }

// Inspect shows who holds permits and who waits for them.
func (s *Semaphore) Inspect(ctx context.Context) (*Info, error) {
	return s.target.c.inspect(ctx, s.target.name, driver.Permits)
}

// Break ends somebody's hold of permits: exactly the one with that token. See Client.Break.
func (s *Semaphore) Break(ctx context.Context, token uint64, opts ...BreakOption) error {
	return s.target.c.breakHold(ctx, s.target.name, driver.Permits, token, opts)
}
