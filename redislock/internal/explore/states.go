package explore

import "hash/maphash"

// states is a set of states that keeps their order. It compares states as a whole: two with the same hash are two. Of a map with keys of
// this size the garbage collector would have to look at each; here are no pointers but those to the chunks.
type states[S comparable] struct {
	chunks [][]S
	count  int
	table  []uint32 // open addressing: the index of a state and 1; 0: empty
	seed   maphash.Seed
}

const chunk = 1 << 14

func newStates[S comparable]() *states[S] {
	return &states[S]{table: make([]uint32, 1<<12), seed: maphash.MakeSeed()}
}

func (x *states[S]) at(i int) *S { return &x.chunks[i/chunk][i%chunk] }

// add reports whether s is new, and takes it in.
func (x *states[S]) add(s *S) bool {
	if x.count >= len(x.table)/2 {
		x.grow()
	}
	place, found := x.find(s)
	if found {
		return false
	}
	if x.count%chunk == 0 {
		x.chunks = append(x.chunks, make([]S, chunk))
	}
	*x.at(x.count) = *s
	x.count++
	x.table[place] = uint32(x.count)
	return true
}

// find returns the place of s in the table, or the empty one where it belongs.
func (x *states[S]) find(s *S) (place uint64, found bool) {
	mask := uint64(len(x.table) - 1)
	for place = maphash.Comparable(x.seed, *s) & mask; ; place = (place + 1) & mask {
		i := x.table[place]
		if i == 0 {
			return place, false
		}
		if *x.at(int(i - 1)) == *s {
			return place, true
		}
	}
}

func (x *states[S]) grow() {
	x.table = make([]uint32, 2*len(x.table))
	for i := range x.count {
		place, _ := x.find(x.at(i))
		x.table[place] = uint32(i + 1)
	}
}
