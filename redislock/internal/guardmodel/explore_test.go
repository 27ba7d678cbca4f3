package guardmodel

import (
	"reflect"
	"testing"
)

func TestExploreSaysWhenItIsCut(t *testing.T) {
	m := Model{Setup: single, Rules: AllRules(), Faults: restart}
	whole := m.Explore(limit)
	if !whole.Complete || whole.Trace != nil {
		t.Fatalf("%+v, want a complete search", whole)
	}
	if cut := m.Explore(whole.States / 2); cut.Complete || cut.Trace != nil || cut.States < whole.States/2 {
		t.Errorf("%+v, want a search that is not complete after half of %d states", cut, whole.States)
	}
}

func TestExploreIsRepeatable(t *testing.T) {
	m := Model{Setup: pair, Rules: AllRules(), Faults: Faults{Failovers: 1, Crashes: 1, Promotions: 1}}
	if a, b := m.Explore(limit), m.Explore(limit); !reflect.DeepEqual(a, b) {
		t.Errorf("%v, then %v", a, b)
	}
	m.Rules.NewID = false
	if a, b := m.Explore(limit), m.Explore(limit); a.Trace == nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v, then %v", a, b)
	}
}

func TestReplayRefusesWhatCannotHappen(t *testing.T) {
	m := Model{Setup: single, Rules: AllRules(), Faults: restart}
	m.Rules.LostMemory = false
	r := m.Explore(limit)
	if two, err := m.Replay(r.Trace); !two || err != nil {
		t.Fatalf("Replay of a counterexample: %v, %v", two, err)
	}
	m.Rules.LostMemory = true
	if two, err := m.Replay(r.Trace); two || err == nil {
		t.Errorf("Replay under the rule that forbids it: %v, %v; want an error", two, err)
	}
	if two, err := m.Replay(nil); two || err != nil {
		t.Errorf("Replay of nothing: %v, %v", two, err)
	}
}

func TestMovesAreDistinct(t *testing.T) {
	m := Model{Setup: quartet.waiters(), Rules: AllRules(), Faults: Faults{Promotions: 1, Repoints: 1, Crashes: 1, Restarts: 1, Lost: 1, Skew: 1}}
	seen := make(map[string]bool)
	for _, v := range m.moves() {
		if seen[v.String()] {
			t.Errorf("two moves are called %q", v)
		}
		seen[v.String()] = true
	}
	if len(seen) < 100 {
		t.Errorf("%d moves", len(seen))
	}
}
