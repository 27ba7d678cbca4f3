package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	driver "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"holdfast.dev/interop/internal/line"
)

type redsyncLocks struct {
	redsync *redsync.Redsync
	held    map[string]*redsync.Mutex
}

func openRedsync(_ context.Context, nodes []string) (line.Locks, error) {
	var pools []driver.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: node})))
	}
	return &redsyncLocks{redsync.New(pools...), make(map[string]*redsync.Mutex)}, nil
}

// pause is how long a peer in Go waits between two tries.
func pause(int) time.Duration {
	return 10*time.Millisecond + rand.N(20*time.Millisecond)
}

func (l *redsyncLocks) Lock(ctx context.Context, name string, ttl, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	mutex := l.redsync.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(math.MaxInt), redsync.WithRetryDelayFunc(pause))
	return l.keep(mutex, mutex.LockContext(ctx))
}

func (l *redsyncLocks) Try(ctx context.Context, name string, ttl time.Duration) error {
	mutex := l.redsync.NewMutex(name, redsync.WithExpiry(ttl))
	return l.keep(mutex, mutex.TryLockContext(ctx))
}

// keep remembers a mutex that was locked.
func (l *redsyncLocks) keep(mutex *redsync.Mutex, err error) error {
	var trouble *redsync.RedisError
	switch {
	case err == nil:
		l.held[mutex.Name()] = mutex
		return nil
	case errors.As(err, &trouble):
		return err
	}
	return line.ErrHeld // ErrFailed at the end of the wait, ErrTaken, ErrNodeTaken
}

// Extend takes another mutex with the same value, because a mutex has one expiry for all its life.
func (l *redsyncLocks) Extend(ctx context.Context, name string, ttl time.Duration) error {
	mutex := l.held[name]
	if mutex == nil {
		return fmt.Errorf("%q was not locked", name)
	}
	longer := l.redsync.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithValue(mutex.Value()))
	return redsyncGone(longer.ExtendContext(ctx))
}

func (l *redsyncLocks) Unlock(ctx context.Context, name string) error {
	mutex := l.held[name]
	if mutex == nil {
		return fmt.Errorf("%q was not locked", name)
	}
	delete(l.held, name)
	return redsyncGone(mutex.UnlockContext(ctx))
}

func redsyncGone(ok bool, err error) error {
	var trouble *redsync.RedisError
	switch {
	case ok:
		return nil
	case errors.As(err, &trouble):
		return err
	}
	return line.ErrGone
}
