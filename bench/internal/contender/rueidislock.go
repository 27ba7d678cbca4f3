package contender

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislockDefault is rueidislock with nothing set: three keys for each lock, of which it needs two, though all are on one server.
func rueidislockDefault() Contender {
	return Contender{
		Name: "rueidislock", Role: Peer, Module: "github.com/redis/rueidis",
		Settings: "the defaults: 2 keys of 3",
		Open: func(_ context.Context, addr string, _ int) (Client, error) {
			return openRueidislock(addr, rueidislock.LockerOption{})
		},
	}
}

// rueidislockBest has what its README has in its first example and in its benchmark: one key, because there is one server, and no
// notifications about its own changes, "to have better performance".
func rueidislockBest() Contender {
	return Contender{
		Name: "rueidislock-best", Role: Peer, Module: "github.com/redis/rueidis",
		Settings: "KeyMajority 1, NoLoopTracking",
		Open: func(_ context.Context, addr string, _ int) (Client, error) {
			return openRueidislock(addr, rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true})
		},
	}
}

type rueidislockClient struct{ locker rueidislock.Locker }

func openRueidislock(addr string, options rueidislock.LockerOption) (Client, error) {
	options.ClientOption = rueidis.ClientOption{InitAddress: []string{addr}}
	locker, err := rueidislock.NewLocker(options)
	if err != nil {
		return nil, err
	}
	return rueidislockClient{locker}, nil
}

// Lock: its holds end with the context that they were asked for with, also while they are held. Unlocking waits until the server has
// answered.
func (c rueidislockClient) Lock(ctx context.Context, name string) (func() error, error) {
	_, cancel, err := c.locker.WithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return func() error {
		cancel()
		return nil
	}, nil
}

func (c rueidislockClient) Close() error {
	c.locker.Close()
	return nil
}
