package guardmodel

import (
	"fmt"
	"slices"
)

// A Result is what a search has found.
type Result struct {
	States   int
	Depth    int    // of the longest path to a state, in moves
	Complete bool   // every state that can be reached was seen
	Trace    []Move // the shortest way to two holders; nil: there is none among the states seen
}

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

// origin says how a state was first reached.
type origin struct {
	from int // the index of another; -1: this is the initial one
	by   Move
}

// Explore looks at every state that can be reached, the near ones first, until it finds two holders or has seen limit states.
func (m *Model) Explore(limit int) Result {
	return m.search(limit, (*State).violated)
}

// search is Explore for whatever is wanted.
func (m *Model) search(limit int, wanted func(*State) bool) Result {
	seen := newStates()
	t := m.Initial()
	seen.add(&t)
	origins := []origin{{from: -1}}
	moves := m.moves()
	depth, deeper := 0, 1 // deeper: the index of the first state that is further away than depth
	for at := 0; at < seen.count; at++ {
		if at == deeper {
			depth, deeper = depth+1, seen.count
		}
		s := seen.at(at)
		for _, v := range moves {
			if !m.next(s, v, &t) || !seen.add(&t) {
				continue
			}
			origins = append(origins, origin{at, v})
			if wanted(&t) {
				return Result{States: seen.count, Depth: depth + 1, Trace: trace(origins)}
			}
		}
		if seen.count >= limit {
			return Result{States: seen.count, Depth: depth}
		}
	}
	return Result{States: seen.count, Depth: depth, Complete: true}
}

// trace returns the moves that led to the last state.
func trace(origins []origin) []Move {
	var moves []Move
	for o := origins[len(origins)-1]; o.from >= 0; o = origins[o.from] {
		moves = append(moves, o.by)
	}
	slices.Reverse(moves)
	return moves
}

// Replay makes the moves of a trace, one by one from the beginning, and reports whether they end with two holders. It fails at a move that
// cannot happen.
func (m *Model) Replay(trace []Move) (twoHolders bool, err error) {
	s := m.Initial()
	for n, v := range trace {
		var t State
		if !m.next(&s, v, &t) {
			return false, fmt.Errorf("move %d, %q, cannot happen there", n+1, v)
		}
		s = t
	}
	return s.violated(), nil
}
