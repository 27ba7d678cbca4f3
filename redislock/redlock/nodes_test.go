package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/redlock"
)

// TestWrongNodes: one node of three is nothing that could ever vote. That is a mistake of the deployment, and told by Open, though the others would do.
func TestWrongNodes(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 2)
	for _, c := range []struct {
		name  string
		start func() *servers.Redis
		user  string // before the node's host
		kind  error
		words []string
	}{
		{"a node of a Cluster", func() *servers.Redis { return startRedis(t, servers.RedisSet("cluster-enabled", "yes")) }, "",
			redlock.ErrCluster, []string{"Cluster", "single"}},
		{"a replica", func() *servers.Redis { return startRedis(t, servers.RedisReplicaOf(g.nodes[0])) }, "",
			redlock.ErrReadOnly, []string{"replica", "primary"}},
		{"a node of a Cluster, without functions", func() *servers.Redis {
			return startRedis(t, servers.RedisSet("cluster-enabled", "yes"), servers.RedisRename("FCALL", ""))
		}, "", redlock.ErrCluster, []string{"Cluster", "single"}},
		{"a replica, without functions", func() *servers.Redis {
			return startRedis(t, servers.RedisReplicaOf(g.nodes[0]), servers.RedisRename("FCALL", ""))
		}, "", redlock.ErrReadOnly, []string{"replica", "primary"}},
		{"a wrong password", func() *servers.Redis { return startRedis(t, servers.RedisPassword(canary)) }, ":wrong-" + canary + "%40",
			redlock.ErrAuth, []string{"password"}},
		{"no password", func() *servers.Redis { return startRedis(t, servers.RedisPassword(canary)) }, "",
			redlock.ErrAuth, []string{"password"}},
		{"something else at the store's key", func() *servers.Redis {
			s := startRedis(t)
			if _, err := s.Do(t.Context(), "SET", "holdfast:redlock:store", canary); err != nil {
				t.Fatal(err)
			}
			return s
		}, "", redlock.ErrKeyType, []string{"prefix"}},
	} {
		store, err := openURL(inTime(t), listing(append(g.places(), place{"n3", c.user + c.start().Addr()}), "&guard=0"))
		var node *driver.NodeError
		switch {
		case err == nil:
			store.Close()
			t.Errorf("%s: it was opened", c.name)
			continue
		case !errors.Is(err, c.kind) || !driver.Answered(err):
			t.Errorf("%s: %v: want %v, as an answer", c.name, err, c.kind)
		case !errors.As(err, &node) || node.Node != "n3":
			t.Errorf("%s: %v: want a *driver.NodeError of n3", c.name, err)
		}
		says(t, err, c.words...)
		secretless(t, err)
	}
}

// TestLateNode: a minority that cannot be reached when the store is opened is no reason to refuse, and takes part when it can be.
func TestLateNode(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	way := nowhere(t)
	m := opened(t, listing(append(g.places(0, 1), place{"n3", way.Addr()}), "&guard=0&node-timeout=500ms"))
	r := ask("lock", patience)
	m.grant(r)
	if at := g.has("lock"); len(at) != 2 {
		t.Errorf("the lock is at nodes %v", at)
	}
	if err := m.release(r); err != nil {
		t.Fatal(err)
	}
	if err := way.Retarget(g.nodes[2].Addr()); err != nil {
		t.Fatal(err)
	}
	g.block("lock", 0) // its vote is needed
	until(t, "the late node votes", func() bool {
		_, err := m.try(ask("lock", patience))
		return err == nil
	})
}

// TestTooFewAtOpen: without a majority Open ends by itself where nobody listens, and with its context where nobody answers. Its error says what
// it knows of every node.
func TestTooFewAtOpen(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 1)
	for _, c := range []struct {
		name   string
		way    func() string
		silent bool
	}{
		{"nobody listens", func() string { return nowhere(t).Addr() }, false},
		{"nobody answers", func() string {
			way, err := netfault.New(g.nodes[0].Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { way.Close() })
			way.Blackhole(netfault.Both)
			return way.Addr()
		}, true},
	} {
		ctx, cancel := inTime(t), context.CancelFunc(func() {})
		if c.silent {
			ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		}
		_, err := openURL(ctx, listing(append(g.places(0), place{"n2", c.way()}, place{"n3", c.way()}), "&guard=0"))
		cancel()
		var nodes *redlock.NodesError
		if !errors.As(err, &nodes) || driver.Answered(err) || errors.Is(err, context.DeadlineExceeded) != c.silent {
			t.Fatalf("%s: %v: want a *NodesError, and the end of the context only if nobody answers", c.name, err)
		}
		if nodes.Need != 2 || len(nodes.Nodes) != 3 || nodes.Nodes[0].Err != nil || nodes.Nodes[1].Err == nil || nodes.Nodes[2].Err == nil {
			t.Errorf("%s: %+v", c.name, nodes)
		}
		says(t, err, "n1: connected", "n2: ", "n3: ")
	}
}

// TestLateMajority: New asks nobody. Without a majority nothing is granted, and when there is one the store works, with all nodes in the end.
func TestLateMajority(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	clients, names := clientsOf(t, g.places())
	g.nodes[1].Kill()
	g.nodes[2].Kill()
	m := joined(t, redlock.New(clients, names, redlock.Guard(0), redlock.NodeTimeout(200*time.Millisecond)))
	_, err := m.try(ask("lock", patience))
	var nodes *redlock.NodesError
	if !errors.As(err, &nodes) || driver.Answered(err) || len(nodes.Nodes) != 3 {
		t.Fatalf("two of three are gone: %v", err)
	}
	if _, err := m.Guarantees(inTime(t)); !errors.As(err, &nodes) {
		t.Errorf("Guarantees: %v", err)
	}
	g.restart(1)
	r := ask("lock", patience)
	m.grant(r)
	g.restart(2)
	if err := m.release(r); err != nil {
		t.Fatal(err)
	}
	g.block("lock", 0)
	until(t, "the last node votes", func() bool {
		_, err := m.try(ask("lock", patience))
		return err == nil
	})
}
