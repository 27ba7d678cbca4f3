package redislock_test

import (
	"context"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/servers"
	_ "holdfast.dev/redislock"
)

// TestConformance runs the whole kit on a real server.
func TestConformance(t *testing.T) {
	locktest.Run(t, locktest.Harness{Start: start, Open: openGuardless, Link: locktest.TCP(openGuardless)})
}

// start starts a Redis of this test's own, and returns its address.
func start(t testing.TB) string {
	t.Helper()
	return startRedis(t).Addr()
}

func startRedis(t testing.TB, opts ...servers.RedisOption) *servers.Redis {
	t.Helper()
	server, err := servers.StartRedis(t.Context(), opts...)
	servers.Need(t, err)
	t.Cleanup(func() { server.Close() })
	return server
}

func openGuardless(ctx context.Context, address string) (driver.Store, error) {
	return openURL(ctx, "redis://"+address+"?guard=0")
}

func openURL(ctx context.Context, text string) (driver.Store, error) {
	u, err := driver.ParseURL(text)
	if err != nil {
		return nil, err
	}
	open, _ := driver.Lookup(u.Scheme)
	return open(ctx, u)
}
