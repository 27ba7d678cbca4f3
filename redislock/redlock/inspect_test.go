package redlock_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// oddNames are such as a pattern, or our own keys, could be taken for.
var oddNames = []string{
	"a*b", "axb", "a?b", "[ab]", "a", `a\b`, `a\*b`, "^a", "a^b", "{a}", "a b", "ä☃", "locks:a*b",
	"holdfast:redlock:", "holdfast:redlock:store", "holdfast:redlock:lock:x", "holdfast:redlock:lock:holdfast:redlock:x",
	"holdfast:redlock:undone:1", "holdfast:redlock:waiting:a", "holdfast:redloc", "holdfast:",
}

// TestOddNames: every name is a lock of its own, and List finds it under its name, and others by what their names begin with.
func TestOddNames(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	names := slices.Clone(oddNames)
	slices.Sort(names)
	for _, prefix := range []string{"", "locks:", "[a]*?", "holdfast:"} {
		m := g.open("&guard=0&node-timeout=500ms&prefix=" + prefix)
		tokens := make(map[string]uint64)
		var requests []*driver.Request
		for _, name := range names {
			r := ask(name, patience)
			tokens[name] = m.grant(r).Token
			requests = append(requests, r)
		}
		g.do(0, "SET", prefix+"a*foreign", "of another program") // at a minority
		g.block(prefix+"a*theirs", 0, 1, 2)                      // nobody can tell whether it is a lock
		for _, begin := range []string{"", "a", "a*", "a?", "[", `a\`, "^", "holdfast:", "holdfast:redlock:", "holdfast:redlock:lock:", "holdfast:redlock:s", "l", "none"} {
			var want []string
			for _, name := range names {
				if strings.HasPrefix(name, begin) {
					want = append(want, name)
				}
			}
			if got := listNames(t, m.Store, begin); !slices.Equal(got, want) {
				t.Errorf("prefix %q, names that begin with %q: %q, want %q", prefix, begin, got, want)
			}
		}
		for _, name := range names {
			info, err := m.Inspect(inTime(t), name, driver.Exclusive)
			if err != nil || info.Name != name || len(info.Holders) != 1 || info.Holders[0].Token != tokens[name] {
				t.Errorf("prefix %q, %q: %+v, %v", prefix, name, info, err)
			}
		}
		for _, r := range requests {
			if err := m.release(r); err != nil {
				t.Errorf("prefix %q, %q: %v", prefix, r.Name, err)
			}
		}
		m.Close()
		for node := range g.nodes {
			g.do(node, "FLUSHALL")
		}
	}
}

// TestInspectWithoutOne: a node hangs, and everything that people ask for is right all the same, also when the node has been given up.
func TestInspectWithoutOne(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=200ms"), g.open("&guard=0&node-timeout=200ms")
	grants := make(map[string]*driver.Grant)
	for _, name := range []string{"x1", "x2", "x3"} {
		grants[name] = a.grant(ask(name, patience))
	}
	if err := g.nodes[0].Stop(); err != nil {
		t.Fatal(err)
	}
	defer g.nodes[0].Continue()
	if names := listNames(t, b.Store, "x"); !slices.Equal(names, []string{"x1", "x2", "x3"}) {
		t.Errorf("listed: %q", names)
	}
	for name, grant := range grants {
		info, err := b.Inspect(inTime(t), name, driver.Exclusive)
		if err != nil || len(info.Holders) != 1 {
			t.Errorf("%s: %+v, %v", name, info, err)
			continue
		}
		if h := info.Holders[0]; h.Token != grant.Token || h.Label != "test" || h.Left <= 0 || h.Broken || h.Mode != driver.Exclusive {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if info, err := b.Inspect(inTime(t), "free", driver.Exclusive); err != nil || len(info.Holders) != 0 {
		t.Errorf("free: %+v, %v", info, err)
	}

	end := func(name string, token uint64, now bool) error {
		return b.Break(inTime(t), &driver.BreakRequest{Name: name, Mode: driver.Exclusive, Token: token, Now: now, By: "an operator"})
	}
	if err := end("x1", grants["x1"].Token+1, true); !errors.Is(err, driver.ErrGone) {
		t.Errorf("breaking another token: %v", err)
	}
	if err := end("free", 1, true); !errors.Is(err, driver.ErrGone) {
		t.Errorf("breaking what nobody has: %v", err)
	}
	if err := end("x1", grants["x1"].Token, true); err != nil {
		t.Errorf("breaking at once: %v", err)
	}
	if err := end("x2", grants["x2"].Token, false); err != nil {
		t.Errorf("breaking gently: %v", err)
	}
	var broken *driver.Broken
	if _, err := grants["x1"].Lease.Renew(inTime(t), patience); !errors.As(err, &broken) || !broken.Now || broken.By != "an operator" || !errors.Is(err, driver.ErrGone) {
		t.Errorf("the holder of what was broken at once is told %v", err)
	}
	if _, err := grants["x2"].Lease.Renew(inTime(t), patience); !errors.As(err, &broken) || broken.Now || errors.Is(err, driver.ErrGone) {
		t.Errorf("the holder of what was broken gently is told %v", err)
	}
	if info, err := b.Inspect(inTime(t), "x2", driver.Exclusive); err != nil || len(info.Holders) != 1 || !info.Holders[0].Broken {
		t.Errorf("broken gently: %+v, %v", info, err)
	}
	b.grant(ask("x1", patience))
	if _, err := grants["x3"].Lease.Renew(inTime(t), patience); err != nil {
		t.Errorf("what nobody has broken: %v", err)
	}
}

// TestVotesAreNoHolds: somebody has votes, of all nodes or of one, and no hold: who waits, who has not been told yet that it was granted. Neither
// Inspect nor List shows a holder, and who is refused for them is told of none.
func TestVotesAreNoHolds(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=10s"), g.open("&guard=0&node-timeout=500ms")
	for _, way := range a.ways {
		way.HoldReplies()
	}
	done := make(chan *driver.Grant, 1)
	r := ask("voted", patience)
	go func() {
		grant, _ := a.Acquire(inTime(t), r)
		done <- grant
	}()
	until(t, "all have voted", func() bool { return len(g.has("voted")) == 3 })
	nobody := func(doing, name string) {
		t.Helper()
		info, err := b.Inspect(inTime(t), name, driver.Exclusive)
		if err != nil || len(info.Holders) != 0 {
			t.Errorf("%s: inspected: %+v, %v", doing, info, err)
		}
		if names := listNames(t, b.Store, ""); slices.Contains(names, name) {
			t.Errorf("%s: listed: %q", doing, names)
		}
	}
	nobody("all have voted", "voted")
	_, err := b.try(ask("voted", time.Second))
	var held *driver.Held
	if !errors.As(err, &held) || len(held.Holders) != 0 {
		t.Errorf("who is refused for votes is told %v, %+v", err, held)
	}
	for _, way := range a.ways {
		way.Resume()
	}
	grant := <-done
	if grant == nil {
		t.Fatal("it was not granted, though nobody else asked for long")
	}
	info, err := b.Inspect(inTime(t), "voted", driver.Exclusive)
	if err != nil || len(info.Holders) != 1 || info.Holders[0].Token != grant.Token {
		t.Errorf("held: %+v, %v", info, err)
	}

	g.do(2, "SET", "rest", g.do(0, "GET", "voted").(string), "PX", "100000") // what one node has is the rest of an earlier hold
	nobody("one has it", "rest")
}
