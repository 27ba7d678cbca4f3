package servers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// Roles can be moved by hand, one server at a time.
func TestRedisRoles(t *testing.T) {
	one := start(t)
	two := start(t, servers.RedisReplicaOf(one))
	role := func(r *servers.Redis, want string) {
		t.Helper()
		if got, err := r.Role(patience(t)); got != want || err != nil {
			t.Errorf("its role is %q, %v; want %s", got, err, want)
		}
	}
	role(one, "master")
	role(two, "slave")
	do(t, one, "SET", "key", "old")
	if err := two.Sync(patience(t)); err != nil {
		t.Fatal(err)
	}
	if err := two.Promote(patience(t)); err != nil {
		t.Fatal(err)
	}
	role(two, "master")
	do(t, two, "SET", "key", "new")
	if err := one.Follow(patience(t), two.Addr()); err != nil {
		t.Fatal(err)
	}
	if err := one.Linked(patience(t)); err != nil {
		t.Fatal(err)
	}
	role(one, "slave")
	answers(t, one, "new", "GET", "key")
	if err := one.Follow(patience(t), "nowhere"); err == nil {
		t.Error("an address without a port is accepted")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := two.Linked(short); err == nil {
		t.Error("a primary is a replica that is connected")
	}
}

// A primary hands over to its replica, and does not if there is none.
func TestRedisFailover(t *testing.T) {
	one := start(t)
	if err := one.Failover(patience(t)); err == nil {
		t.Error("it hands over to nobody")
	}
	two := start(t, servers.RedisReplicaOf(one))
	until(t, "it hands over", func(ctx context.Context) bool { return one.Failover(ctx) == nil })
	if role, err := two.Role(patience(t)); role != "master" || err != nil {
		t.Errorf("the replica is a %q, %v", role, err)
	}
	if err := one.Stop(); err != nil {
		t.Fatal(err)
	}
	do(t, two, "SET", "x", "1") // which the replica does not get
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := two.Failover(short); err == nil {
		t.Error("it hands over to one that stands still")
	}
	one.Continue()
	if info, err := two.Info(patience(t), "replication"); info["master_failover_state"] != "no-failover" || err != nil {
		t.Errorf("the failover was not called off: %q, %v", info["master_failover_state"], err)
	}
}

// It hands over to the one that it is told, and goes on if there is no such.
func TestRedisFailoverTo(t *testing.T) {
	one := start(t)
	start(t, servers.RedisReplicaOf(one), servers.RedisAnnounce("127.0.0.1:1"))
	two := start(t, servers.RedisReplicaOf(one))
	for _, nobody := range []string{"nowhere", "127.0.0.1:2"} {
		if err := one.FailoverTo(patience(t), nobody); err == nil {
			t.Errorf("it hands over to %s", nobody)
		}
	}
	until(t, "it hands over", func(ctx context.Context) bool { return one.FailoverTo(ctx, two.Addr()) == nil })
	if role, err := two.Role(patience(t)); role != "master" || err != nil {
		t.Errorf("the replica is a %q, %v", role, err)
	}
}

// A restart keeps what a server has written into its own settings; RestartAs does not.
func TestRedisRestartAs(t *testing.T) {
	primary := start(t)
	replica := start(t, servers.RedisReplicaOf(primary), servers.RedisSet("maxclients", "77"))
	setting := func(name, want string) {
		t.Helper()
		if got := do(t, replica, "CONFIG", "GET", name).([]any)[1]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if err := replica.Promote(patience(t)); err != nil {
		t.Fatal(err)
	}
	do(t, replica, "CONFIG", "SET", "maxclients", "88")
	do(t, replica, "CONFIG", "REWRITE")
	restart(t, replica)
	setting("maxclients", "88")
	setting("replicaof", "")
	if err := replica.RestartAs(patience(t)); err != nil {
		t.Fatal(err)
	}
	setting("maxclients", "77")
	setting("replicaof", strings.Replace(primary.Addr(), ":", " ", 1))
	if err := replica.RestartAs(patience(t), "replicaof no one", "maxclients 99"); err != nil {
		t.Fatal(err)
	}
	setting("maxclients", "99")
	setting("replicaof", "")
	answers(t, replica, "OK", "SET", "key", "value")
}

func TestRedisAddressesForReplicas(t *testing.T) {
	for _, option := range []servers.RedisOption{servers.RedisFollows("nowhere"), servers.RedisAnnounce("nowhere")} {
		if _, err := servers.StartRedis(patience(t), option); err == nil || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("an address without a port: %v", err)
		}
	}
	primary := start(t)
	replica := start(t, servers.RedisFollows(primary.Addr()), servers.RedisAnnounce("127.0.0.9:4711"))
	if err := replica.Linked(patience(t)); err != nil {
		t.Fatal(err)
	}
	if err := replica.Sync(patience(t)); err == nil {
		t.Error("it knows how far somebody is whom it was not given")
	}
	info, err := primary.Info(patience(t), "replication")
	if err != nil || !strings.HasPrefix(info["slave0"], "ip=127.0.0.9,port=4711,") {
		t.Errorf("the primary knows its replica as %q, %v", info["slave0"], err)
	}
}
