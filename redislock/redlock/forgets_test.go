package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// TestNodeForgets: a hold has a bare majority. One of its nodes restarts without memory, inside the TTL, and could vote again, for somebody else.
// With a guard it does not, until the hold has run out. Without one the same test sees two holders (N6 of the torture's controls).
func TestNodeForgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, guard string
		options     []servers.RedisOption
		doubled     bool
	}{
		{"guarded", "3s", nil, false},
		{"guard off", "0", nil, true},
		{"guarded, with old data", "3s", []servers.RedisOption{servers.RedisSet("save", "3600 1000000")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startGroup(t, 3, c.options...)
			a, b := g.open("&node-timeout=500ms&guard="+c.guard), g.open("&node-timeout=500ms&guard="+c.guard)
			warm := ask("lock", 2*time.Second)
			a.grant(warm) // when the guard of the start is over
			if err := a.release(warm); err != nil {
				t.Fatal(err)
			}
			until(t, "all nodes have let go", func() bool { return len(g.has("lock")) == 0 })
			g.block("lock", 2)
			first := a.grant(ask("lock", 2500*time.Millisecond))
			g.unblock("lock", 2) // it was somebody's who has ended
			g.forgets(1)
			second := b.grant(ask("lock", 2*time.Second))
			got := b.Clock().Now()
			if doubled := got.Before(end(first)); doubled != c.doubled {
				t.Errorf("the second was granted %v after the first could be believed no longer; doubled: %v", got.Sub(end(first)), doubled)
			}
			if second.Token <= first.Token {
				t.Errorf("token %d after %d", second.Token, first.Token)
			}
		})
	}
}

// TestGuardedNodes: a store whose nodes have just started says for how long it grants nothing, and why.
func TestGuardedNodes(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=5s&node-timeout=1s")
	_, err := a.try(ask("lock", time.Second))
	var guarded *driver.Guarded
	if !errors.As(err, &guarded) || guarded.Left <= 0 || guarded.Left > 5*time.Second || guarded.Why == "" {
		t.Fatalf("the answer is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	told := make(chan driver.Progress, 1)
	r := ask("lock", time.Second)
	r.Waiting = func(p driver.Progress) {
		select {
		case told <- p:
		default:
		}
	}
	if _, err := a.Acquire(ctx, r); !errors.As(err, &guarded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the answer is %v", err)
	}
	if p := <-told; p.Guard <= 0 {
		t.Errorf("who waits was told %+v", p)
	}
	info, err := a.Inspect(t.Context(), "lock", driver.Exclusive)
	if err != nil || info.Guard <= 0 {
		t.Errorf("inspected: %+v, %v", info, err)
	}
}

// TestTokensRise: whatever nodes are lost, with their memory or without, tokens rise. Randomly; HOLDFAST_LONG=1 makes it long.
func TestTokensRise(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := 12
	if os.Getenv("HOLDFAST_LONG") != "" {
		rounds = 200
	}
	for _, n := range []int{3, 5} {
		t.Run(map[int]string{3: "three nodes", 5: "five nodes"}[n], func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			g := startGroup(t, n)
			members := []*member{g.open("&guard=300ms&node-timeout=100ms"), g.open("&guard=300ms&node-timeout=100ms")}
			last := uint64(0)
			for round := range rounds {
				for _, node := range random.Perm(n)[:random.IntN(n+1)] { // also all of them
					switch random.IntN(3) {
					case 0:
						g.forgets(node)
					case 1:
						g.do(node, "FUNCTION", "FLUSH")
					case 2:
						g.do(node, "CLIENT", "KILL", "TYPE", "normal")
					}
				}
				for range 1 + random.IntN(4) {
					m := members[random.IntN(len(members))]
					r := ask("lock", 200*time.Millisecond)
					grant := m.grant(r)
					if grant.Token <= last {
						t.Fatalf("round %d: token %d after %d", round, grant.Token, last)
					}
					last = grant.Token
					if random.IntN(4) > 0 {
						m.Release(t.Context(), r) // whatever comes of it
					}
				}
			}
		})
	}
}

// TestReplacedByAnOldServer: a hold has a bare majority, and one of its nodes is replaced by an empty server that has been up for longer than the guard. A
// new store on such servers can be used at once; but this one stands for a node that has voted, and serves its guard first.
func TestReplacedByAnOldServer(t *testing.T) {
	t.Parallel()
	g, spare := startGroup(t, 3), startRedis(t)
	a := g.open("&node-timeout=1s&guard=5s")
	warm := ask("lock", 2*time.Second)
	a.grant(warm) // when the guard of the start is over
	if err := a.release(warm); err != nil {
		t.Fatal(err)
	}
	until(t, "the spare server has been up for longer than the guard", func() bool {
		reply, err := spare.Do(t.Context(), "INFO", "server")
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(reply.(string), "uptime_in_seconds:")
		seconds, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(text, "\n", 2)[0]))
		return err == nil && seconds > 7
	})
	until(t, "all nodes have let go", func() bool { return len(g.has("lock")) == 0 })
	g.block("lock", 2)
	first := a.grant(ask("lock", 4500*time.Millisecond))
	g.unblock("lock", 2)
	g.nodes[1].Kill()
	g.nodes[1] = spare
	b := g.open("&node-timeout=1s")
	second := b.grant(ask("lock", time.Second))
	if got := b.Clock().Now(); got.Before(end(first)) {
		t.Errorf("the second was granted %v before the first could be believed no longer", end(first).Sub(got))
	}
	if second.Token <= first.Token {
		t.Errorf("token %d after %d", second.Token, first.Token)
	}
	if kept := g.do(1, "HGET", "holdfast:redlock:store", "guard"); kept != "5000000" {
		t.Errorf("the new node has the guard %v, the others 5 s", kept)
	}
}

// TestTokensOfAnotherAge: a program with another version of the library has had a token accepted here. This one's are greater.
func TestTokensOfAnotherAge(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		g := startGroup(t, n)
		a := g.open("&guard=0&node-timeout=1s")
		first := a.grant(ask("one", time.Minute))
		later := first.Token + uint64(10*time.Second/time.Microsecond)
		for node := range g.nodes {
			g.do(node, "HSET", "holdfast:redlock:store", "taken", strconv.FormatUint(later, 10))
		}
		if second := a.grant(ask("two", time.Minute)); second.Token <= later {
			t.Errorf("%d nodes: token %d after %d of somebody else's", n, second.Token, later)
		}
		until(t, "the first node has noted it", func() bool {
			return g.do(0, "HGET", "holdfast:redlock:store", "taken").(string) > strconv.FormatUint(later, 10)
		})
	}
}
