package servers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// watched starts Sentinels over a primary, and waits until they could replace it.
func watched(t *testing.T, primary *servers.Redis, sentinels, replicas int, options ...servers.SentinelOption) []*servers.Sentinel {
	t.Helper()
	var all []*servers.Sentinel
	for range sentinels {
		s, err := servers.StartSentinel(patience(t), "m", primary, options...)
		servers.Need(t, err)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
		all = append(all, s)
	}
	for _, s := range all {
		if err := s.Knows(patience(t), replicas, sentinels-1); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// until waits for something to become true.
func until(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, again := patience(t), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for !is(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("it is still not so that %s", what)
		}
	}
}

func hasRole(r *servers.Redis, want string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		role, err := r.Role(ctx)
		return err == nil && role == want
	}
}

// A primary that is killed is replaced, and one that comes back as it was at first is a primary again until it is told.
func TestSentinelFailover(t *testing.T) {
	primary := start(t)
	replica := start(t, servers.RedisReplicaOf(primary))
	sentinels := watched(t, primary, 3, 1)
	for _, s := range sentinels {
		if addr, err := s.Primary(patience(t)); addr != primary.Addr() || err != nil {
			t.Errorf("the primary is %q, %v; want %s", addr, err, primary.Addr())
		}
	}
	do(t, primary, "SET", "key", "value")
	if err := replica.Sync(patience(t)); err != nil {
		t.Fatal(err)
	}
	primary.Kill()
	for _, s := range sentinels {
		if addr, err := s.NewPrimary(patience(t), primary.Addr()); addr != replica.Addr() || err != nil {
			t.Errorf("the new primary is %q, %v; want %s", addr, err, replica.Addr())
		}
	}
	until(t, "it has its role", hasRole(replica, "master"))
	answers(t, replica, "value", "GET", "key")

	if err := primary.RestartAs(patience(t)); err != nil {
		t.Fatal(err)
	}
	if role, err := primary.Role(patience(t)); role != "master" || err != nil {
		t.Errorf("the old primary comes back as a %q, %v", role, err)
	}
	until(t, "the Sentinels demote it", hasRole(primary, "slave"))
	if err := primary.Linked(patience(t)); err != nil {
		t.Fatal(err)
	}
	restart(t, primary) // the Sentinel has written into its settings
	if role, err := primary.Role(patience(t)); role != "slave" || err != nil {
		t.Errorf("a replica by the Sentinel's settings restarts as a %q, %v", role, err)
	}

	sentinels[0].Kill() // what it knows is in its file
	if err := sentinels[0].Restart(patience(t)); err != nil {
		t.Fatal(err)
	}
	if addr, err := sentinels[0].Primary(patience(t)); addr != replica.Addr() || err != nil {
		t.Errorf("after a restart the primary is %q, %v; want %s", addr, err, replica.Addr())
	}
}

