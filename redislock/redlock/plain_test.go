package redlock_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/redlock"
)

// TestPlain: servers without functions have the peers' lock, and nothing more: no token, no guard. What is missing is said.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []servers.RedisOption
	}{
		{"without FCALL", []servers.RedisOption{servers.RedisRename("FCALL", "")}},
		{"without FUNCTION too", []servers.RedisOption{servers.RedisRename("FCALL", ""), servers.RedisRename("FUNCTION", "")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := startGroup(t, 3, c.options...)
			a, b := g.open("&node-timeout=500ms"), g.open("&node-timeout=500ms")
			plainHold(t, g, a, b)
			plainPromise(t, a)
		})
	}
}

// plainHold goes through the life of a hold: exclusion, inspection, renewal, loss of a node's part, release.
func plainHold(t *testing.T, g *group, a, b *member) {
	t.Helper()
	r := ask("lock", 20*time.Second)
	grant := a.grant(r)
	if grant.Token != 0 {
		t.Errorf("token %d, which nobody could have decided on", grant.Token)
	}
	until(t, "all have it", func() bool { return len(g.has("lock")) == 3 })
	_, err := b.try(ask("lock", time.Second))
	var held *driver.Held
	if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Label != "test" || held.Holders[0].Token != 0 {
		t.Errorf("somebody else was told %v, %+v", err, held)
	}
	info, err := b.Inspect(inTime(t), "lock", driver.Exclusive)
	if err != nil || len(info.Holders) != 1 || info.Holders[0].Label != "test" || info.Holders[0].Left <= 0 || info.Guard != 0 {
		t.Errorf("inspected: %+v, %v", info, err)
	}
	if names := listNames(t, b.Store, ""); !slices.Equal(names, []string{"lock"}) {
		t.Errorf("listed: %q", names)
	}
	g.unblock("lock", 2)
	if left, err := grant.Lease.Renew(inTime(t), time.Minute); err != nil || left < time.Minute {
		t.Errorf("renewed: %v, %v", left, err)
	}
	until(t, "the third has it again", func() bool { return len(g.has("lock")) == 3 })
	if left := g.do(0, "PTTL", "lock").(int64); left <= (30 * time.Second).Milliseconds() {
		t.Errorf("%d ms are left at a node", left)
	}
	for _, now := range []bool{false, true} {
		if err := b.Break(inTime(t), &driver.BreakRequest{Name: "lock", Mode: driver.Exclusive, Now: now}); !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("breaking, at once %v: %v", now, err)
		}
	}
	g.unblock("lock", 1, 2)
	if _, err := grant.Lease.Renew(inTime(t), time.Minute); !errors.Is(err, driver.ErrGone) {
		t.Errorf("renewed, though a majority has nothing: %v", err)
	}
	a.release(r)
	until(t, "all have let go", func() bool { return len(g.has("lock")) == 0 })

	next := ask("lock", 20*time.Second)
	b.grant(next)
	if err := b.release(next); err != nil {
		t.Error(err)
	}
	until(t, "all have let go", func() bool { return len(g.has("lock")) == 0 })
	for node := range g.nodes[:2] {
		g.do(node, "SET", "lock", "of a program that has ended")
	}
	if _, err := b.try(ask("lock", time.Second)); !isHeld(err) || !strings.Contains(err.Error(), "never expires") {
		t.Errorf("a key without a TTL: %v", err)
	}
}

// plainPromise: what such a deployment promises, and what it would need.
func plainPromise(t *testing.T, m *member) {
	t.Helper()
	g, err := m.Guarantees(inTime(t))
	if err != nil {
		t.Fatal(err)
	}
	if g.Fencing != driver.FencingNone || g.SurvivesRestart || g.SurvivesFailover {
		t.Errorf("it promises %+v", g)
	}
	missing := strings.Join(g.Missing, "\n")
	for _, word := range []string{"functions", "no guard", "no token", "7.0", "FCALL"} {
		if !strings.Contains(missing, word) {
			t.Errorf("%q is not said to be missing:\n%s", word, missing)
		}
	}
}

// TestPlainMinority: a node without functions among others that have them has no guard: it would vote twice after a restart. Its vote does not count.
func TestPlainMinority(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 2)
	g.nodes = append(g.nodes, startRedis(t, servers.RedisRename("FCALL", "")))
	m := g.open("&guard=0&node-timeout=500ms")
	r := ask("lock", patience)
	if grant := m.grant(r); grant.Token == 0 {
		t.Error("no token")
	}
	if at := g.has("lock"); !slices.Equal(at, []int{0, 1}) {
		t.Errorf("the lock is at nodes %v", at)
	}
	promised, err := m.Guarantees(inTime(t))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(slices.Concat(promised.Beyond, promised.Missing), "\n"); !strings.Contains(text, "n3") || !strings.Contains(text, "functions") {
		t.Errorf("Guarantees does not name the node:\n%s", text)
	}
	if err := m.release(r); err != nil {
		t.Fatal(err)
	}
	until(t, "all have let go", func() bool { return len(g.has("lock")) == 0 })
	g.block("lock", 0)
	_, err = m.try(ask("lock", patience))
	if err == nil {
		t.Fatal("one node with functions and one without have granted a lock")
	}
	if !errors.Is(err, redlock.ErrFunctions) {
		t.Errorf("%v: it does not say why the third has no vote", err)
	}
	says(t, err, "n2: granted", "n3: ", "functions")
}

// TestForbiddenFunctions: a server that has functions, but not for this user, is set up wrong. It is not spoken to as if it had none: others may use its
// guard, and would be bypassed.
func TestForbiddenFunctions(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 2)
	for name, rules := range map[string]string{"FCALL": "-fcall", "FCALL and FUNCTION": "-fcall -function"} {
		server := startRedis(t, servers.RedisUsers("app on >"+canary+" ~* &* +@all "+rules, "default off"))
		_, err := openURL(inTime(t), listing(append(g.places(), place{"n3", "app:" + canary + "%40" + server.Addr()}), "&guard=0"))
		var refused *redlock.ServerError
		var node *driver.NodeError
		if !errors.As(err, &refused) || refused.Code != "NOPERM" || !errors.As(err, &node) || node.Node != "n3" || !driver.Answered(err) {
			t.Errorf("without %s: %v: want NOPERM of n3, as an answer", name, err)
			continue
		}
		says(t, err, "permit", "ACL")
		secretless(t, err)
	}
}

// listNames are the names that List finds.
func listNames(t *testing.T, s *redlock.Store, prefix string) (names []string) {
	t.Helper()
	for info, err := range s.List(inTime(t), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names
}
