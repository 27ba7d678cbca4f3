package redlockmodel

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestRedlockHolds looks at every state of every deployment that Redlock is for: nothing is wrong anywhere. How many states there are stands
// in docs/safety.md, in rows that the test compares.
func TestRedlockHolds(t *testing.T) {
	var mu sync.Mutex
	var rows []string
	t.Cleanup(func() { documented(t, rows) })
	for _, c := range safes {
		if skips(t, c.size, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if c.size != big { // big ones need the memory for themselves
				t.Parallel()
			}
			m := Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults}
			r := m.Explore(limit)
			t.Log(r)
			if r.Trace != nil {
				t.Errorf("%v:%s", r.Wrong, list(&m, r.Trace))
			} else if !r.Complete {
				t.Error("not complete: what was not looked at proves nothing; raise the limit or lower the faults")
			}
			mu.Lock()
			rows = append(rows, fmt.Sprintf("| %s | %s |", c.name, thousands(r.States)))
			mu.Unlock()
		})
	}
}

// documented compares what was found with what is written.
func documented(t *testing.T, rows []string) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "safety.md"))
	if err != nil {
		t.Error(err)
	}
	for _, row := range rows {
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/safety.md does not have the row\n%s", row)
		}
	}
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func list(m *Model, trace []Move) string {
	text := ""
	for _, line := range m.Story(trace) {
		text += "\n\t" + line
	}
	return text
}

// TestEveryFaultIsTried compares the faults with the scenarios.
func TestEveryFaultIsTried(t *testing.T) {
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Faults]()) {
		has := func(faults Faults) bool { return !reflect.ValueOf(faults).Field(i).IsZero() }
		if !slices.ContainsFunc(safes, func(c safe) bool { return has(c.faults) }) &&
			!slices.ContainsFunc(assumptions, func(c assumption) bool { return has(c.faults) }) {
			t.Errorf("no scenario has the fault %s", f.Name)
		}
	}
}

// TestRedlockLetsWorkGoOn makes sure that Redlock does not hold because nothing can happen.
func TestRedlockLetsWorkGoOn(t *testing.T) {
	keys := func(s *State, k int8) (n int) {
		for i := range s.nodes {
			if s.nodes[i].key != nobody && s.nodes[i].key.client() == k {
				n++
			}
		}
		return n
	}
	holds := func(s *State, k int8) bool { return s.attempts[k].doing == holding }
	for _, c := range []struct {
		name   string
		setup  Setup
		faults Faults
		wanted func(s *State) bool
	}{
		{"all nodes have the hold", trio, Faults{}, func(s *State) bool { return holds(s, 0) && keys(s, 0) == 3 && s.attempts[0].left == 2 }},
		{"a late vote is told the token of a hold", trio.attempts(1), Faults{}, func(s *State) bool {
			return holds(s, 0) && s.nodes[0].taken > 0 && s.nodes[1].taken > 0 && s.nodes[2].taken > 0
		}},
		{"a node that forgot votes again, when its guard has passed", trio, Faults{Losses: 1}, func(s *State) bool {
			return s.faults[losses] == 0 && holds(s, 0) && keys(s, 0) == 3
		}},
		{"a hold lives on while a node is guarded", trio.renewals(1), Faults{Losses: 1}, func(s *State) bool {
			return holds(s, 0) && s.attempts[0].left == 2 && s.attempts[0].renewals == 0 && keys(s, 0) == 2 &&
				(s.nodes[0].guard == 2 || s.nodes[1].guard == 2 || s.nodes[2].guard == 2)
		}},
		{"a node that forgot is repaired", trio.held(3, 0).renewals(2), Faults{Losses: 1}, func(s *State) bool {
			return s.faults[losses] == 0 && holds(s, 0) && keys(s, 0) == 3
		}},
		{"a retry holds, before what is left of the first try has arrived", trio.retry(), Faults{}, func(s *State) bool {
			return holds(s, 0) && s.attempts[0].try == 2 && s.nodes[0].links[0].sent&(voteOf(1)|releaseOf(1)) == voteOf(1)|releaseOf(1)
		}},
		{"what has ended is claimed", trio.held(2, 0).claims(), Faults{}, func(s *State) bool {
			return holds(s, 0) && s.attempts[0].token == -2*perTick+1
		}},
		{"one after the other holds", trio.attempts(3), Faults{}, func(s *State) bool { return s.begin == 0 && holds(s, 0) && s.last == 3 }},
		{"another program holds while ours waits", trio.peers(1), Faults{}, func(s *State) bool { return holds(s, 1) && s.attempts[0].doing == voting }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults}
			r := m.search(limit, c.wanted)
			if r.Trace == nil {
				t.Fatalf("it never happens: %v", r)
			}
			t.Logf("after %d moves:%s", len(r.Trace), list(&m, r.Trace))
		})
	}
}
