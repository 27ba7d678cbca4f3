package holdfast

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"holdfast.dev/driver"
)

// ask runs an operation of the store that the caller waits for: counted, so that Close waits too, and with its error explained.
func ask[T any](ctx context.Context, c *Client, op, name string, f func(context.Context) (T, error)) (T, error) {
	var none T
	if ctx == nil {
		return none, argumentError("the context is nil")
	}
	if ctx.Err() != nil {
		return none, endedError(ctx, op)
	}
	shared, err := c.beginWait(ctx)
	if err != nil {
		return none, err
	}
	defer c.endWait(shared)
	wait := shared.of(ctx)
	result, err := f(wait)
	switch {
	case err != nil && wait.Err() != nil && ctx.Err() == nil:
		return none, c.gone
	case err != nil:
		return none, c.storeError(op, name, err)
	}
	return result, nil
}

// Inspect shows who holds the lock of that name and who waits for it. A lock that nobody uses is no error: it has neither holders
// nor waiters. For a semaphore use its own Inspect.
func (c *Client) Inspect(ctx context.Context, name string) (*Info, error) {
	return c.inspect(ctx, name, driver.Exclusive)
}

func (c *Client) inspect(ctx context.Context, name string, mode Mode) (*Info, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return ask(ctx, c, "inspect", name, func(ctx context.Context) (*Info, error) {
		inspector, ok := c.store.(driver.Inspector)
		if !ok {
			return nil, ErrUnsupported
		}
		return inspector.Inspect(ctx, name, mode)
	})
}

// List shows everything in the store that somebody holds or waits for and whose name begins with prefix, in no particular order.
// It ends after the first error.
func (c *Client) List(ctx context.Context, prefix string) iter.Seq2[*Info, error] {
	return func(yield func(*Info, error) bool) {
		if prefix != "" && checkName(prefix) != nil {
			yield(nil, fmt.Errorf("list: the prefix: %w", checkName(prefix)))
			return
		}
		_, err := ask(ctx, c, "list", "", func(ctx context.Context) (_ struct{}, err error) {
			inspector, ok := c.store.(driver.Inspector)
			if !ok {
				return struct{}{}, ErrUnsupported
			}
			for info, err := range inspector.List(ctx, prefix) {
				if err != nil {
					return struct{}{}, err
				}
				if !yield(info, nil) {
					return struct{}{}, errStopped
				}
			}
			return struct{}{}, nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped: whoever reads a List has seen enough.
var errStopped = errors.New("stopped")

// A BreakOption changes how Break ends a hold.
type BreakOption func(*driver.BreakRequest)

// Now frees the lock at once, though its holder may still be at work: only the fence then protects the resource. Use it when the
// holder is known to be dead.
func Now() BreakOption { return func(b *driver.BreakRequest) { b.Now = true } }

// Break ends somebody's hold of a lock: exactly the one with that token, as Inspect shows it; ErrNotHeld if there is none. The
// holder is told, with reason ReasonBroken and the label of this client, and is not renewed any more; the lock moves on when it
// is released or when its TTL is over, so that exclusion is kept. With Now it is freed at once.
//
// For a semaphore use its own Break.
func (c *Client) Break(ctx context.Context, name string, token uint64, opts ...BreakOption) error {
	return c.breakHold(ctx, name, driver.Exclusive, token, opts)
}

func (c *Client) breakHold(ctx context.Context, name string, mode Mode, token uint64, opts []BreakOption) error {
	if ctx == nil {
		return argumentError("the context is nil")
	}
	if err := checkName(name); err != nil {
		return err
	}
	b := &driver.BreakRequest{Name: name, Mode: mode, Token: token, By: c.config.lock.label()}
	for _, o := range opts {
		if o == nil {
			return argumentError("an option is nil")
		}
		o(b)
	}
	begun := c.clock.Now()
	_, err := ask(ctx, c, "break", name, func(ctx context.Context) (_ struct{}, err error) {
		breaker, ok := c.store.(driver.Breaker)
		if !ok {
			return struct{}{}, ErrUnsupported
		}
		return struct{}{}, breaker.Break(ctx, b)
	})
	if errors.Is(err, driver.ErrGone) {
		err = fmt.Errorf("holdfast: break %q: %w with token %d; Inspect shows who holds it now", name, ErrNotHeld, token)
	}
	c.observe(ctx, Event{Kind: EventBreaking, Name: name, Mode: mode, Label: b.By, Token: token, Took: c.clock.Now().Sub(begun), Err: err})
	return err
}
