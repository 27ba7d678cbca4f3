package control

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/servers"
)

// TestConformance runs the whole kit on those twins that have steps of their own, and on the lock that the others share. A twin that is
// wrong would prove nothing when its broken brother is caught. Links with real faults are what the torture itself has. (N11 has a TTL and a guard that are too short for the kit's patience
// with other processes: n11_test.go looks at it.)
func TestConformance(t *testing.T) {
	for _, name := range []string{"N1", "N7", "N15"} {
		if testing.Short() && name != "N1" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, _ := Find(name)
			open := func(ctx context.Context, addr string) (driver.Store, error) {
				all := strings.Split(addr, ",")
				return c.Open(ctx, Options{Addr: all[0], More: all[1:]})
			}
			locktest.Run(t, locktest.Harness{Start: c.start, Open: open, State: left})
		})
	}
}

// start starts as many servers as the control needs.
func (c Control) start(t testing.TB) string {
	t.Helper()
	addrs := []string{startRedis(t).Addr()}
	for len(addrs) < c.Nodes {
		addrs = append(addrs, startRedis(t).Addr())
	}
	return strings.Join(addrs, ",")
}

// left is what is on any of them.
func left(ctx context.Context, addr string) (all []string, err error) {
	for i, addr := range strings.Split(addr, ",") {
		keys, err := Left(ctx, addr)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			all = append(all, fmt.Sprint(i, " ", key))
		}
	}
	return all, nil
}

func startRedis(t testing.TB) *servers.Redis {
	t.Helper()
	server, err := servers.StartRedis(t.Context())
	servers.Need(t, err)
	t.Cleanup(func() { server.Close() })
	return server
}
