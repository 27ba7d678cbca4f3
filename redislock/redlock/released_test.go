package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/redislock/redlock"
)

// TestOwnPast: who releases a lock and asks for it again gets it at every node, also where the release had not arrived when a majority had it.
func TestOwnPast(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=5s")
	a.ways[2].Delay(netfault.Both, 20*time.Millisecond, 0, 1)
	for range 3 {
		r := ask("lock", time.Hour)
		a.grant(r)
		if err := a.release(r); err != nil {
			t.Fatal(err)
		}
	}
	last := ask("lock", time.Hour)
	a.grant(last)
	until(t, "all nodes have this hold", func() bool {
		for node := range g.nodes {
			if value, _ := g.do(node, "GET", "lock").(string); !strings.HasPrefix(value, last.Attempt.Reveal()) {
				return false
			}
		}
		return true
	})
}

// TestReleaseIsRepeated: a node that has heard nothing of a release is told again when it can be reached, long before the TTL is over.
func TestReleaseIsRepeated(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=200ms")
	r := ask("lock", time.Hour)
	a.grant(r)
	until(t, "all nodes have the lock", func() bool { return len(g.has("lock")) == 3 })
	a.ways[2].Blackhole(netfault.Both)
	if err := a.release(r); err != nil {
		t.Fatal(err)
	}
	until(t, "it is known that one has not answered", func() bool { _, _, undos := a.Left(); return undos == 1 })
	if at := g.has("lock"); !slices.Equal(at, []int{2}) {
		t.Fatalf("the lock is still at %v", at)
	}
	a.ways[2].Cut() // what was dropped does not come back
	a.ways[2].Heal()
	until(t, "no node has the lock", func() bool { return len(g.has("lock")) == 0 })
	until(t, "nothing is left to undo", func() bool { _, _, undos := a.Left(); return undos == 0 })
}

// TestUnansweredRelease: a release whose answers were lost was carried out; who repeats it is told that it is released, and not that it was lost.
func TestUnansweredRelease(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 5)
	a := g.open("&guard=0&node-timeout=200ms")
	g.block("lock", 4) // it has nothing to release
	r := ask("lock", time.Hour)
	a.grant(r)
	until(t, "four nodes have the lock", func() bool { return len(g.has("lock")) == 5 })
	for _, way := range a.ways[1:4] {
		way.HoldReplies()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var e *redlock.NodesError
	if err := a.Release(ctx, r); !errors.As(err, &e) || driver.Answered(err) {
		t.Fatalf("released by one of four nodes: %v", err)
	}
	until(t, "the nodes have carried it out", func() bool { return slices.Equal(g.has("lock"), []int{4}) })
	for _, way := range a.ways[1:4] {
		way.Cut()
		way.Heal()
	}
	if err := a.release(r); err != nil {
		t.Errorf("it was released, and is said to be %v", err)
	}
}

// TestTogether: many who use different locks share requests, and one whose key is of another kind fails for itself.
func TestTogether(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=5s")
	for node := range g.nodes {
		g.do(node, "RPUSH", "lock 7", "something else")
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			name := fmt.Sprintf("lock %d", i)
			for range 5 {
				r := ask(name, time.Minute)
				_, err := a.try(r)
				if wrong := errors.Is(err, redlock.ErrKeyType); wrong != (i == 7) || !wrong && err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if err := a.release(r); err != nil && i != 7 {
					t.Errorf("releasing %s: %v", name, err)
				}
			}
		})
	}
	all.Wait()
}
