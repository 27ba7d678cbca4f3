package contender

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncDefault is redsync as its README has it: a pool of go-redis, a mutex without options. That tries 32 times, 50 to 250 ms apart,
// and then says that it failed, and that one may call it again.
func redsyncDefault() Contender {
	return Contender{
		Name: "redsync", Role: Peer, Module: "github.com/go-redsync/redsync/v4",
		Settings: "the defaults: 32 tries, 50 to 250 ms apart",
		Direct:   []string{"set", "setnx"},
		Open: func(_ context.Context, addr string, goroutines int) (Client, error) {
			return openRedsync(dialAll(addr, false, goroutines)), nil
		},
	}
}

// redsyncBest uses the options that its reference offers for speed: WithRetryDelay, shorter; WithTries, so that it does not give up;
// WithFailFast, "to quickly acquire and release the lock". Its other options concern several servers, or what is written.
func redsyncBest(pause time.Duration) Contender {
	return Contender{
		Name: "redsync-best", Role: Peer, Module: "github.com/go-redsync/redsync/v4",
		Settings: "tries again after " + pauseText(pause) + ", for ever; fail-fast; a connection for each goroutine",
		Direct:   []string{"set", "setnx"},
		Open: func(_ context.Context, addr string, goroutines int) (Client, error) {
			return openRedsync(dialAll(addr, true, goroutines),
				redsync.WithRetryDelay(pauseFor(pause, goroutines)), redsync.WithTries(math.MaxInt), redsync.WithFailFast(true)), nil
		},
	}
}

type redsyncClient struct {
	goredis []*redis.Client
	redsync *redsync.Redsync
	options []redsync.Option
}

func openRedsync(clients []*redis.Client, options ...redsync.Option) Client {
	var pools []pool.Pool
	for _, client := range clients {
		pools = append(pools, goredis.NewPool(client))
	}
	return &redsyncClient{clients, redsync.New(pools...), options}
}

func (c *redsyncClient) Lock(ctx context.Context, name string) (func() error, error) {
	mutex := c.redsync.NewMutex(name, c.options...)
	if err := mutex.LockContext(ctx); err != nil {
		return nil, err
	}
	return func() error {
		_, err := mutex.UnlockContext(context.Background())
		return err
	}, nil
}

func (c *redsyncClient) Close() error {
	var errs []error
	for _, client := range c.goredis {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
