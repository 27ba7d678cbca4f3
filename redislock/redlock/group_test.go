package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/redlock"
)

// patience is how long something may take that must happen in the end, on a machine that has more to do.
const patience = 30 * time.Second

// A group is the nodes of one test.
type group struct {
	t     *testing.T
	nodes []*servers.Redis
}

func startGroup(t *testing.T, n int, opts ...servers.RedisOption) *group {
	t.Helper()
	g := &group{t: t}
	for range n {
		g.nodes = append(g.nodes, startRedis(t, opts...))
	}
	return g
}

// A member is a client of a group, which reaches each node through a proxy of its own.
type member struct {
	*redlock.Store
	t    *testing.T
	ways []*netfault.Proxy
}

var attempts = driver.NewAttempts()

// open opens a client, with parameters such as &guard=0.
func (g *group) open(params string) *member {
	g.t.Helper()
	m := &member{t: g.t}
	var addresses []string
	for _, node := range g.nodes {
		way, err := netfault.New(node.Addr())
		if err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() { way.Close() })
		m.ways, addresses = append(m.ways, way), append(addresses, way.Addr())
	}
	store, err := openURL(g.t.Context(), listed(strings.Join(addresses, ","))+params)
	if err != nil {
		g.t.Fatal(err)
	}
	m.Store = store.(*redlock.Store)
	g.t.Cleanup(func() { m.Close() })
	return m
}

// do sends a command to one node, the first is 0, past everybody's proxies.
func (g *group) do(node int, args ...string) any {
	g.t.Helper()
	reply, err := g.nodes[node].Do(g.t.Context(), args...)
	if err != nil {
		g.t.Fatal(err)
	}
	return reply
}

// block takes the key of a lock at nodes, as another program would.
func (g *group) block(name string, nodes ...int) {
	g.t.Helper()
	for _, node := range nodes {
		g.do(node, "SET", name, "somebody else", "PX", "100000")
	}
}

func (g *group) unblock(name string, nodes ...int) {
	g.t.Helper()
	for _, node := range nodes {
		g.do(node, "DEL", name)
	}
}

// has returns at which nodes the key of a lock is there.
func (g *group) has(name string) (at []int) {
	g.t.Helper()
	for i := range g.nodes {
		if reply := g.do(i, "EXISTS", name); fmt.Sprint(reply) == "1" {
			at = append(at, i)
		}
	}
	return at
}

// forgets kills a node, and starts it again without its memory.
func (g *group) forgets(node int) {
	g.t.Helper()
	g.nodes[node].Kill()
	g.restart(node)
}

func (g *group) restart(node int) {
	g.t.Helper()
	if err := g.nodes[node].Restart(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
}

func ask(name string, ttl time.Duration) *driver.Request {
	return &driver.Request{Name: name, Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: ttl, Label: "test"}
}

// try asks without waiting.
func (m *member) try(r *driver.Request) (*driver.Grant, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	again := *r
	again.NoWait = true
	return m.Acquire(ctx, &again)
}

// grant waits for the lock, for as long as the kindness of this machine lasts.
func (m *member) grant(r *driver.Request) *driver.Grant {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	for {
		g, err := m.Acquire(ctx, r)
		if err == nil {
			return g
		}
		if driver.Answered(err) || ctx.Err() != nil { // else it is unknown, and asked again, as the core does
			m.t.Fatalf("waiting for %q: %v", r.Name, err)
		}
	}
}

// release ends an attempt, and reports how.
func (m *member) release(r *driver.Request) error {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	for {
		err := m.Release(ctx, r)
		if err == nil || driver.Answered(err) {
			return err
		}
		if ctx.Err() != nil {
			m.t.Fatalf("releasing %q: %v", r.Name, err)
		}
	}
}

// end is when a grant can be believed no longer.
func end(g *driver.Grant) driver.Instant { return g.Asked.Add(g.TTL - driver.Margin(g.TTL)) }

// excluded reports whether one who asks is told that somebody else has it.
func isHeld(err error) bool {
	var held *driver.Held
	return errors.As(err, &held) && driver.Answered(err)
}

// until waits for something that must come true.
func until(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !isTrue(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come true", what)
		}
	}
}
