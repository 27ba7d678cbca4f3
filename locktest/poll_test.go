package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/memlock"
)

// Most stores can do less than memlock. Here are correct drivers for such stores, made from it, that the kit must pass.

// TestPolling is the kit on a store that tells nobody when it is his turn: everybody asks again and again.
func TestPolling(t *testing.T) {
	server := memlock.NewServer()
	locktest.Run(t, locktest.Harness{
		Open: func(context.Context, string) (driver.Store, error) {
			return &polling{Store: server.Connect(), waits: make(map[driver.Attempt]*wait)}, nil
		},
		InProcess: true,
	})
}

// TestBare is the kit on a store that has nothing but exclusion: no tokens, no modes, no TTL, nothing to look at.
func TestBare(t *testing.T) {
	server := memlock.NewServer()
	locktest.Run(t, locktest.Harness{
		Open: func(context.Context, string) (driver.Store, error) {
			return &bare{polling: &polling{Store: server.Connect(), waits: make(map[driver.Attempt]*wait)}}, nil
		},
		InProcess: true,
	})
}

// polling asks memlock without waiting, as one must ask a store that has no queue.
type polling struct {
	*memlock.Store

	mu    sync.Mutex
	waits map[driver.Attempt]*wait // attempts whose Acquire is under way here: the store does not know them
}

// A wait is what the calls of one attempt share.
type wait struct {
	calls  int
	undone chan struct{} // closed by Release
}

func (p *polling) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := p.enter(r.Attempt)
	defer p.leave(r.Attempt, w)
	polls, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-w.undone:
			stop()
		case <-polls.Done():
		}
	}()
	g, err := driver.Poll(polls, r, driver.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}, func(context.Context) (*driver.Grant, error) {
		return p.try(r, w)
	})
	if err != nil && ctx.Err() == nil && polls.Err() != nil {
		return nil, driver.ErrGone
	}
	return g, err
}

// try asks once, unless a Release came first: the two exclude each other, so that none can slip through between them.
func (p *polling) try(r *driver.Request, w *wait) (*driver.Grant, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.undone:
		return nil, driver.ErrGone
	default:
	}
	once := *r
	once.NoWait = true
	return p.Store.Acquire(context.Background(), &once)
}

func (p *polling) enter(a driver.Attempt) *wait {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waits[a]
	if w == nil {
		w = &wait{undone: make(chan struct{})}
		p.waits[a] = w
	}
	w.calls++
	return w
}

func (p *polling) leave(a driver.Attempt, w *wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.calls--; w.calls == 0 && p.waits[a] == w {
		delete(p.waits, a)
	}
}

func (p *polling) Release(ctx context.Context, r *driver.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.Store.Release(ctx, r)
	if w := p.waits[r.Attempt]; w != nil {
		close(w.undone)
		delete(p.waits, r.Attempt)
		if errors.Is(err, driver.ErrGone) {
			return nil // it waited
		}
	}
	return err
}

func (p *polling) Guarantees(ctx context.Context) (driver.Guarantees, error) {
	g, err := p.Store.Guarantees(ctx)
	g.FIFO = false
	return g, err
}

// bare denies everything that can be denied.
type bare struct {
	*polling
	mu   sync.Mutex
	held map[driver.Attempt]driver.Request // to be released by Close: nothing runs out
}

func (b *bare) Guarantees(context.Context) (driver.Guarantees, error) {
	return driver.Guarantees{}, nil
}

func (b *bare) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Mode != driver.Exclusive || r.Keep > 0 || r.Reserve > 0 {
		return nil, fmt.Errorf("mode %v, keep and reserve: %w", r.Mode, driver.ErrUnsupported)
	}
	lasting := *r
	lasting.TTL = memlock.MaxTTL
	if _, err := b.polling.Acquire(ctx, &lasting); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		b.held = make(map[driver.Attempt]driver.Request)
	}
	b.held[r.Attempt] = lasting
	return &driver.Grant{Asked: b.Clock().Now()}, nil
}

func (b *bare) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.held {
		b.polling.Release(context.Background(), &r)
	}
	b.held = nil
	return b.polling.Close()
}

// Inspect and Break hide memlock's: with other parameters they are not those of package driver.
func (b *bare) Inspect()                         {}
func (b *bare) Break()                           {}
func (b *bare) List() iter.Seq2[struct{}, error] { return nil }
