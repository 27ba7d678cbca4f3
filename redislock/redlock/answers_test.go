package redlock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/redlock"
)

// failedNodes are the nodes that an error names as having failed.
func failedNodes(t *testing.T, err error) (names []string) {
	t.Helper()
	var nodes *redlock.NodesError
	if !errors.As(err, &nodes) {
		t.Fatalf("%v: want a *NodesError", err)
	}
	for _, inner := range nodes.Unwrap() {
		var node *driver.NodeError
		if !errors.As(inner, &node) {
			t.Fatalf("%v: want a *driver.NodeError", inner)
		}
		names = append(names, node.Node)
	}
	var first *driver.NodeError
	if !errors.As(err, &first) || len(names) == 0 || first.Node != names[0] {
		t.Errorf("%v: it does not lead to the errors of nodes", err)
	}
	return names
}

// TestEveryAnswer: five nodes say five things, and the error says which said what: nobody needs to look at servers that are well.
func TestEveryAnswer(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 5)
	m := g.open("&guard=1s&node-timeout=500ms")
	warm := ask("lock", 500*time.Millisecond)
	m.grant(warm) // when the guard of the start is over
	if err := m.release(warm); err != nil {
		t.Fatal(err)
	}
	until(t, "all nodes have let go", func() bool { return len(g.has("lock")) == 0 })
	until(t, "no node is guarded any more", func() bool {
		m.try(ask("other", 500*time.Millisecond))
		return len(g.has("other")) == 5
	})
	g.block("lock", 1)
	if err := g.nodes[3].Stop(); err != nil {
		t.Fatal(err)
	}
	defer g.nodes[3].Continue()
	g.nodes[4].Kill()
	g.forgets(2)
	var err error
	until(t, "the restarted node has been reached", func() bool {
		_, err = m.try(ask("lock", 500*time.Millisecond))
		return err == nil || !slices.Contains(failedNodes(t, err), "n3")
	})
	if err == nil || driver.Answered(err) {
		t.Fatalf("one of five granted: %v", err)
	}
	says(t, err, "1 of 5 nodes said yes, 3 are needed", "n1: granted", `n2: held by "another program"`, "n3: guarded for another", "n4: ", "n5: ")
	if failed := failedNodes(t, err); !slices.Equal(failed, []string{"n4", "n5"}) {
		t.Errorf("%v: failed are said to have %v", err, failed)
	}
}

// TestNobodyAnswers: what a node has not said in time is told with the time, and later that it is not asked.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	m := g.open("&guard=0&node-timeout=500ms")
	m.grant(ask("held", patience))
	until(t, "all have it", func() bool { return len(g.has("held")) == 3 })
	for node := 1; node < 3; node++ {
		if err := g.nodes[node].Stop(); err != nil {
			t.Fatal(err)
		}
		defer g.nodes[node].Continue()
	}
	_, err := m.try(ask("lock", patience))
	if driver.Answered(err) {
		t.Fatalf("an answer, though two of three have given none: %v", err)
	}
	says(t, err, "1 of 3 nodes said yes, 2 are needed", "n1: granted", "n2: no answer within 500ms", "n3: no answer within 500ms")
	if failed := failedNodes(t, err); !slices.Equal(failed, []string{"n2", "n3"}) {
		t.Errorf("%v: failed are said to have %v", err, failed)
	}
	type result struct {
		name string
		err  error
	}
	var all sync.WaitGroup
	results := make(chan result, 4)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // with its end they say what is known
	defer cancel()
	for name, call := range map[string]func() error{
		"inspecting": func() error { _, err := m.Inspect(ctx, "held", driver.Exclusive); return err },
		"breaking": func() error {
			return m.Break(ctx, &driver.BreakRequest{Name: "held", Mode: driver.Exclusive, Token: 1})
		},
		"listing": func() error {
			for _, err := range m.List(ctx, "") {
				return err
			}
			return nil
		},
		"asking for guarantees": func() error { _, err := m.Guarantees(ctx); return err },
	} {
		all.Go(func() { results <- result{name, call()} })
	}
	all.Wait()
	close(results)
	for one := range results {
		name, err := one.name, one.err
		if err == nil || driver.Answered(err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if failed := failedNodes(t, err); !slices.Equal(failed, []string{"n2", "n3"}) {
			t.Errorf("%s: %v: failed are said to have %v", name, err, failed)
		}
		if name != "breaking" {
			says(t, err, "n1: answered")
		}
	}
}

// TestReleaseTwice: a release that a majority has not answered is unknown, and so is the next one, until a majority has.
func TestReleaseTwice(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	m := g.open("&guard=0&node-timeout=500ms")
	r := ask("lock", patience)
	m.grant(r)
	until(t, "all have it", func() bool { return len(g.has("lock")) == 3 })
	for _, way := range m.ways[1:] {
		way.HoldRequests()
	}
	for i := range 2 {
		err := m.Release(inTime(t), r)
		if err == nil || driver.Answered(err) {
			t.Fatalf("release number %d: %v, though two of three still have it", i+1, err)
		}
		if failed := failedNodes(t, err); !slices.Equal(failed, []string{"n2", "n3"}) {
			t.Errorf("release number %d: %v: failed are said to have %v", i+1, err, failed)
		}
	}
	if at := g.has("lock"); !slices.Equal(at, []int{1, 2}) {
		t.Errorf("the lock is at nodes %v", at)
	}
	for _, way := range m.ways[1:] {
		way.Resume()
	}
	if err := m.release(r); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Errorf("releasing, when all answer: %v", err)
	}
	until(t, "all have let go", func() bool { return len(g.has("lock")) == 0 })
}
