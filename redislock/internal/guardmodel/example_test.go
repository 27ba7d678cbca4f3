package guardmodel_test

import (
	"fmt"

	"holdfast.dev/redislock/internal/guardmodel"
)

// A server without a guard: nothing is refused after a restart.
func ExampleModel_Explore() {
	rules := guardmodel.AllRules()
	rules.NoGrant = false
	m := guardmodel.Model{
		Setup:  guardmodel.Setup{Nodes: 1, TTL: 2},
		Rules:  rules,
		Faults: guardmodel.Faults{Crashes: 1, Restarts: 1},
	}
	result := m.Explore(1_000_000)
	for _, move := range result.Trace {
		fmt.Println(move)
	}

	m.Rules = guardmodel.AllRules()
	fmt.Println("with all rules:", m.Explore(1_000_000))
	// Output:
	// X acquires at A
	// A dies
	// A starts again as a primary, empty
	// Y acquires at A
	// with all rules: 71 states, all there are, 8 moves deep: no two holders
}

// What a search has found can be tried by hand.
func ExampleModel_Replay() {
	m := guardmodel.Model{
		Setup:     guardmodel.Setup{Nodes: 2, TTL: 2},
		Rules:     guardmodel.AllRules(),
		Shortcuts: guardmodel.Shortcuts{UptimeAlone: true},
		Faults:    guardmodel.Faults{Crashes: 1, Promotions: 1},
	}
	trace := m.Explore(1_000_000).Trace
	fmt.Println(m.Replay(trace))
	m.Shortcuts.UptimeAlone = false
	fmt.Println(m.Replay(trace))
	// Output:
	// true <nil>
	// false move 4, "Y acquires at B", cannot happen there
}
