package contender

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev"

	_ "holdfast.dev/redislock" // redis://
)

// ours is Holdfast with its defaults. It needs no best settings: there is nothing to set. The guard is off, because the measurement
// begins with a fresh server, and with the guard on nothing would be granted in its first half minute. What it costs afterwards guarded
// shows.
func ours() Contender {
	return Contender{
		Name: "holdfast", Role: Ours, Module: "holdfast.dev/redislock",
		Settings: "the defaults; the guard after a restart is off",
		Open: func(ctx context.Context, addr string, _ int) (Client, error) {
			return openHoldfast(ctx, URL(addr))
		},
	}
}

// guarded is the same with the guard on. It is another store on the same server, so that both can be measured in turn; on a server with
// replicas it alone grants and renews only with proof that these follow.
func guarded(guard time.Duration) Contender {
	return Contender{
		Name: "holdfast-guard", Role: Guarded, Module: "holdfast.dev/redislock",
		Settings: fmt.Sprintf("the defaults; the guard of %v is on, and over", guard),
		Open: func(ctx context.Context, addr string, _ int) (Client, error) {
			return openGuarded(ctx, fmt.Sprintf("redis://%s?guard=%v&prefix=guarded:", addr, guard))
		},
	}
}

// URL is where Holdfast finds its locks on the server under test.
func URL(addr string) string { return "redis://" + addr + "?guard=0" }

type holdfastClient struct{ *holdfast.Client }

func openHoldfast(ctx context.Context, url string) (Client, error) {
	client, err := holdfast.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return holdfastClient{client}, nil
}

// openGuarded returns when the guard is over: that is when a lock is granted. The first client of a server waits for all of it, and those
// that come later for nothing.
func openGuarded(ctx context.Context, url string) (Client, error) {
	client, err := openHoldfast(ctx, url)
	if err != nil {
		return nil, err
	}
	unlock, err := client.Lock(ctx, "bench:ready")
	if err == nil {
		err = unlock()
	}
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("waiting for the end of its guard: %w", err)
	}
	return client, nil
}

func (c holdfastClient) Lock(ctx context.Context, name string) (func() error, error) {
	hold, err := c.Mutex(name).Lock(ctx)
	if err != nil {
		return nil, err
	}
	return hold.Unlock, nil
}
