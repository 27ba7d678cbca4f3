package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/redislock/redlock"
)

// A failure is what can happen to a node, seen by members of the group, and how it ends.
type failure struct {
	name   string
	begins func(g *group, node int, members ...*member)
	ends   func(g *group, node int, members ...*member)
}

var failures = []failure{
	{"killed", func(g *group, node int, _ ...*member) { g.nodes[node].Kill() },
		func(g *group, node int, _ ...*member) { g.restart(node) }},
	{"stopped", func(g *group, node int, _ ...*member) {
		if err := g.nodes[node].Stop(); err != nil {
			g.t.Fatal(err)
		}
	}, func(g *group, node int, _ ...*member) {
		if err := g.nodes[node].Continue(); err != nil {
			g.t.Fatal(err)
		}
	}},
	{"blackholed", func(_ *group, node int, members ...*member) {
		for _, m := range members {
			m.ways[node].Blackhole(netfault.Both)
		}
	}, func(_ *group, node int, members ...*member) {
		for _, m := range members {
			m.ways[node].Heal()
		}
	}},
}

// TestMinority: with two of five nodes gone locks are had, kept out of, renewed and released; and when the nodes are back nothing is left on any.
func TestMinority(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			g := startGroup(t, 5)
			a, b := g.open("&guard=0&node-timeout=200ms"), g.open("&guard=0&node-timeout=200ms")
			before := ask("before", 20*time.Second)
			held := a.grant(before)
			for _, node := range []int{1, 3} {
				f.begins(g, node, a, b)
			}
			for range 5 {
				r := ask("lock", 20*time.Second)
				grant := a.grant(r)
				if _, err := b.try(ask("lock", time.Second)); !isHeld(err) {
					t.Fatalf("somebody else was told: %v", err)
				}
				if left, err := grant.Lease.Renew(t.Context(), 20*time.Second); err != nil || left < 20*time.Second {
					t.Fatalf("renewing: %v, %v", left, err)
				}
				if err := a.release(r); err != nil {
					t.Fatalf("releasing: %v", err)
				}
			}
			if _, err := held.Lease.Renew(t.Context(), 20*time.Second); err != nil {
				t.Fatalf("renewing what was held before: %v", err)
			}
			if err := a.release(before); err != nil {
				t.Fatalf("releasing what was held before: %v", err)
			}
			for _, node := range []int{1, 3} {
				f.ends(g, node, a, b)
			}
			until(t, "every key is gone", func() bool { return len(g.has("lock"))+len(g.has("before")) == 0 })
			forgotten(t, a)
		})
	}
}

// forgotten waits until a client remembers nothing any more.
func forgotten(t *testing.T, m *member) {
	t.Helper()
	until(t, "the client has nothing left to do", func() bool {
		attempts, lines, undos := m.Left()
		return attempts+lines+undos == 0
	})
}

// TestMajorityGone: without a majority there is an error that names the nodes, within the context, and nothing is left behind; and when the nodes are
// back it goes on.
func TestMajorityGone(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			g := startGroup(t, 5)
			a := g.open("&guard=0&node-timeout=100ms")
			for node := range 3 {
				f.begins(g, node, a)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := ask("lock", 10*time.Second)
			var err error
			granted := false
			for err == nil || ctx.Err() == nil {
				if _, err = a.Acquire(ctx, r); err == nil {
					t.Fatal("two of five nodes granted a lock")
				}
				if driver.Answered(err) {
					t.Fatalf("an answer, though nobody knows: %v", err)
				}
				var e *redlock.NodesError
				if !errors.As(err, &e) {
					continue // cut off in the middle of a try
				}
				text := err.Error()
				if e.Need != 3 || len(e.Nodes) != 5 || !strings.Contains(text, "n1: ") || !strings.Contains(text, "n5: ") || strings.Contains(text, "no answer yet") {
					t.Fatalf("the error does not say what each node said: %v", err)
				}
				granted = granted || strings.Contains(text, "n5: granted")
			}
			if !granted {
				t.Errorf("no error said that a node had granted; the last: %v", err)
			}
			// Nodes that were killed may never have been asked: then nothing can be there.
			if err := a.Release(t.Context(), r); f.name != "killed" && (err == nil || driver.Answered(err)) {
				t.Errorf("released, with three nodes gone: %v", err)
			}
			until(t, "nothing is left on the nodes that answer", func() bool {
				for node := 3; node < 5; node++ {
					if len(g.do(node, "KEYS", "lock").([]any)) != 0 {
						return false
					}
				}
				return true
			})
			for node := range 3 {
				f.ends(g, node, a)
			}
			a.grant(ask("lock", time.Second))
		})
	}
}

// TestRepair: a node that has missed the grant, or has forgotten it, is given the hold by a renewal, with its token.
func TestRepair(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=500ms")
	g.block("lock", 2)
	r := ask("lock", 20*time.Second)
	grant := a.grant(r)
	g.unblock("lock", 2)
	renew := func() {
		t.Helper()
		if _, err := grant.Lease.Renew(t.Context(), 20*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	renew()
	until(t, "the third node has it", func() bool { return len(g.has("lock")) == 3 })
	if first, third := g.do(0, "GET", "lock").(string), g.do(2, "GET", "lock").(string); first[:56] != third[:56] || strings.Split(third, "|")[1] != strings.Split(first, "|")[1] {
		t.Errorf("the third node has %q, the first %q", third[56:], first[56:])
	}
	g.forgets(0) // with the third it is still a majority
	until(t, "the first node has it again", func() bool { renew(); return len(g.has("lock")) == 3 })
	if err := a.release(r); err != nil {
		t.Fatal(err)
	}
	until(t, "all have let go", func() bool { return len(g.has("lock")) == 0 })
}

// TestLoss: when more than a minority have nothing the holder is told, by its renewal.
func TestLoss(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 5)
	a := g.open("&guard=0&node-timeout=500ms")
	r := ask("lock", 20*time.Second)
	grant := a.grant(r)
	until(t, "all five have it", func() bool { return len(g.has("lock")) == 5 })
	g.unblock("lock", 0, 1)
	if _, err := grant.Lease.Renew(t.Context(), 0); err != nil { // which only asks, and repairs nothing
		t.Fatalf("three of five have it: %v", err)
	}
	g.unblock("lock", 2)
	if _, err := grant.Lease.Renew(t.Context(), 20*time.Second); err != driver.ErrGone {
		t.Fatalf("two of five have it: %v", err)
	}
}
