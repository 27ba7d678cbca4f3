package guardmodel

import (
	"reflect"
	"slices"
	"testing"
)

// A broken scenario is one that the guard stands, and does not stand without one of its rules.
type broken struct {
	rule   string // the field of Rules that is switched off
	name   string
	setup  Setup
	faults Faults
	size   size
}

var (
	restart  = Faults{Crashes: 1, Restarts: 1}
	failover = Faults{Crashes: 1, Promotions: 1}
	split    = Faults{Promotions: 1, Repoints: 1}
)

var withoutRule = []broken{
	{"WholeGuard", "one server restarts", single, restart, small},
	{"WholeGuard", "the old primary grants while the new one is muted", trio, split, small},
	{"NewID", "a process is demoted, and promoted again", pair, Faults{Failovers: 1, Crashes: 1, Promotions: 1}, small},
	{"LostMemory", "one server restarts empty", single, restart, small},
	{"ExactMarker", "a replica has the marker of its primary", pair, failover, small},
	{"NeverOffset", "a promoted replica's backlog is freed soon", pair, Faults{Crashes: 1, Promotions: 1, SoonFreed: 1}, small},
	{"NeverSecondID", "a replica is promoted that was sent nothing since it synced", pair.fresh(), failover, small},
	{"NeverUptime", "one server restarts empty", single, restart, small},
	{"NeverAlone", "a promoted node restarts empty, and is up for long before it gets a replica", trio.ttl(1),
		Faults{Promotions: 1, Repoints: 1, Crashes: 1, Restarts: 1}, medium},
	{"Muted", "the new primary renews what the old one sees run out", trio, split, small},
	{"Muted", "the same without min-replicas, where the old one lives for less than the fence", pair.overlapping(1),
		Faults{Promotions: 1, Crashes: 1}, small},
	{"NoGrant", "one server restarts empty", single, restart, small},
	{"NoHandOver", "a release is carried out again, by the new primary", pair.waiters(), failover, small},
	{"NoTakeOver", "one server restarts empty, and somebody waits", single.waiters(), restart, small},
	{"NoClaim", "a push is late, and the replica's clock behind", pair.waiters(), Faults{Crashes: 1, Promotions: 1, Skew: 1}, small},
	{"NoRepeat", "an answer is late, and the replica's clock behind", pair, Faults{Crashes: 1, Promotions: 1, Skew: 1, Lost: 1}, small},
	{"StartAtWrite", "somebody inspects the new primary while the old one is in contact", trio, split, small},
	{"StartProven", "somebody asks the new primary while the old one is in contact", trio, split, small},
	{"BoundedCredit", "the new primary's clock jumps forward", trio.slack(1), Faults{Promotions: 1, Repoints: 1, EmptySteps: 1}, small},
	{"Majority", "three nodes that need no replica", trio, Faults{Promotions: 1}, small},
	{"Majority", "four nodes that need one: two halves", quartet, split, medium},
	{"EveryNode", "only the first primary needs a replica", trio, Faults{Promotions: 1}, small},
	{"ByOffsets", "the old primary stands still, and then reads old acknowledgements", trio,
		Faults{Promotions: 1, Repoints: 1, Pauses: 1}, medium},
	{"FreshProofs", "a process is demoted and promoted again within the life of a proof", trio.ttl(1),
		Faults{Promotions: 1, Repoints: 2, Failovers: 1}, medium},
	{"OwnNeed", "a replica is promoted that has not heard that proofs are needed", trio.lateNeed(), Faults{Promotions: 1}, small},
}

// belts are rules without which the model finds nothing either. They are kept because they cost nothing.
var belts = []broken{
	{"NeverConnected", "restarts and failovers of two nodes that are new", pair.fresh(),
		Faults{Crashes: 2, Promotions: 2, Restarts: 2, Repoints: 2}, medium},
	{"CreditProven", "split", trio, Faults{Promotions: 1, Repoints: 2}, medium},
	{"CreditProven", "split, two failovers", trio.ttl(1), Faults{Promotions: 2, Repoints: 2}, medium},
	{"CreditProven", "split, a restart", trio.ttl(1), Faults{Promotions: 1, Repoints: 2, Crashes: 1, Restarts: 1}, medium},
}

func (b broken) model(t *testing.T) Model {
	t.Helper()
	m := Model{Setup: b.setup, Rules: AllRules(), Faults: b.faults}
	rule := reflect.ValueOf(&m.Rules).Elem().FieldByName(b.rule)
	if !rule.IsValid() || !rule.Bool() {
		t.Fatalf("%s is no rule, or AllRules leaves it out", b.rule)
	}
	rule.SetBool(false)
	return m
}

// TestEveryRuleIsNeeded switches off one rule after the other, in a scenario that is safe with it, and must see two holders.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, b := range withoutRule {
		if skips(t, b.size, b.name) {
			continue
		}
		t.Run(b.rule+": "+b.name, func(t *testing.T) {
			t.Parallel()
			mustBreak(t, b.model(t))
			if testing.Short() || raceDetector {
				t.Log("whether the scenario is safe with the rule is not looked at with -short, nor under the race detector")
				return
			}
			m := Model{Setup: b.setup, Rules: AllRules(), Faults: b.faults}
			if r := m.Explore(limit); !r.Complete {
				t.Errorf("with the rule it must be safe: %v%s", r, list(r.Trace))
			}
		})
	}
}

// TestBelts says which rules the model does not need. One that it does need belongs to withoutRule.
func TestBelts(t *testing.T) {
	for _, b := range belts {
		if skips(t, b.size, b.name) {
			continue
		}
		t.Run(b.rule+": "+b.name, func(t *testing.T) {
			t.Parallel()
			m := b.model(t)
			r := m.Explore(limit)
			t.Log(r)
			if !r.Complete {
				t.Errorf("a counterexample, so %s is needed; move it to withoutRule:%s", b.rule, list(r.Trace))
			}
		})
	}
}

// TestAllRulesAreTried compares the tables with the rules.
func TestAllRulesAreTried(t *testing.T) {
	tried := map[string]bool{"Unbroken": true} // no part of the guard: see TestUnbrokenContact
	for _, b := range slices.Concat(withoutRule, belts) {
		tried[b.rule] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Rules]()) {
		if !tried[f.Name] {
			t.Errorf("nothing is tried without the rule %s: add a scenario to withoutRule that needs it", f.Name)
		}
	}
}

// mustBreak wants a counterexample, and makes its moves again: what is reported can be believed without believing the search.
func mustBreak(t *testing.T, m Model) {
	t.Helper()
	r := m.Explore(3_000_000)
	if r.Trace == nil {
		t.Fatalf("no counterexample: %v", r)
	}
	for _, part := range []struct {
		moves []Move
		want  bool
	}{{r.Trace, true}, {r.Trace[:len(r.Trace)-1], false}} {
		got, err := m.Replay(part.moves)
		if err != nil || got != part.want {
			t.Fatalf("after %d of %d moves two holders: %v, %v; want %v", len(part.moves), len(r.Trace), got, err, part.want)
		}
	}
	t.Logf("%v:%s", r, list(r.Trace))
}
