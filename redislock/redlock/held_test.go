package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// heldBy asks without waiting, and returns who is said to have it.
func heldBy(t *testing.T, m *member, name string) (*driver.Held, error) {
	t.Helper()
	_, err := m.try(ask(name, time.Second))
	var held *driver.Held
	if !errors.As(err, &held) || !driver.Answered(err) {
		t.Fatalf("%s: %v: want *driver.Held, as an answer", name, err)
	}
	return held, err
}

// TestHeldBy: who is refused is told by whom: one of us, with a token and a label, or another program, of which no more is known than its TTL, or that
// it has none.
func TestHeldBy(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=500ms"), g.open("&guard=0&node-timeout=500ms")
	grant := a.grant(ask("ours", 20*time.Second))
	held, err := heldBy(t, b, "ours")
	if len(held.Holders) != 1 || held.Holders[0].Token != grant.Token || held.Holders[0].Label != "test" || held.Holders[0].Left > 21*time.Second {
		t.Errorf("ours: %+v", held)
	}
	if held.RetryIn <= 0 || held.RetryIn > 21*time.Second {
		t.Errorf("ours: ask again in %v", held.RetryIn)
	}
	says(t, err, `held by "test"`, "token", "free in")

	g.block("theirs", 0, 1)
	held, err = heldBy(t, b, "theirs")
	if len(held.Holders) != 1 || held.Holders[0].Token != 0 || held.Holders[0].Label != "another program" || held.Holders[0].Left > 100*time.Second || held.RetryIn <= 0 {
		t.Errorf("theirs: %+v", held)
	}
	says(t, err, `held by "another program"`, "without a token", "free in")

	for node := range 2 {
		g.do(node, "SET", "forever", "of a program that has ended")
	}
	held, err = heldBy(t, b, "forever")
	if len(held.Holders) != 1 || held.Holders[0].Left != driver.Forever || held.RetryIn != 0 {
		t.Errorf("for ever: %+v", held)
	}
	says(t, err, `held by "another program"`, "never expires")
	if strings.Contains(err.Error(), "free in") {
		t.Errorf("%v: it is not", err)
	}

	g.do(0, "SET", "partly", "of a program that has ended") // and the second node's runs out
	g.block("partly", 1)
	if held, _ := heldBy(t, b, "partly"); held.RetryIn <= 0 || held.RetryIn > 100*time.Second {
		t.Errorf("for ever at one node only: %+v: ask again in %v", held.Holders, held.RetryIn)
	}
}

// TestHeldThoughOneIsSilent: a majority that says who has it is the answer, at the first time of asking, though a node hangs.
func TestHeldThoughOneIsSilent(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=500ms"), g.open("&guard=0&node-timeout=500ms")
	grant := a.grant(ask("lock", patience))
	until(t, "all have it", func() bool { return len(g.has("lock")) == 3 })
	if err := g.nodes[1].Stop(); err != nil {
		t.Fatal(err)
	}
	for range 6 { // also when the node is not asked any more
		held, _ := heldBy(t, b, "lock")
		if len(held.Holders) != 1 || held.Holders[0].Token != grant.Token || held.Holders[0].Label != "test" {
			t.Errorf("%+v", held)
		}
	}
	if err := g.nodes[1].Continue(); err != nil {
		t.Fatal(err)
	}
}

// TestUnsupported: what a majority cannot do is refused before any node is asked, with the reason.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 1)
	m := g.open("&guard=0")
	for name, change := range map[string]func(r *driver.Request){
		"readers":      func(r *driver.Request) { r.Mode = driver.Shared },
		"permits":      func(r *driver.Request) { r.Mode, r.N, r.Limit = driver.Permits, 1, 2 },
		"minimum hold": func(r *driver.Request) { r.Keep = time.Second },
		"tokens":       func(r *driver.Request) { r.Reserve = 1 },
	} {
		r := ask("lock", time.Second)
		change(r)
		for _, r.NoWait = range []bool{false, true} {
			_, err := m.Acquire(inTime(t), r)
			if !errors.Is(err, driver.ErrUnsupported) || !driver.Answered(err) {
				t.Errorf("%s: %v: want ErrUnsupported", name, err)
				continue
			}
			says(t, err, name)
		}
	}
	if _, err := m.Inspect(inTime(t), "lock", driver.Permits); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("inspecting permits: %v", err)
	}
	promised, err := m.Guarantees(inTime(t))
	if err != nil || promised.Shared || promised.Permits || promised.Keep || promised.Reserve || promised.FIFO {
		t.Errorf("Guarantees: %+v, %v", promised, err)
	}
	if attempts, lines, undos := m.Left(); attempts+lines+undos != 0 {
		t.Errorf("the client remembers %d attempts, %d lines and %d releases of what was refused", attempts, lines, undos)
	}
}
