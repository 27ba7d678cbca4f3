package redlockmodel

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// weight is how often a move is drawn, of those that can happen. Time and faults are rare, or little else would happen.
func weight(v Move) int {
	return map[kind]int{arrival: 60, passing: 15, decision: 10, mishap: 4, fault: 4}[deeds[v.deed].kind]
}

// crowded is what is too large to be looked at completely.
var crowded = []struct {
	name   string
	setup  Setup
	faults Faults
}{
	{"five nodes", five, Faults{Losses: 3, Lost: 3, Late: 2}},
	{"three nodes", trio, Faults{Losses: 3, Lost: 3, Late: 2}},
	{"five nodes, clocks that differ", five.skewed(-3, 3, 0, far, -2), Faults{Losses: 3, Lost: 2, Saves: 1, Older: 1}},
}

var walkSeed = flag.Uint64("walk.seed", 1, "of TestRandomWalks")

// TestRandomWalks follows paths drawn by lot through models that have too many states: three clients with retries, renewals, repairs and
// claims, and three losses. Another -walk.seed follows others.
func TestRandomWalks(t *testing.T) {
	seed, walks := *walkSeed, 600
	if testing.Short() || raceDetector {
		walks = 100
	}
	t.Logf("-walk.seed=%d", seed)
	for _, c := range crowded {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: wandering(c.setup), Rules: AllRules(), Faults: c.faults}
			w := walkAll(&m, seed, walks)
			t.Logf("%d steps on %d walks, %d holds began", w.steps, walks, w.holds)
			if w.trace != nil {
				t.Errorf("-walk.seed=%d:%s", seed, list(&m, w.trace))
			}
			if w.holds < walks {
				t.Errorf("only %d holds on %d walks: they show little", w.holds, walks)
			}
		})
	}
}

func wandering(s Setup) Setup {
	s.Clients, s.Attempts, s.Tries, s.Retries, s.Renewals, s.Claims = 3, 7, 2, true, 2, true
	return s
}

type walked struct {
	steps, holds int
	trace        []Move // to what is wrong
}

func walkAll(m *Model, seed uint64, walks int) walked {
	var w walked
	random := rand.New(rand.NewPCG(seed, 0))
	system := m.system(m.step)
	for range walks {
		var last int8
		r := system.Walk(random, 250, weight, func(s *State) bool {
			if s.last > last {
				w.holds++ // a token that is greater than the last; it falls as time passes
			}
			last = s.last
			return s.violated() != Nothing
		})
		w.steps += r.States
		if r.Trace != nil {
			w.trace = r.Trace
			return w
		}
	}
	return w
}

// TestRandomWalksFindWhatIsBroken: what they do not find in the rules they do find without one.
func TestRandomWalksFindWhatIsBroken(t *testing.T) {
	const seed = 1
	for _, c := range []struct {
		name string
		off  func(*Rules)
	}{
		{"without the guard", func(r *Rules) { r.Guard = false }},
		{"validity without the time that passed", func(r *Rules) { r.Elapsed = false }},
		{"half of the nodes", func(r *Rules) { r.Majority = false }},
		{"no order", func(r *Rules) { r.Order = false }},
		{"no second round", func(r *Rules) { r.SecondRound = false }},
		{"no tombstones", func(r *Rules) { r.Tombstone = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: wandering(five), Rules: AllRules(), Faults: Faults{Losses: 3, Lost: 3, Late: 2}}
			c.off(&m.Rules)
			w := walkAll(&m, seed, 5000)
			if w.trace == nil {
				t.Fatalf("nothing found in %d steps", w.steps)
			}
			wrong, err := m.Replay(w.trace)
			if wrong == Nothing || err != nil {
				t.Fatalf("the walk, made again: %v, %v", wrong, err)
			}
			t.Logf("%v after %d steps, the last %d of them on this walk", wrong, w.steps, len(w.trace))
		})
	}
}
