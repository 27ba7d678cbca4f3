package redlock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// promised returns what a store promises, and all that it says about it.
func promised(t *testing.T, m *member) (driver.Guarantees, string) {
	t.Helper()
	g, err := m.Guarantees(inTime(t))
	if err != nil {
		t.Fatal(err)
	}
	return g, strings.Join(slices.Concat(g.Missing, g.Beyond), "\n")
}

// TestGuarantees: what a deployment promises follows from how it is set up, and what keeps it from more is named, with the node. All stores are on the same
// servers, under prefixes of their own.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 4)
	three := func(prefix, params string) *member {
		return opened(t, listing(g.places(0, 1, 2), "&prefix="+prefix+params))
	}

	best := three("best:", "&guard=20s")
	p, text := promised(t, best)
	if p.Fencing != driver.FencingDurable || !p.SurvivesRestart || !p.SurvivesFailover || len(p.Missing) != 0 || p.MaxTTL != 20*time.Second {
		t.Errorf("as it should be: %+v", p)
	}
	for _, word := range []string{"redsync", "node-redlock", "redis-py", "clocks", "FLUSHALL"} {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not said to be beyond:\n%s", word, text)
		}
	}
	if strings.Contains(text, "even number") || len(best.Warnings()) != 0 {
		t.Errorf("three is said to be even: %v\n%s", best.Warnings(), text)
	}

	if p, _ := promised(t, three("unguarded:", "&guard=0")); p.SurvivesRestart || p.SurvivesFailover || !strings.Contains(strings.Join(p.Missing, "\n"), "n1: the guard is off") {
		t.Errorf("without a guard: %+v", p)
	}
	untokened := three("untokened:", "&guard=0&tokens=off")
	if p, text := promised(t, untokened); p.Fencing != driver.FencingNone || !strings.Contains(text, "tokens=off") {
		t.Errorf("without tokens: %+v", p)
	}
	if grant := untokened.grant(ask("lock", patience)); grant.Token != 0 {
		t.Errorf("without tokens: token %d", grant.Token)
	}

	g.do(1, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	if p, _ := promised(t, best); p.SurvivesRestart || !slices.ContainsFunc(p.Missing, func(text string) bool {
		return strings.HasPrefix(text, "n2: ") && strings.Contains(text, "noeviction")
	}) {
		t.Errorf("with a node that evicts: %+v", p)
	}
	g.do(1, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	g.nodes[2].Kill()
	if p, text := promised(t, best); p.Fencing != driver.FencingDurable || !strings.Contains(text, "n3 cannot be asked now") {
		t.Errorf("with a node gone: %+v", p)
	}
}

// TestEvenNumber: an even number of nodes works, as long as a majority is there, and is warned of: it survives no more than one less.
func TestEvenNumber(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 4)
	for _, n := range []int{4, 2} {
		numbers := []int{0, 1, 2, 3}[:n]
		m := opened(t, listing(g.places(numbers...), "&guard=0&node-timeout=500ms&prefix="+[]string{2: "two:", 4: "four:"}[n]))
		if _, text := promised(t, m); !strings.Contains(text, "an even number of nodes") {
			t.Errorf("%d nodes: Guarantees does not warn:\n%s", n, text)
		}
		if warnings := m.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0], "even") {
			t.Errorf("%d nodes: %q", n, warnings)
		}
		key := []string{2: "two:lock", 4: "four:lock"}[n]
		half, most := numbers[:n/2], numbers[:n/2-1]
		g.block(key, most...)
		r := ask("lock", patience)
		m.grant(r)
		if err := m.release(r); err != nil {
			t.Errorf("%d nodes: %v", n, err)
		}
		until(t, "all others have let go", func() bool { return len(g.has(key)) == len(most) })
		g.block(key, half...)
		if _, err := m.try(ask("lock", patience)); !isHeld(err) { // half of them are no majority, of neither
			t.Errorf("%d of %d nodes are taken: %v", n/2, n, err)
		}
	}
}
