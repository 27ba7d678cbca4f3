package redlockmodel

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A broken scenario is one in which rules are missed: what is wrong without them is right with them.
type broken struct {
	rules  string // switched off
	name   string
	setup  Setup
	faults Faults
	wrong  Wrong
	size   size
}

// withoutRule has, for each rule, what happens without it.
var withoutRule = []broken{
	{"Majority", "half of three nodes, which is one", trio, Faults{}, TwoHolders, tiny},
	{"Majority", "half of four nodes, which is two", quartet, Faults{}, TwoHolders, tiny},
	{"Fresh", "the late release of a try frees the vote for the next one", trio.retry().ttl(1), Faults{}, TwoHolders, medium},
	{"Elapsed", "an answer is late", trio, Faults{}, TwoHolders, small},
	{"Sent", "the answer to a renewal is late", trio.renewals(1), Faults{}, TwoHolders, small},
	{"SecondRound", "the token follows from the votes alone", trio, Faults{}, TokenFell, tiny},
	{"Awaited", "the token is told, but not waited for, and late", trio, Faults{Late: 1}, TokenFell, tiny},
	{"Owned", "a key is lost between the rounds", trio, Faults{EarlyLoss: 1}, TwoHolders, tiny},
	{"Counted", "a key is lost between the rounds, and a vote is late", trio, Faults{EarlyLoss: 1}, TokenFell, small},
	{"Middle", "a clock is ahead by more than the guard, a node forgets", trio.skewed(far), Faults{Losses: 1}, TokenFell, small},
	{"SomeClock", "both clocks are off, one ahead and one behind, a node forgets", trio.skewed(-far, 0, far), Faults{Losses: 1}, TokenFell, medium},
	{"OwnClock", "of three votes the two slow clocks are taken for the middle, a node forgets", five.held(3, 1).skewed(0, 0, 0, -far, -far), Faults{Losses: 1}, TokenFell, small},
	{"OwnHalf", "of four clocks two are slow, two nodes forget", quartet.held(3, 1).skewed(0, 0, -far, -far), Faults{Losses: 2}, TokenFell, medium},
	{"Order", "a release overtakes the vote that it is for", trio, Faults{}, Revived, tiny},
	{"Tombstone", "a vote that was given up arrives after its release", trio, Faults{Late: 1}, Revived, tiny},
	{"Always", "of two repairs one arrives after the release", trio.held(2, 0).renewals(2), Faults{Late: 1}, Revived, tiny},
	{"UpTo", "the vote for the first try arrives after the releases of two", trio.retry().attempts(1).ttl(1), Faults{Late: 2}, Revived, tiny},
	{"Heeded", "a repair arrives after the release", trio.renewals(1), Faults{Late: 1}, Revived, medium},
	{"OwnRound", "an answer to the first renewal counts for the second", trio.held(2, 1).renewals(2), Faults{}, TwoHolders, tiny},
	{"EndIsEnd", "a renewal is answered after the hold's end, and another's", trio.claims(), Faults{}, Overtaken, medium},
	{"HadPart", "a hold that has ended is claimed after another's", trio.claims(), Faults{}, Overtaken, medium},
	{"Accepted", "a late vote that has no token yet is claimed", trio.claims(), Faults{}, Overtaken, medium},
	{"RepairApart", "a hold that has ended is claimed, and a free node counts", trio.claims(), Faults{}, Overtaken, medium},
	{"Guard", "a node restarts without its memory", trio, Faults{Losses: 1}, TwoHolders, tiny},
	{"WholeGuard", "the guard is a tick shorter than the TTL", trio, Faults{Losses: 1}, TwoHolders, small},
	{"GuardTakes", "a key is lost between the rounds, and comes back with older data", trio.ttl(1), Faults{EarlyLoss: 1, Saves: 1, Older: 1}, TwoHolders, medium},
}

