package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// Nodes are Redis servers, of which the first is the primary and the others follow it, until a test says otherwise.
type nodes struct {
	t     *testing.T
	all   []*servers.Redis
	links []*netfault.Proxy // on the way to each from the others
}

// contact settings: with these a proof may be a second old, and the fence is 3 s.
var minReplicas = []servers.RedisOption{servers.RedisSet("min-replicas-to-write", "1"), servers.RedisSet("min-replicas-max-lag", "1")}

// minReplicasOf asks for n replicas.
func minReplicasOf(n int) servers.RedisOption {
	return servers.RedisSet("min-replicas-to-write", strconv.Itoa(n))
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

const (
	shortFence = 3 * time.Second // with minReplicas
	usualFence = 4 * time.Second // without
)

func startNodes(t *testing.T, n int, options ...servers.RedisOption) *nodes {
	t.Helper()
	g := &nodes{t: t}
	for i := range n {
		link := newProxy(t)
		own := append([]servers.RedisOption{servers.RedisAnnounce(link.Addr()), servers.RedisSet("repl-timeout", "5"),
			servers.RedisSet("repl-ping-replica-period", "1")}, options...)
		if i > 0 {
			own = append(own, servers.RedisFollows(g.links[0].Addr()))
		}
		server := startRedis(t, own...)
		g.do(link.Retarget(server.Addr()))
		g.all, g.links = append(g.all, server), append(g.links, link)
		if i > 0 {
			g.do(server.Linked(inTime(t)))
		}
	}
	g.followed(0, n-1)
	return g
}

// startPair starts three nodes of which a primary needs one replica, and two clients that are led to the first.
func startPair(t *testing.T, guard time.Duration) (g *nodes, first, second *party) {
	t.Helper()
	g = startNodes(t, 3, minReplicas...)
	params := fmt.Sprintf("guard=%v", guard)
	return g, g.join(0, params), g.join(0, params)
}

// newProxy is a way that leads nowhere yet.
func newProxy(t *testing.T) *netfault.Proxy {
	t.Helper()
	p, err := netfault.New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func (g *nodes) do(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// isolate cuts a node off from the others, though not from clients.
func (g *nodes) isolate(i int) {
	g.links[i].Blackhole(netfault.Both)
	g.links[i].Refuse()
}

func (g *nodes) heal(i int) { g.links[i].Heal() }

// promote makes a node the primary, and lets others follow it.
func (g *nodes) promote(i int, followers ...int) {
	g.t.Helper()
	g.do(g.all[i].Promote(inTime(g.t)))
	for _, j := range followers {
		g.do(g.all[j].Follow(inTime(g.t), g.links[i].Addr()))
		g.do(g.all[j].Linked(inTime(g.t)))
	}
	g.followed(i, len(followers))
}

// followed waits until a primary has heard from so many replicas: it refuses to write before.
func (g *nodes) followed(i, n int) {
	g.t.Helper()
	until(g.t, "the replicas have been heard of", func() bool {
		info, err := g.all[i].Info(g.t.Context(), "replication")
		good, counted := info["min_slaves_good_slaves"]
		online := 0
		for _, value := range info {
			if strings.Contains(value, ",state=online,") {
				online++
			}
		}
		return err == nil && online >= n && (!counted || good >= strconv.Itoa(n))
	})
}

// A party has a client, and an address of its own by which that reaches a node: one that moves.
type party struct {
	*holdfast.Client
	way *netfault.Proxy
	g   *nodes
}

// join opens a client whose way leads to node i.
func (g *nodes) join(i int, params string) *party {
	g.t.Helper()
	p := &party{way: newProxy(g.t), g: g}
	g.do(p.way.Retarget(g.all[i].Addr()))
	p.Client = openLocks(g.t, fmt.Sprintf("redis://%s?timeout=1s&%s", p.way.Addr(), params))
	return p
}

// moves lets its way lead to node i, as a name or a virtual address does.
func (p *party) moves(i int) {
	p.g.t.Helper()
	p.g.do(p.way.Retarget(p.g.all[i].Addr()))
	p.way.Cut()
}

// stays cuts its way: it neither hears nor says anything.
func (p *party) stays() {
	p.way.Blackhole(netfault.Both)
	p.way.Refuse()
}

// lock waits for the lock.
func (p *party) lock(ttl time.Duration) *holdfast.Hold {
	p.g.t.Helper()
	hold, err := p.Mutex("lock", holdfast.TTL(ttl)).Lock(inTime(p.g.t))
	if err != nil {
		p.g.t.Fatalf("Lock: %v", err)
	}
	return hold
}

// ready makes sure that the guard is over, and that contact is proved.
func (p *party) ready() {
	p.g.t.Helper()
	p.g.do(p.lock(200 * time.Millisecond).Unlock())
}

// next waits for the lock as another one does who wants it after hold, and reports whether hold was still believed in when it came.
func (p *party) next(hold *holdfast.Hold, ttl time.Duration) (next *holdfast.Hold, overlap bool) {
	p.g.t.Helper()
	next = p.lock(ttl)
	overlap = hold.Left() > 0
	if next.Token() <= hold.Token() {
		p.g.t.Errorf("the token %d follows %d", next.Token(), hold.Token())
	}
	return next, overlap
}

// follows is next where nobody may believe in hold any more.
func (p *party) follows(hold *holdfast.Hold, ttl time.Duration) *holdfast.Hold {
	p.g.t.Helper()
	next, overlap := p.next(hold, ttl)
	if overlap {
		p.g.t.Errorf("both believe in their holds; the first for another %v", hold.Left())
	}
	return next
}

// never asks for the lock for a while, and fails the test if it comes.
func (p *party) never(d time.Duration, why string) {
	p.g.t.Helper()
	ctx, cancel := context.WithTimeout(p.g.t.Context(), d)
	defer cancel()
	hold, err := p.Mutex("lock", holdfast.TTL(time.Second)).Lock(ctx)
	if err == nil {
		p.g.t.Fatalf("granted with token %d, though %s", hold.Token(), why)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		p.g.t.Fatalf("Lock: %v", err)
	}
}
