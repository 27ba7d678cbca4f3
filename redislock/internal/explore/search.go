package explore

import (
	"fmt"
	"slices"
)

// A System is a model, as far as a search has to know it.
type System[S comparable, M any] struct {
	Initial S
	Moves   []M                           // everything that can happen at all; their order is that of the search
	Next    func(s *S, move M, t *S) bool // makes t the state after a move; false: it cannot happen in s, or changes nothing
}

// A Result is what a search has found.
type Result[M any] struct {
	States   int
	Depth    int  // of the longest path to a state, in moves
	Complete bool // every state that can be reached was seen
	Trace    []M  // the shortest way to a state that is wanted; nil: there is none among the states seen
}

// origin says how a state was first reached.
type origin struct {
	from int32 // the index of another; -1: this is the initial one
	by   int32 // the index of a move
}

// Search looks at every state that can be reached, the near ones first, until it finds one that is wanted or has seen limit states.
func (y System[S, M]) Search(limit int, wanted func(*S) bool) Result[M] {
	seen := newStates[S]()
	t := y.Initial
	seen.add(&t)
	origins := []origin{{from: -1}}
	if wanted(&t) {
		return Result[M]{States: 1, Trace: []M{}}
	}
	depth, deeper := 0, 1 // deeper: the index of the first state that is further away than depth
	for at := 0; at < seen.count; at++ {
		if at == deeper {
			depth, deeper = depth+1, seen.count
		}
		s := seen.at(at)
		for by, move := range y.Moves {
			if !y.Next(s, move, &t) || !seen.add(&t) {
				continue
			}
			origins = append(origins, origin{int32(at), int32(by)})
			if wanted(&t) {
				return Result[M]{States: seen.count, Depth: depth + 1, Trace: y.trace(origins)}
			}
		}
		if seen.count >= limit {
			return Result[M]{States: seen.count, Depth: depth}
		}
	}
	return Result[M]{States: seen.count, Depth: depth, Complete: true}
}

// trace returns the moves that led to the last state.
func (y System[S, M]) trace(origins []origin) []M {
	var moves []M
	for o := origins[len(origins)-1]; o.from >= 0; o = origins[o.from] {
		moves = append(moves, y.Moves[o.by])
	}
	slices.Reverse(moves)
	return moves
}

// Replay makes the moves of a trace, one by one from the beginning, and returns the last state. It fails at a move that cannot happen.
func (y System[S, M]) Replay(trace []M) (S, error) {
	s := y.Initial
	for n, move := range trace {
		var t S
		if !y.Next(&s, move, &t) {
			return s, fmt.Errorf("move %d, %q, cannot happen there", n+1, fmt.Sprint(move))
		}
		s = t
	}
	return s, nil
}
