package guardmodel

import (
	"fmt"

	"holdfast.dev/redislock/internal/explore"
)

// A Result is what a search has found: its Trace is the shortest way to two holders.
type Result struct{ explore.Result[Move] }

func (r Result) String() string {
	switch {
	case r.Trace != nil:
		return fmt.Sprintf("two holders after %d moves (%d states seen)", len(r.Trace), r.States)
	case r.Complete:
		return fmt.Sprintf("%d states, all there are, %d moves deep: no two holders", r.States, r.Depth)
	default:
		return fmt.Sprintf("cut after %d states, %d moves deep: no two holders so far", r.States, r.Depth)
	}
}

// Explore looks at every state that can be reached, the near ones first, until it finds two holders or has seen limit states.
func (m *Model) Explore(limit int) Result {
	return m.search(limit, (*State).violated)
}

// search is Explore for whatever is wanted.
func (m *Model) search(limit int, wanted func(*State) bool) Result {
	return Result{m.system().Search(limit, wanted)}
}

func (m *Model) system() explore.System[State, Move] {
	return explore.System[State, Move]{Initial: m.Initial(), Moves: m.moves(), Next: m.next}
}

// Replay makes the moves of a trace, one by one from the beginning, and reports whether they end with two holders. It fails at a move that
// cannot happen.
func (m *Model) Replay(trace []Move) (twoHolders bool, err error) {
	s, err := m.system().Replay(trace)
	return err == nil && s.violated(), err
}
