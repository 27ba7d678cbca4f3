package explore

import (
	"math/rand/v2"
	"slices"
)

// Walk follows one path from the initial state, for so many steps, or until a state is wanted: Trace is then the whole path. States is how
// many steps were made. Of what can happen, each move is drawn as often as its weight says; weight 0: never.
func (y System[S, M]) Walk(random *rand.Rand, steps int, weight func(M) int, wanted func(*S) bool) Result[M] {
	until := make([]int, len(y.Moves)) // the sum of the weights up to each move
	total := 0
	for i, move := range y.Moves {
		total += weight(move)
		until[i] = total
	}
	s := y.Initial
	var path []M
	for range steps {
		by, t, ok := y.draw(random, &s, until)
		if !ok {
			break
		}
		s = t
		path = append(path, y.Moves[by])
		if wanted(&s) {
			return Result[M]{States: len(path), Depth: len(path), Trace: path}
		}
	}
	return Result[M]{States: len(path), Depth: len(path)}
}

// draw makes one move that can happen. It draws blindly, and again if it was in vain: of many moves few can happen, and to try them all is
// dear. After many misses there is probably nothing left to do, and the walk ends.
func (y System[S, M]) draw(random *rand.Rand, s *S, until []int) (by int, t S, ok bool) {
	total := until[len(until)-1]
	for range 20 * len(until) {
		lot := random.IntN(total)
		by, _ = slices.BinarySearch(until, lot+1)
		if y.Next(s, y.Moves[by], &t) {
			return by, t, true
		}
	}
	return 0, t, false
}
