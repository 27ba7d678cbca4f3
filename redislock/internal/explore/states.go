package explore

import "hash/maphash"

// states is a set of states that keeps their order. It compares states as a whole: two with the same hash are two. Of a map with keys of
// this size the garbage collector would have to look at each; here are no pointers but those to the chunks.
type states[S comparable] struct {
	chunks [][]S
	count  int
	table  []entry // open addressing
	seed   maphash.Seed
}

// An entry has the hash of a state, so that others need not be looked at, and its index and 1; the zero entry is empty.
type entry struct{ hash, index uint32 }

const chunk = 1 << 14

func newStates[S comparable]() *states[S] {
	return &states[S]{table: make([]entry, 1<<12), seed: maphash.MakeSeed()}
}

func (x *states[S]) at(i int) *S { return &x.chunks[i/chunk][i%chunk] }

// add reports whether s is new, and takes it in.
func (x *states[S]) add(s *S) bool {
	if x.count >= len(x.table)/2 {
		x.grow()
	}
	hash := uint32(maphash.Comparable(x.seed, *s))
	place, found := x.find(hash, s)
	if found {
		return false
	}
	if x.count%chunk == 0 {
		x.chunks = append(x.chunks, make([]S, chunk))
	}
	*x.at(x.count) = *s
	x.count++
	x.table[place] = entry{hash, uint32(x.count)}
	return true
}

// find returns the place of s in the table, or the empty one where it belongs.
func (x *states[S]) find(hash uint32, s *S) (place uint32, found bool) {
	mask := uint32(len(x.table) - 1)
	for place = hash & mask; ; place = (place + 1) & mask {
		switch e := x.table[place]; {
		case e.index == 0:
			return place, false
		case e.hash == hash && *x.at(int(e.index - 1)) == *s:
			return place, true
		}
	}
}

func (x *states[S]) grow() {
	old := x.table
	x.table = make([]entry, 2*len(old))
	mask := uint32(len(x.table) - 1)
	for _, e := range old {
		if e.index == 0 {
			continue
		}
		place := e.hash & mask
		for x.table[place].index != 0 {
			place = (place + 1) & mask
		}
		x.table[place] = e
	}
}
