package locktest

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// The store that a callLink is to its user.

func (l *callLink) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	sent, silence := l.watched(r)
	defer silence()
	g, err := call(ctx, l, func(ctx context.Context) (*driver.Grant, error) { return l.store.Acquire(ctx, sent) })
	if err != nil || g.Lease == nil {
		return g, err
	}
	linked := *g
	linked.Lease = linkedLease{l, g.Lease}
	return &linked, nil
}

// watched returns r with callbacks that are held back with the answers. After silence Waiting is not called any more: a call whose
// caller has given up may still be under way in the store.
func (l *callLink) watched(r *driver.Request) (_ *driver.Request, silence func()) {
	n := l.current()
	sent := *r
	var telling sync.Mutex
	silent := false
	if r.Waiting != nil {
		sent.Waiting = func(p driver.Progress) {
			telling.Lock()
			defer telling.Unlock()
			if _, held, _ := l.holding(n); !held && !silent && n.here.Err() == nil {
				r.Waiting(p)
			}
		}
	}
	if r.Lost != nil {
		sent.Lost = func(err error) {
			go func() { // callbacks never block
				if l.pass(n, false) && n.here.Err() == nil {
					r.Lost(err)
				}
			}()
		}
	}
	return &sent, func() {
		telling.Lock()
		defer telling.Unlock()
		silent = true
	}
}

func (l *callLink) Release(ctx context.Context, r *driver.Request) error {
	_, err := call(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.store.Release(ctx, r) })
	return err
}

func (l *callLink) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	return call(ctx, l, l.store.Guarantees)
}

func (l *callLink) Identity(ctx context.Context) (string, error) {
	return call(ctx, l, l.store.Identity)
}

func (l *callLink) Clock() driver.Clock { return l.store.Clock() }
func (l *callLink) String() string      { return l.store.String() }

func (l *callLink) Close() error {
	l.Cut()
	return l.store.Close()
}

// linkedLease is comparable, as leases are.
type linkedLease struct {
	link  *callLink
	lease driver.Lease
}

func (l linkedLease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	return call(ctx, l.link, func(ctx context.Context) (time.Duration, error) { return l.lease.Renew(ctx, ttl) })
}

// A store behind a link can show and break what the store itself can; absent is ErrUnsupported anyway.

func (l *callLink) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	inspector, ok := l.store.(driver.Inspector)
	if !ok {
		return nil, fmt.Errorf("inspection is %w", driver.ErrUnsupported)
	}
	return call(ctx, l, func(ctx context.Context) (*driver.Info, error) { return inspector.Inspect(ctx, name, mode) })
}

func (l *callLink) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		inspector, ok := l.store.(driver.Inspector)
		if !ok {
			yield(nil, fmt.Errorf("listing is %w", driver.ErrUnsupported))
			return
		}
		for info, err := range inspector.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
		}
	}
}

func (l *callLink) Break(ctx context.Context, b *driver.BreakRequest) error {
	breaker, ok := l.store.(driver.Breaker)
	if !ok {
		return fmt.Errorf("breaking is %w", driver.ErrUnsupported)
	}
	_, err := call(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, breaker.Break(ctx, b) })
	return err
}
