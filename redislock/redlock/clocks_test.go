package redlock_test

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// TestClockJumps: the clock of a node jumps a minute ahead, and what it keeps runs out at once. A hold on all five nodes survives two of them; a hold on
// a bare majority none, and Guarantees says so.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		blocked []int // nodes that the first holder does not get
		jumps   []int
		doubled bool
	}{
		{"all five, one jump", nil, []int{0}, false},
		{"all five, two jumps", nil, []int{0, 1}, false},
		{"a bare majority, one jump", []int{3, 4}, []int{0}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startGroup(t, 5, servers.RedisClock())
			a, b := g.open("&guard=0&node-timeout=500ms"), g.open("&guard=0&node-timeout=500ms")
			g.block("lock", c.blocked...)
			first := a.grant(ask("lock", 20*time.Second))
			until(t, "all that can have it", func() bool { return len(g.has("lock")) == 5 })
			g.unblock("lock", c.blocked...)
			for _, node := range c.jumps {
				if err := g.nodes[node].StepClock(time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			second, err := b.try(ask("lock", time.Second))
			switch {
			case c.doubled && err != nil:
				t.Fatalf("this is beyond what is promised, and did not happen: %v", err)
			case !c.doubled && !isHeld(err):
				t.Fatalf("the second was told %v, and has token %v beside %d", err, second, first.Token)
			case c.doubled && second.Token <= first.Token:
				t.Errorf("token %d after %d: the fence would let the first one through", second.Token, first.Token)
			}
			promised, err := b.Guarantees(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(promised.Beyond, "\n")
			if !strings.Contains(text, "a hold that g of the 5 nodes have granted, or prolonged when it was last renewed, survives g − 3 such jumps") {
				t.Errorf("Guarantees does not say what is beyond:\n%s", text)
			}
		})
	}
}

// TestStrayClock: a node whose clock is off by more than half of the guard is not used for tokens, and is reported. Else tokens would run ahead by as
// much, and fall when another node forgets.
func TestStrayClock(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3, servers.RedisClock())
	a := g.open("&guard=1s&node-timeout=500ms")
	before := ask("lock", 500*time.Millisecond)
	a.grant(before)
	if err := a.release(before); err != nil {
		t.Fatal(err)
	}
	if err := g.nodes[1].StepClock(time.Minute); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r := ask("lock", 500*time.Millisecond)
		grant := a.grant(r)
		if ahead := time.Until(time.UnixMicro(int64(grant.Token))); ahead > 5*time.Second {
			t.Fatalf("a token is ahead of the clock by %v", ahead)
		}
		if err := a.release(r); err != nil {
			t.Fatal(err)
		}
		until(t, "all nodes have let go", func() bool { return len(g.has("lock")) == 0 })
	}
	promised, err := a.Guarantees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(promised.Beyond, "\n"); !strings.Contains(text, "the clock of n2 is off by 1m0s") {
		t.Errorf("Guarantees does not name the node:\n%s", text)
	}
}

// TestClocksBack: all clocks are set back, and tokens rise all the same, because nodes remember what they have accepted, in their data too.
func TestClocksBack(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3, servers.RedisClock())
	a := g.open("&guard=0&node-timeout=500ms")
	last := uint64(0)
	next := func(doing string) {
		t.Helper()
		r := ask("lock", 20*time.Second)
		grant := a.grant(r)
		if grant.Token <= last {
			t.Fatalf("%s: token %d after %d", doing, grant.Token, last)
		}
		last = grant.Token
		if err := a.release(r); err != nil {
			t.Fatal(err)
		}
		until(t, "all nodes have let go", func() bool { return len(g.has("lock")) == 0 })
	}
	next("at first")
	for _, node := range g.nodes {
		if err := node.StepClock(-time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	next("a minute earlier")
	for i := range g.nodes {
		g.do(i, "FUNCTION", "FLUSH")
	}
	next("without the library's memory")
}
