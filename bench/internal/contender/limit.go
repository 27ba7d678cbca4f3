package contender

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// limit is the least that a lock on one server can be: SET NX PX to take it, a script that compares and deletes to give it back, on the
// fastest client there is for Go. It renews nothing, has no token and cannot wait, so it is measured only where nobody waits.
func limit() Contender {
	return limitWith("limit", "rueidis with its defaults", rueidis.ClientOption{})
}

// limitBest has the settings of rueidis that were found to be the fastest: one connection, so that more requests share a packet, and a
// pause of the 20 µs that its documentation names after each packet, so that still more do. It is a reference: ratios to the limit are to
// rueidis with its defaults.
func limitBest() Contender {
	best := limitWith("limit-best", "rueidis with one connection and MaxFlushDelay 20 µs", rueidis.ClientOption{
		PipelineMultiplex: -1, MaxFlushDelay: 20 * time.Microsecond,
	})
	best.Role = Reference
	return best
}

func limitWith(name, settings string, options rueidis.ClientOption) Contender {
	return Contender{
		Name: name, Role: Limit, Module: "github.com/redis/rueidis",
		Settings: "SET NX PX and a compare-and-delete script: " + settings,
		Direct:   []string{"set"},
		Open: func(_ context.Context, addr string, _ int) (Client, error) {
			return openLimit(addr, options)
		},
	}
}

type limitClient struct {
	rueidis rueidis.Client
	holds   atomic.Uint64
}

var errTaken = errors.New("the lock is taken, and the limit does not wait")

var compareAndDelete = rueidis.NewLuaScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func openLimit(addr string, options rueidis.ClientOption) (Client, error) {
	options.InitAddress = []string{addr}
	options.DisableCache = true
	options.ForceSingleClient = true
	client, err := rueidis.NewClient(options)
	if err != nil {
		return nil, err
	}
	return &limitClient{rueidis: client}, nil
}

func (c *limitClient) Lock(ctx context.Context, name string) (func() error, error) {
	id := strconv.FormatUint(c.holds.Add(1), 10) // nobody else takes a lock of the limit's, so it need not be random
	if err := c.take(ctx, name, id); err != nil {
		return nil, err
	}
	return func() error { return c.free(name, id) }, nil
}

func (c *limitClient) take(ctx context.Context, name, id string) error {
	set := c.rueidis.B().Set().Key(name).Value(id).Nx().Px(TTL).Build()
	err := c.rueidis.Do(ctx, set).Error()
	if rueidis.IsRedisNil(err) {
		return errTaken
	}
	return err
}

func (c *limitClient) free(name, id string) error {
	deleted, err := compareAndDelete.Exec(context.Background(), c.rueidis, []string{name}, []string{id}).AsInt64()
	if err == nil && deleted != 1 {
		return errors.New("the lock was not held when it was given back")
	}
	return err
}

func (c *limitClient) Close() error {
	c.rueidis.Close()
	return nil
}
