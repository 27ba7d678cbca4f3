package guardmodel

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// TestGuardHolds looks at every state of every deployment that the guard is for: nowhere are there two holders. How many states there are
// stands in docs/safety.md, in rows that the test compares.
func TestGuardHolds(t *testing.T) {
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
				t.Errorf("two holders:%s", list(r.Trace))
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

func list(trace []Move) string {
	text := ""
	for _, v := range trace {
		text += "\n\t" + v.String()
	}
	return text
}

// TestEveryFaultIsTried compares the faults with the scenarios.
func TestEveryFaultIsTried(t *testing.T) {
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Faults]()) {
		tried := false
		for _, c := range safes {
			tried = tried || !reflect.ValueOf(c.faults).Field(i).IsZero()
		}
		for _, c := range assumptions {
			tried = tried || !reflect.ValueOf(c.faults).Field(i).IsZero()
		}
		if !tried {
			t.Errorf("no scenario has the fault %s", f.Name)
		}
	}
}

// TestGuardLetsWorkGoOn makes sure that the guard does not hold because nothing can happen.
func TestGuardLetsWorkGoOn(t *testing.T) {
	holds := func(s *State, i int) bool {
		k := s.nodes[i].data.owner - 1
		return s.serves(i) && k >= 0 && k < slots && s.clients[k].doing == holding
	}
	for _, c := range []struct {
		name   string
		setup  Setup
		faults Faults
		wanted func(m *Model, s *State) bool
	}{
		{"a restarted server grants, when its guard has passed", single, restart, func(_ *Model, s *State) bool {
			return s.faults[restarts] == 0 && s.nodes[0].memory.known == own && s.nodes[0].memory.left == 0 && holds(s, 0)
		}},
		{"a promoted node grants, when its guard has passed", trio, split, func(_ *Model, s *State) bool {
			return s.newest == 1 && s.nodes[1].memory.known == own && s.nodes[1].memory.left == 0 && holds(s, 1)
		}},
		{"a promoted node renews what it knows, while it is guarded", trio, split, func(m *Model, s *State) bool {
			return s.newest == 1 && m.phaseOf(&s.nodes[1]) == guarded && holds(s, 1) && s.nodes[1].data.left == m.Setup.TTL &&
				s.nodes[0].data.left < m.Setup.TTL
		}},
		{"an old primary, apart from the newest, still grants for a while", trio, split, func(_ *Model, s *State) bool {
			return s.newest == 1 && s.nodes[1].memory.heard != asleep && s.nodes[1].data.owner == 0 && holds(s, 0)
		}},
		{"a push is claimed", single.waiters(), Faults{}, func(m *Model, s *State) bool {
			return holds(s, 0) && s.clients[0].doing == idle && s.nodes[0].data.left == m.Setup.TTL
		}},
		{"FUNCTION FLUSH costs nothing: the data's marker is trusted", single, Faults{Flushes: 1}, func(_ *Model, s *State) bool {
			return s.faults[flushes] == 0 && s.nodes[0].memory.known == own && s.nodes[0].memory.left == 0
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults}
			r := m.search(limit, func(s *State) bool { return c.wanted(&m, s) })
			if r.Trace == nil {
				t.Fatalf("it never happens: %v", r)
			}
			t.Logf("after %d moves:%s", len(r.Trace), list(r.Trace))
		})
	}
}
