package contender

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// bsmDefault is bsm/redislock with the retry strategy of the first example in its documentation that waits: every 100 ms, three times.
// Without a strategy it does not wait at all. When it gives up it is called again.
func bsmDefault() Contender {
	return Contender{
		Name: "bsm", Role: Peer, Module: "github.com/bsm/redislock",
		Settings: "as in its example: 3 more tries, 100 ms apart",
		Open: func(_ context.Context, addr string, goroutines int) (Client, error) {
			return openBSM(dialGoRedis(addr, false, goroutines), func() redislock.RetryStrategy {
				return redislock.LimitRetry(redislock.LinearBackoff(100*time.Millisecond), 3)
			}), nil
		},
	}
}

// bsmBest tries again after a short while that stays the same (LinearBackoff). The other strategy that it offers, ExponentialBackoff, makes
// those wait longest who have waited longest, and its documentation advises against less than 16 ms.
func bsmBest(pause time.Duration) Contender {
	return Contender{
		Name: "bsm-best", Role: Peer, Module: "github.com/bsm/redislock",
		Settings: "tries again after " + pauseText(pause) + ", for ever; a connection for each goroutine",
		Open: func(_ context.Context, addr string, goroutines int) (Client, error) {
			return openBSM(dialGoRedis(addr, true, goroutines), func() redislock.RetryStrategy {
				return redislock.LinearBackoff(pauseFor(pause, goroutines))
			}), nil
		},
	}
}

// bsmPipeline is bsmBest over the automatic pipelines of go-redis, which its README documents as experimental: bsm/redislock takes any client
// that can run scripts. It is nearly twice as fast where many use different locks, and half as fast for one goroutine alone.
func bsmPipeline(pause time.Duration) Contender {
	return Contender{
		Name: "bsm-pipeline", Role: Peer, Module: "github.com/bsm/redislock",
		Settings: "tries again after " + pauseText(pause) + ", for ever; AutoPipeline of go-redis",
		Open: func(_ context.Context, addr string, goroutines int) (Client, error) {
			client := dialGoRedis(addr, true, goroutines)
			pipeline, err := client.AutoPipeline()
			if err != nil {
				return nil, errors.Join(err, client.Close())
			}
			return &bsmClient{client, redislock.New(pipeline), func() redislock.RetryStrategy {
				return redislock.LinearBackoff(pauseFor(pause, goroutines))
			}}, nil
		},
	}
}

type bsmClient struct {
	goredis *redis.Client
	locker  *redislock.Client
	retry   func() redislock.RetryStrategy // a new one for each call: a limited one counts
}

func openBSM(client *redis.Client, retry func() redislock.RetryStrategy) Client {
	return &bsmClient{client, redislock.New(client), retry}
}

func (c *bsmClient) Lock(ctx context.Context, name string) (func() error, error) {
	lock, err := c.locker.Obtain(ctx, name, TTL, &redislock.Options{RetryStrategy: c.retry()})
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(context.Background()) }, nil
}

func (c *bsmClient) Close() error { return c.goredis.Close() }
