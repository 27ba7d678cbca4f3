package control

import (
	"context"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/servers"
)

// TestConformance runs the whole kit on those twins that have steps of their own, and on the lock that the others share. A twin that is
// wrong would prove nothing when its broken brother is caught. Links with real faults are what the torture itself has. (N11 has a TTL and a guard that are too short for the kit's patience
// with other processes: n11_test.go looks at it.)
func TestConformance(t *testing.T) {
	for _, name := range []string{"N1", "N15"} {
		if testing.Short() && name != "N1" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, _ := Find(name)
			open := func(ctx context.Context, addr string) (driver.Store, error) { return c.Open(ctx, Options{Addr: addr}) }
			locktest.Run(t, locktest.Harness{Start: start, Open: open, State: Left})
		})
	}
}

func start(t testing.TB) string {
	t.Helper()
	return startRedis(t).Addr()
}

func startRedis(t testing.TB) *servers.Redis {
	t.Helper()
	server, err := servers.StartRedis(t.Context())
	servers.Need(t, err)
	t.Cleanup(func() { server.Close() })
	return server
}