// Servers behind proxies are known by the addresses of these, and a failover by hand goes by them, too.
func TestSentinelBehindProxies(t *testing.T) {
	var proxies []*netfault.Proxy
	var nodes []*servers.Redis
	for i := range 3 {
		proxy, err := netfault.New("127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { proxy.Close() })
		options := []servers.RedisOption{servers.RedisAnnounce(proxy.Addr())}
		if i > 0 {
			options = append(options, servers.RedisReplicaOf(nodes[0]), servers.RedisFollows(proxies[0].Addr()))
		}
		node := start(t, options...)
		if err := proxy.Retarget(node.Addr()); err != nil {
			t.Fatal(err)
		}
		proxies, nodes = append(proxies, proxy), append(nodes, node)
	}
	if got := do(t, nodes[1], "CONFIG", "GET", "replicaof").([]any)[1]; got != strings.Replace(proxies[0].Addr(), ":", " ", 1) {
		t.Errorf("the replica follows %v, not the proxy", got)
	}
	sentinels := watched(t, nodes[0], 3, 2, servers.SentinelWatch(proxies[0].Addr()))
	until(t, "a failover is accepted", func(ctx context.Context) bool { return sentinels[0].Failover(ctx) == nil })
	until(t, "the old primary is a replica", hasRole(nodes[0], "slave"))
	addr, err := sentinels[0].Primary(patience(t))
	at := slices.IndexFunc(proxies, func(p *netfault.Proxy) bool { return p.Addr() == addr })
	if err != nil || at < 1 {
		t.Fatalf("the primary is %q, %v: none of the replicas' proxies", addr, err)
	}
	for i, node := range nodes {
		if i != at {
			until(t, "it follows the new one's proxy", func(ctx context.Context) bool {
				got, err := node.Do(ctx, "CONFIG", "GET", "replicaof")
				return err == nil && fmt.Sprint(got) == fmt.Sprintf("[replicaof %s]", strings.Replace(addr, ":", " ", 1))
			})
		}
	}
}

func TestSentinelSecrets(t *testing.T) {
	const password, own = `a "b\c'`, `d e#f"`
	primary := start(t, servers.RedisTLS(servers.Flawless), servers.RedisUsers("default off"))
	start(t, servers.RedisTLS(servers.Flawless), servers.RedisReplicaOf(primary))
	watched(t, primary, 2, 1, servers.SentinelTLS(servers.Flawless), servers.SentinelPassword(own))

	plain := start(t, servers.RedisPassword(password))
	start(t, servers.RedisReplicaOf(plain), servers.RedisPassword(password))
	s := watched(t, plain, 2, 1, servers.SentinelPassword(own))[0]
	conn := strangerAt(t, s.Addr())
	if got := conn.ask("PING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("without the password: %q", got)
	}
	if _, err := servers.StartSentinel(patience(t), "m", primary); err == nil {
		t.Error("a Sentinel without TLS over a primary with TLS is accepted")
	}
	for _, name := range []string{"", "a b", "a\nb", "a/b"} {
		if _, err := servers.StartSentinel(patience(t), name, plain); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
	if _, err := servers.StartSentinel(patience(t), "m", plain, servers.SentinelQuorum(0)); err == nil {
		t.Error("a quorum of 0 is accepted")
	}
	if _, err := servers.StartSentinel(patience(t), "m", plain, servers.SentinelWatch("nowhere")); err == nil {
		t.Error("an address without a port is accepted")
	}
}

// In a hurry it is quick, also after a restart.
func TestSentinelHurry(t *testing.T) {
	s := watched(t, start(t), 1, 0, servers.SentinelHurry())[0]
	for range 2 {
		answer, err := s.Do(patience(t), "SENTINEL", "DEBUG")
		if text := fmt.Sprint(answer); err != nil || !strings.Contains(text, "PUBLISH-PERIOD 300") {
			t.Errorf("its times are %s, %v", text, err)
		}
		if err := s.Restart(patience(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSentinelSettings(t *testing.T) {
	primary := start(t)
	s := watched(t, primary, 1, 0, servers.SentinelQuorum(3), servers.SentinelDownAfter(1500*time.Millisecond),
		servers.SentinelFailoverTimeout(4*time.Second), servers.SentinelAnnounce("127.0.0.1:4711"),
		servers.SentinelSet("sentinel config-epoch m 7"))[0]
	answer, err := s.Do(patience(t), "SENTINEL", "MASTER", "m")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(answer)
	for _, want := range []string{"quorum 3", "down-after-milliseconds 1500", "failover-timeout 4000", "config-epoch 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	answer, err = s.Do(patience(t), "SENTINEL", "CONFIG", "GET", "announce-port")
	if fmt.Sprint(answer) != "[announce-port 4711]" || err != nil {
		t.Errorf("it announces %v, %v", answer, err)
	}
	if _, err := s.Do(patience(t), "SENTINEL", "FAILOVER", "other"); err == nil {
		t.Error("it knows another primary")
	}
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	if addr, err := s.NewPrimary(soon(), primary.Addr()); err == nil {
		t.Errorf("the only one is replaced by %s", addr)
	}
	if err := s.Knows(soon(), 1, 0); err == nil || !strings.Contains(err.Error(), "0 of 1 replicas") {
		t.Errorf("it knows a replica that does not exist: %v", err)
	}
}
