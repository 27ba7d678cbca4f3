package contender

import (
	"context"

	"holdfast.dev"

	_ "holdfast.dev/redislock" // redis://
)

// ours is Holdfast with its defaults. It needs no best settings: there is nothing to set. The guard is off, because the measurement
// begins with a fresh server, and with the guard on nothing would be granted in its first half minute. It costs nothing afterwards.
func ours() Contender {
	return Contender{
		Name: "holdfast", Role: Ours, Module: "holdfast.dev/redislock",
		Settings: "the defaults; the guard after a restart is off",
		Open:     openHoldfast,
	}
}

// URL is where Holdfast finds its locks on the server under test.
func URL(addr string) string { return "redis://" + addr + "?guard=0" }

type holdfastClient struct{ *holdfast.Client }

func openHoldfast(ctx context.Context, addr string, _ int) (Client, error) {
	client, err := holdfast.Open(ctx, URL(addr))
	if err != nil {
		return nil, err
	}
	return holdfastClient{client}, nil
}

func (c holdfastClient) Lock(ctx context.Context, name string) (func() error, error) {
	hold, err := c.Mutex(name).Lock(ctx)
	if err != nil {
		return nil, err
	}
	return hold.Unlock, nil
}
