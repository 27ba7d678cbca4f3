package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/servers"
	_ "holdfast.dev/redislock/redlock"
)

// TestConformance runs the whole kit on real servers, on as many as make sense.
func TestConformance(t *testing.T) {
	all := []int{1, 3, 5}
	if testing.Short() {
		all = all[:2]
	}
	for _, n := range all {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			locktest.Run(t, locktest.Harness{Start: func(t testing.TB) string { return start(t, n) }, Open: openGuardless, Link: locktest.TCP(openPatient), State: keysOf})
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
	return openURL(ctx, listed(addresses)+"&guard=0&node-timeout=3s")
}

// openPatient waits for answers that are held back: the kit looks at what nodes do meanwhile. With a time-out the client undoes it by itself.
func openPatient(ctx context.Context, addresses string) (driver.Store, error) {
	return openURL(ctx, listed(addresses)+"&guard=0&node-timeout=10s")
}

// listed is the URL of nodes that have names: tests reach them through proxies, under other addresses each time.
func listed(addresses string) string {
	text, sign := "redlock://", "?"
	for i, address := range strings.Split(addresses, ",") {
		text += fmt.Sprintf("%snode=redis://%s?name=n%d", sign, address, i+1)
		sign = "&"
	}
	return text
}

func openURL(ctx context.Context, text string) (driver.Store, error) {
	u, err := driver.ParseURL(text)
	if err != nil {
		return nil, err
	}
	open, _ := driver.Lookup(u.Scheme)
	return open(ctx, u)
}

// keysOf lists what is in the nodes and may not stay there. What clients agree on stays, and tombstones run out.
func keysOf(ctx context.Context, addresses string) (all []string, err error) {
	for address := range strings.SplitSeq(addresses, ",") {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, ForceSingleClient: true, DisableCache: true})
		if err != nil {
			return nil, err
		}
		defer client.Close()
		keys, err := client.Do(ctx, client.B().Keys().Pattern("*").Build()).AsStrSlice()
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if key != "holdfast:redlock:store" && !strings.HasPrefix(key, "holdfast:redlock:undone:") && !strings.HasPrefix(key, "holdfast:redlock:waiting:") {
				all = append(all, address+" "+key)
			}
		}
	}
	return all, nil
}
