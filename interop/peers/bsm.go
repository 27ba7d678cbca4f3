package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"holdfast.dev/interop/internal/line"
)

type bsmLocks struct {
	client *redislock.Client
	held   map[string]*redislock.Lock
}

func openBSM(_ context.Context, nodes []string) (line.Locks, error) {
	if len(nodes) != 1 {
		return nil, fmt.Errorf("bsm/redislock knows one node, not %q", nodes)
	}
	return &bsmLocks{redislock.New(redis.NewClient(&redis.Options{Addr: nodes[0]})), make(map[string]*redislock.Lock)}, nil
}

// bsmPause is [pause] as a strategy.
type bsmPause struct{}

func (bsmPause) NextBackoff() time.Duration { return pause(0) }

func (l *bsmLocks) Lock(ctx context.Context, name string, ttl, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	lock, err := l.client.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: bsmPause{}})
	if errors.Is(err, context.DeadlineExceeded) {
		return line.ErrHeld
	}
	return l.keep(name, lock, err)
}

func (l *bsmLocks) Try(ctx context.Context, name string, ttl time.Duration) error {
	lock, err := l.client.Obtain(ctx, name, ttl, nil)
	return l.keep(name, lock, err)
}

// keep remembers a lock that was obtained.
func (l *bsmLocks) keep(name string, lock *redislock.Lock, err error) error {
	switch {
	case err == nil:
		l.held[name] = lock
	case errors.Is(err, redislock.ErrNotObtained):
		return line.ErrHeld
	}
	return err
}

func (l *bsmLocks) Extend(ctx context.Context, name string, ttl time.Duration) error {
	lock := l.held[name]
	if lock == nil {
		return fmt.Errorf("%q was not locked", name)
	}
	err := lock.Refresh(ctx, ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return line.ErrGone
	}
	return err
}

func (l *bsmLocks) Unlock(ctx context.Context, name string) error {
	lock := l.held[name]
	if lock == nil {
		return fmt.Errorf("%q was not locked", name)
	}
	delete(l.held, name)
	err := lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return line.ErrGone
	}
	return err
}
