package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/servers"
	_ "holdfast.dev/redislock/redlock"
)

// TestConformance runs the whole kit on real servers, on as many as make sense.
func TestConformance(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			locktest.Run(t, locktest.Harness{Start: func(t testing.TB) string { return start(t, n) }, Open: openGuardless, State: keysOf})
		})
	}
}

// start starts servers of this test's own, and returns their addresses.
func start(t testing.TB, n int) string {
	t.Helper()
	var all []string
	for range n {
		all = append(all, startRedis(t).Addr())
	}
	return strings.Join(all, ",")
}

func startRedis(t testing.TB, opts ...servers.RedisOption) *servers.Redis {
	t.Helper()
	server, err := servers.StartRedis(t.Context(), opts...)
	servers.Need(t, err)
	t.Cleanup(func() { server.Close() })
	return server
}

func openGuardless(ctx context.Context, addresses string) (driver.Store, error) {
	return openURL(ctx, "redlock://"+addresses+"?guard=0&node-timeout=500ms")
}

func openURL(ctx context.Context, text string) (driver.Store, error) {
	u, err := driver.ParseURL(text)
	if err != nil {
		return nil, err
	}
	open, _ := driver.Lookup(u.Scheme)
	return open(ctx, u)
}

func keysOf(context.Context, string) ([]string, error) { return nil, nil }