// belts are rules without which the model finds nothing wrong either. They are kept because they cost nothing.
var belts = []broken{
	{"RepairAfter", "a hold on two", trio.held(2, 1).renewals(2), Faults{}, Nothing, small},
	{"RepairAfter", "a node forgets", trio.held(3, 1).renewals(2), Faults{Losses: 1}, Nothing, big},
	{"RepairAfter", "late renewals repair nodes for a hold that is not believed in, and claimed", trio.claims(), Faults{}, Nothing, big},
	{"RepairToken", "a hold on two", trio.held(2, 1).renewals(2), Faults{}, Nothing, small},
	{"RepairToken", "a node forgets", trio.held(3, 1).renewals(2), Faults{Losses: 1}, Nothing, big},
	{"GuardRepairs", "a node forgets", trio.held(3, 1).renewals(2), Faults{Losses: 1}, Nothing, medium},
	{"GuardClaims", "a node forgets", trio.held(2, 1).claims(), Faults{Losses: 1}, Nothing, medium},
	{"GuardTakes", "a node comes back with older data", trio, Faults{Saves: 1, Older: 1}, Nothing, medium},
	{"Owned", "a node forgets", trio, Faults{Losses: 1}, Nothing, small},
	{"Counted", "a node forgets", trio, Faults{Losses: 1}, Nothing, small},
	{"Awaited", "a node forgets", trio, Faults{Losses: 1}, Nothing, small},
}

func (b broken) model(t *testing.T) Model {
	t.Helper()
	m := Model{Setup: b.setup, Rules: AllRules(), Faults: b.faults}
	for rule := range strings.FieldsSeq(b.rules) {
		field := reflect.ValueOf(&m.Rules).Elem().FieldByName(rule)
		if !field.IsValid() || !field.Bool() {
			t.Fatalf("%s is no rule, or AllRules leaves it out", rule)
		}
		field.SetBool(false)
	}
	return m
}

// TestEveryRuleIsNeeded switches off one rule after the other, in a scenario that is safe with it, and must see what is wrong then.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, b := range withoutRule {
		if skips(t, b.size, b.name) {
			continue
		}
		t.Run(b.rules+": "+b.name, func(t *testing.T) {
			t.Parallel()
			mustBreak(t, b.model(t), b.wrong)
			if testing.Short() || raceDetector {
				t.Log("whether the scenario is safe with the rule is not looked at with -short, nor under the race detector")
				return
			}
			if slices.ContainsFunc(safes, func(c safe) bool { return c.size != big && covers(c, b) }) {
				return // TestRedlockHolds does
			}
			m := Model{Setup: b.setup, Rules: AllRules(), Faults: b.faults}
			if r := m.Explore(limit); !r.Complete {
				t.Errorf("with the rule it must be safe: %v%s", r, list(&m, r.Trace))
			}
		})
	}
}

// covers reports whether a safe scenario has at least the faults of a broken one.
func covers(c safe, b broken) bool {
	if c.setup != b.setup {
		return false
	}
	for kind, n := range b.faults.budget() {
		if c.faults.budget()[kind] < n {
			return false
		}
	}
	return true
}

// TestBelts says which rules the model does not need. One that it does need belongs to withoutRule.
func TestBelts(t *testing.T) {
	for _, b := range belts {
		if skips(t, b.size, b.name) {
			continue
		}
		t.Run(b.rules+": "+b.name, func(t *testing.T) {
			t.Parallel()
			m := b.model(t)
			r := m.Explore(limit)
			t.Log(r)
			if !r.Complete {
				t.Errorf("a counterexample, so %s is needed; move it to withoutRule:%s", b.rules, list(&m, r.Trace))
			}
		})
	}
}

// TestAllRulesAreTried compares the tables with the rules.
func TestAllRulesAreTried(t *testing.T) {
	tried := map[string]bool{"Everywhere": true} // see TestSplitVotesAreResolved
	for _, b := range slices.Concat(withoutRule, belts) {
		for rule := range strings.FieldsSeq(b.rules) {
			tried[rule] = true
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Rules]()) {
		if !tried[f.Name] {
			t.Errorf("nothing is tried without the rule %s: add a scenario to withoutRule that needs it", f.Name)
		}
	}
}

// mustBreak wants a counterexample, and makes its moves again: what is reported can be believed without believing the search.
func mustBreak(t *testing.T, m Model, wrong Wrong) {
	t.Helper()
	r := m.search(5_000_000, func(s *State) bool { return s.violated() == wrong })
	if r.Trace == nil {
		t.Fatalf("no counterexample: %v", r)
	}
	mustReplay(t, m, r.Trace, wrong)
	t.Logf("%v:%s", r, list(&m, r.Trace))
}

func mustReplay(t *testing.T, m Model, trace []Move, wrong Wrong) {
	t.Helper()
	if got, err := m.Replay(trace); err != nil || got != wrong {
		t.Fatalf("after all moves: %v, %v; want %v", got, err, wrong)
	}
	if got, err := m.Replay(trace[:len(trace)-1]); err != nil || got == wrong {
		t.Fatalf("before the last move: %v, %v", got, err)
	}
}
