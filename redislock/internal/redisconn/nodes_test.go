package redisconn

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

func nodes(t *testing.T, c rueidis.Client) []Node {
	t.Helper()
	all, err := Nodes(within(t, patience), c)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// isNode checks a node that was asked.
func isNode(t *testing.T, n Node, addr, role string, least int) {
	t.Helper()
	if _, odd := n.Info["txt"]; odd {
		t.Errorf("%s: its INFO begins with %q", n.Addr, n.Info["txt"])
	}
	if n.Addr != addr || n.Info["role"] != role || n.MinReplicas != least || n.Err != nil || n.Policy != "noeviction" || n.MaxLag != 7*time.Second {
		t.Errorf("%s, a %s, min-replicas %d, max-lag %v, %s, %v; want %s, a %s, %d", n.Addr, n.Info["role"], n.MinReplicas, n.MaxLag, n.Policy, n.Err,
			addr, role, least)
	}
}

var lag7 = servers.RedisSet("min-replicas-max-lag", "7")

// chain is a primary with two replicas, one of which has a replica itself.
func chain(t *testing.T, options ...servers.RedisOption) []*servers.Redis {
	t.Helper()
	with := func(more ...servers.RedisOption) *servers.Redis {
		return start(t, slices.Concat([]servers.RedisOption{lag7}, options, more)...)
	}
	primary := with()
	second := with(servers.RedisReplicaOf(primary), servers.RedisSet("min-replicas-to-write", "1"))
	return []*servers.Redis{primary, second, with(servers.RedisReplicaOf(primary)), with(servers.RedisReplicaOf(second))}
}

// byAddress are all nodes but the first, as Nodes sorts them.
func byAddress(all []*servers.Redis) []*servers.Redis {
	return slices.SortedFunc(slices.Values(all), func(a, b *servers.Redis) int { return strings.Compare(a.Addr(), b.Addr()) })
}

// TestNodesChain: whichever of them is asked, all are found, it first.
func TestNodesChain(t *testing.T) {
	all := chain(t, servers.RedisPassword("right"))
	for i, s := range all {
		found := nodes(t, dial(t, "redis://:right@"+s.Addr()))
		if len(found) != len(all) {
			t.Fatalf("%d: %v", i, found)
		}
		others := byAddress(slices.Delete(slices.Clone(all), i, i+1))
		for n, want := range append([]*servers.Redis{s}, others...) {
			role, least := "slave", 0
			switch want {
			case all[0]:
				role = "master"
			case all[1]:
				least = 1
			}
			isNode(t, found[n], want.Addr(), role, least)
		}
	}
}

// TestNodesTLS: with nat= and TLS, as the client itself.
func TestNodesTLS(t *testing.T) {
	primary := start(t, lag7, servers.RedisTLS(servers.Flawless))
	replica := start(t, lag7, servers.RedisTLS(servers.Flawless), servers.RedisReplicaOf(primary), servers.RedisAnnounce("192.0.2.7:6379"))
	c := dial(t, "rediss://"+primary.Addr()+"?ca="+primary.Certificates.CA+"&nat=192.0.2.7:6379="+replica.Addr())
	found := nodes(t, c)
	if len(found) != 2 {
		t.Fatal(found)
	}
	isNode(t, found[0], primary.Addr(), "master", 0)
	isNode(t, found[1], "192.0.2.7:6379", "slave", 0)
}

// TestNodesOfSentinels: replicas that are gone count, unless they are known by another address; and the same for those that are there.
func TestNodesOfSentinels(t *testing.T) {
	primary := start(t, lag7)
	_, port, _ := net.SplitHostPort(primary.Addr())
	replica := start(t, lag7, servers.RedisReplicaOf(primary))
	_, replicaPort, _ := net.SplitHostPort(replica.Addr())
	info, err := replica.Info(within(t, patience), "server")
	if err != nil {
		t.Fatal(err)
	}
	all, hosts := fakes(t, place{primary.Addr(), 1}, place{primary.Addr(), 1})
	all[0].replicas = []string{
		"localhost," + replicaPort + "," + info["run_id"],
		"127.0.0.1,1," + info["run_id"], // where it was before
		"127.0.0.1,2,",
		"localhost," + port + ",", // the primary, by another name
	}
	all[1].silent, all[1].place.told = false, primary.Addr()
	all[1].declines = "LOADING"
	c := dial(t, "redis+sentinel://"+hosts+"/m?timeout=1s")
	found := nodes(t, c)
	if len(found) != 3 {
		t.Fatalf("%v", found)
	}
	isNode(t, found[0], primary.Addr(), "master", 0)
	gone, other := found[1], found[2]
	if gone.Addr != "127.0.0.1:2" {
		gone, other = other, gone
	}
	isNode(t, other, replica.Addr(), "slave", 0)
	if gone.Addr != "127.0.0.1:2" || gone.Info != nil || gone.MinReplicas != -1 || gone.Err == nil || !strings.Contains(gone.Err.Error(), "nobody listens") {
		t.Errorf("the one that is gone: %+v", gone)
	}
	all[0].change(func() { all[0].declines = "LOADING" })
	listed, err := Nodes(within(t, patience), c)
	if err != nil || len(listed) != 3 {
		t.Fatalf("no Sentinel answers: %d nodes, %v", len(listed), err)
	}
	if others := listed[2]; others.MinReplicas != -1 || others.Err == nil || !strings.Contains(others.Err.Error(), "2 Sentinels") || driver.Answered(others.Err) {
		t.Errorf("no Sentinel answers: %+v", others)
	}
}

// TestNodesOfRealSentinels: after a failover the old primary is dead, and counts.
func TestNodesOfRealSentinels(t *testing.T) {
	t.Parallel()
	w := watch(t, []servers.RedisOption{lag7})
	c := dial(t, "redis+sentinel://"+w.hosts()+"/my-primary?timeout=2s")
	if found := nodes(t, c); len(found) != 2 {
		t.Fatal(found)
	} else {
		isNode(t, found[0], w.primary.Addr(), "master", 0)
		isNode(t, found[1], w.replica.Addr(), "slave", 0)
	}
	w.primary.Kill()
	eventually(t, "the replica has taken over", func() bool { return set(t, c) == nil })
	var found []Node
	eventually(t, "a Sentinel lists the old primary", func() bool { found = nodes(t, c); return len(found) == 2 })
	isNode(t, found[0], w.replica.Addr(), "master", 0)
	if found[1].Addr != w.primary.Addr() || found[1].Err == nil {
		t.Errorf("the old primary: %+v", found[1])
	}
}

// TestNodesForbidden: CONFIG is forbidden, then INFO; on the server itself and on its replica.
func TestNodesForbidden(t *testing.T) {
	users := servers.RedisUsers("default off", "half on >"+canary+" ~* &* +@all -config", "none on >"+canary+" ~* &* +@all -info")
	primary := start(t, users, lag7)
	replica := start(t, users, lag7, servers.RedisReplicaOf(primary))
	found := nodes(t, dial(t, "redis://half:"+canary+"@"+primary.Addr()))
	if len(found) != 2 || found[1].Addr != replica.Addr() {
		t.Fatal(found)
	}
	for _, n := range found {
		if n.MinReplicas != -1 || n.Info["role"] == "" || n.Policy != "noeviction" || !strings.Contains(n.Err.Error(), "+config|get") {
			t.Errorf("%+v", n)
		}
		isRefused(t, n.Addr, n.Err, ErrPermission)
	}
	_, err := Nodes(within(t, patience), dial(t, "redis://none:"+canary+"@"+primary.Addr()))
	isRefused(t, "INFO", err, ErrPermission)
	do(t, replica, "ACL", "DELUSER", "half")
	found = nodes(t, dial(t, "redis://half:"+canary+"@"+primary.Addr()))
	isRefused(t, "an unknown user", found[1].Err, ErrAuth)
}

// TestNodesHang: a replica does not answer, and is not waited for for long.
func TestNodesHang(t *testing.T) {
	primary := start(t, lag7)
	start(t, servers.RedisReplicaOf(primary), servers.RedisAnnounce(silent(t)))
	c := dial(t, "redis://"+primary.Addr())
	begin := time.Now()
	found := nodes(t, c)
	if took := time.Since(begin); took < nodesLimit || took > patience/2 {
		t.Errorf("it took %v", took)
	}
	if len(found) != 2 || found[1].Err == nil || errors.Is(found[1].Err, context.DeadlineExceeded) {
		t.Errorf("%+v", found)
	}
	nothingLeft(t, func() {
		c := dial(t, "redis://"+primary.Addr())
		defer c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if found, err := Nodes(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's context: %v, %v", found, err)
		}
	})
}

// TestNodesAdopted: a program's own client can ask its server, and nobody else.
func TestNodesAdopted(t *testing.T) {
	all := chain(t)
	found := nodes(t, adopted(t, options(t, "redis://"+all[0].Addr())))
	if len(found) != 3 {
		t.Fatal(found)
	}
	isNode(t, found[0], all[0].Addr(), "master", 0)
	for _, n := range found[1:] {
		if n.Err != errOthers || n.MinReplicas != -1 || n.Info != nil {
			t.Errorf("%+v", n)
		}
	}
}
