package guardmodel

import (
	"reflect"
	"testing"
)

// assumptions are what the guard cannot do without, each with a deployment where it is broken.
var assumptions = []struct {
	name   string
	setup  Setup
	faults Faults
	size   size
}{
	{"no FLUSHALL, no eviction, no DEL of a lock's key", single, Faults{Evictions: 1}, small},
	{"a server's clock is not set forward while a lock is held", single, Faults{Steps: 1}, small},
	{"nor just after a start: the uptime is counted by it", single.slack(1), Faults{Crashes: 1, Restarts: 1, EmptySteps: 1}, small},
	{"nor with holds that a young reign knows", pair.slack(1), Faults{Crashes: 1, Promotions: 1, Steps: 1}, small},
	{"nor is it set back by more than the fence has to spare, where there are replicas", trio, Faults{Promotions: 1, Repoints: 1, BackSteps: 1}, medium},
	{"nobody points a node back to an older primary by hand", trio, Faults{Promotions: 1, Repoints: 1, Backwards: 1}, small},
	{"a node that was made a replica does not start again as a primary", trio.ttl(1),
		Faults{Promotions: 1, Repoints: 2, Crashes: 1, Restarts: 1, Deserters: 1}, medium},
	{"without min-replicas: the old primary is gone before the fence is over", Setup{Nodes: 2, TTL: 3, Overlap: 2, Slack: -1},
		Faults{Promotions: 1, Crashes: 1}, small},
	{"repl-backlog-ttl is not shorter than the guard: a replica can have synced at the offset 0", pair.fresh(),
		Faults{Crashes: 1, Promotions: 1, SoonFreed: 1}, small},
}

// TestEveryAssumptionIsNeeded breaks what is assumed, one by one: all rules hold, and there are two holders.
func TestEveryAssumptionIsNeeded(t *testing.T) {
	for _, c := range assumptions {
		if skips(t, c.size, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustBreak(t, Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults})
		})
	}
}

// TestEveryShortcutIsUnsafe takes ways to a shorter guard that look safe.
func TestEveryShortcutIsUnsafe(t *testing.T) {
	tried := make(map[string]bool)
	for _, c := range []struct {
		shortcut string
		name     string
		faults   Faults
	}{
		{"Seal", "the sealed data comes back later", Faults{Crashes: 2, Promotions: 1, Restarts: 1}},
		{"LongestTTL", "the first grant is not replicated, and so is the record of its TTL", Faults{Crashes: 1, Promotions: 1}},
		{"UptimeAlone", "a replica has been up for long", Faults{Crashes: 1, Promotions: 1}},
		{"ZeroSecondID", "a promoted replica's backlog is freed", Faults{Crashes: 1, Promotions: 1, SoonFreed: 1}},
	} {
		tried[c.shortcut] = true
		t.Run(c.shortcut+": "+c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: pair, Rules: AllRules(), Faults: c.faults}
			if r := m.Explore(limit); !r.Complete {
				t.Errorf("without the shortcut it must be safe: %v%s", r, list(r.Trace))
			}
			reflect.ValueOf(&m.Shortcuts).Elem().FieldByName(c.shortcut).SetBool(true)
			mustBreak(t, m)
		})
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Shortcuts]()) {
		if !tried[f.Name] {
			t.Errorf("nothing is tried with the shortcut %s", f.Name)
		}
	}
}

// TestUnbrokenContact is what it would take to do without one of the assumptions: that a node which was made a replica does not start
// again as a primary. The guard does not do it: every lock on a server that rested while its replicas were restarted would wait.
func TestUnbrokenContact(t *testing.T) {
	if skips(t, medium, "contact that is never broken") {
		return
	}
	m := Model{Setup: trio.ttl(1), Rules: AllRules(), Faults: Faults{Promotions: 1, Repoints: 2, Crashes: 1, Restarts: 1, Deserters: 1}}
	m.Rules.Unbroken = true
	t.Run("with the fence as it is", func(t *testing.T) {
		t.Parallel()
		mustBreak(t, m)
	})
	t.Run("with a fence of twice the lag", func(t *testing.T) {
		t.Parallel()
		m := m
		m.Setup.Slack = m.Setup.Lag
		r := m.Explore(limit)
		t.Log(r)
		if !r.Complete {
			t.Errorf("two holders:%s", list(r.Trace))
		}
	})
}
