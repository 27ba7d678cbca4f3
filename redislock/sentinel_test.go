package redislock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// watch starts three Sentinels, and returns the URL of what they watch. The nodes are told to clients under addresses that lead to them
// also when they are cut off from each other.
func (g *nodes) watch(params string) string {
	g.t.Helper()
	var sentinels, nat []string
	var all []*servers.Sentinel
	for range 3 {
		s, err := servers.StartSentinel(inTime(g.t), "mymaster", g.all[0], servers.SentinelWatch(g.links[0].Addr()), servers.SentinelHurry())
		g.do(err)
		g.t.Cleanup(func() { s.Close() })
		all, sentinels = append(all, s), append(sentinels, s.Addr())
	}
	for _, s := range all {
		g.do(s.Knows(inTime(g.t), len(g.all)-1, 2))
	}
	for i, link := range g.links {
		nat = append(nat, link.Addr()+"="+g.all[i].Addr())
	}
	return fmt.Sprintf("redis+sentinel://%s/mymaster?timeout=1s&nat=%s&%s", strings.Join(sentinels, ","), strings.Join(nat, ","), params)
}

// primary is the node that the Sentinels have made the primary instead of an old one.
func (g *nodes) primary(old int) (found int) {
	g.t.Helper()
	until(g.t, "another node is the primary", func() bool {
		for i, node := range g.all {
			if role, err := node.Role(g.t.Context()); err == nil && role == "master" && i != old {
				found = i
				return true
			}
		}
		return false
	})
	return found
}

// The primary is killed under Sentinels: a hold that was replicated goes on, and is renewed by the new primary; who waits is served by it,
// afterwards. The deployment is one that Require(Correctness) accepts.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, minReplicas...)
	url := g.watch("guard=20s")
	first := openLocks(t, url, holdfast.Require(holdfast.Correctness))
	second := openLocks(t, url)
	hold, err := first.Mutex("lock", holdfast.TTL(16*time.Second)).Lock(inTime(t))
	g.do(err)
	for _, replica := range g.all[1:] {
		until(t, "the replica has it", func() bool { return command(t, replica, "EXISTS", "holdfast:lock:{lock}") == int64(1) })
	}
	served := make(chan *holdfast.Hold, 1)
	go func() {
		next, err := second.Mutex("lock").Lock(t.Context())
		if err == nil {
			served <- next
		}
	}()
	g.all[0].Kill()
	g.primary(0)
	until(t, "the hold is renewed by the new primary", func() bool { return hold.Extend(inTime(t), 15*time.Second) == nil })
	if hold.Err() != nil {
		t.Fatalf("the hold was lost: %v", hold.Err())
	}
	g.do(hold.Unlock())
	select {
	case next := <-served:
		if next.Token() <= hold.Token() {
			t.Errorf("the token %d follows %d", next.Token(), hold.Token())
		}
		g.do(next.Unlock())
	case <-time.After(patience):
		t.Error("who waits is not served by the new primary")
	}
}

// The primary is cut off from its replicas and from the Sentinels, and not from its clients, which write to it. The Sentinels make another
// one the primary. Whoever has the lock from the old one does not believe in it any more when the new one grants it; the clients find the
// way there by themselves; and when the old one comes back it becomes a replica, and nobody has noticed anything.
func TestSentinelSplit(t *testing.T) {
	t.Parallel()
	const ttl, guard = 2 * time.Second, shortFence + 2500*time.Millisecond
	g := startNodes(t, 3, minReplicas...)
	url := g.watch(fmt.Sprintf("guard=%v", guard))
	first, second := &party{Client: openLocks(t, url), g: g}, &party{Client: openLocks(t, url), g: g}
	first.ready()
	second.ready()
	g.isolate(0)
	hold := first.lock(ttl)
	next := second.follows(hold, ttl)
	if role, err := g.all[0].Role(t.Context()); err != nil || role != "master" {
		t.Errorf("the old primary is a %s, %v", role, err)
	}
	g.heal(0)
	until(t, "the old primary is a replica", func() bool { role, err := g.all[0].Role(t.Context()); return err == nil && role == "slave" })
	if next.Err() != nil {
		t.Errorf("the new primary's hold was lost: %v", next.Err())
	}
	g.do(next.Unlock())
	last, _ := first.next(next, ttl)
	g.do(last.Unlock())
}

// The old primary comes back empty, and is a primary until the Sentinels tell it otherwise. Nobody is served by it.
func TestSentinelOldPrimaryReturns(t *testing.T) {
	t.Parallel()
	const ttl, guard = 2 * time.Second, shortFence + 2500*time.Millisecond
	g := startNodes(t, 3, minReplicas...)
	url := g.watch(fmt.Sprintf("guard=%v", guard))
	first := &party{Client: openLocks(t, url), g: g}
	hold := first.lock(ttl)
	first.Close() // and the hold with it
	g.all[0].Kill()
	g.primary(0)
	second := &party{g: g}
	until(t, "a client can be opened", func() bool { // the Sentinels may name the old one for a moment
		var err error
		second.Client, err = holdfast.Open(inTime(t), url)
		return err == nil
	})
	defer second.Close()
	next := second.lock(ttl)
	if next.Token() <= hold.Token() {
		t.Errorf("the token %d follows %d", next.Token(), hold.Token())
	}
	g.do(g.all[0].RestartAs(inTime(t)))
	if _, err := holdfast.Open(inTime(t), "redis://"+g.all[0].Addr()); !errors.Is(err, redislock.ErrReplicas) { // who knows its address, and not the Sentinels
		t.Errorf("opened, or: %v", err)
	}
	until(t, "the old primary is a replica", func() bool { role, err := g.all[0].Role(t.Context()); return err == nil && role == "slave" })
	if next.Err() != nil {
		t.Errorf("the new primary's hold was lost: %v", next.Err())
	}
	g.do(next.Unlock())
}
