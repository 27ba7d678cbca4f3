package contender

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	adapter "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// fastestPause is between two tries of redsync at its best. It was found with --retry, for 64 who want one lock: see pausePerGoroutine for what
// shorter and longer ones do.
const fastestPause = 20 * time.Millisecond

// redsyncFastest is redsync on several nodes at its best: fail-fast, so that it too is done at a majority; for ever, so that it does not give up;
// and over rueidis, which is the fastest of its adapters (with go-redis and as many connections a lock takes 1.2 to 1.5 times as long, and 64
// goroutines have half of the throughput). The pause is random, as by default, so that those who have split the nodes do not meet again.
func redsyncFastest(pause time.Duration) Contender {
	if pause == 0 {
		pause = fastestPause
	}
	return Contender{
		Name: "redsync-best", Role: Peer, Module: "github.com/go-redsync/redsync/v4",
		Settings: "over rueidis; fail-fast; tries again after " + pause.String() + ", give or take a half, for ever",
		Direct:   []string{"set", "setnx"},
		Open: func(_ context.Context, addr string, _ int) (Client, error) {
			return openRedsyncRueidis(strings.Split(addr, ","),
				redsync.WithRetryDelayFunc(func(int) time.Duration { return pause/2 + rand.N(pause) }),
				redsync.WithTries(math.MaxInt), redsync.WithFailFast(true))
		},
	}
}

type redsyncRueidis struct {
	redsyncClient
	rueidis []rueidis.Client
}

func openRedsyncRueidis(addrs []string, options ...redsync.Option) (Client, error) {
	c := new(redsyncRueidis)
	var pools []pool.Pool
	for _, addr := range addrs {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.rueidis = append(c.rueidis, client)
		pools = append(pools, adapter.NewPool(rueidiscompat.NewAdapter(client)))
	}
	c.redsync, c.options = redsync.New(pools...), options
	return c, nil
}

func (c *redsyncRueidis) Close() error {
	for _, client := range c.rueidis {
		client.Close()
	}
	return nil
}
