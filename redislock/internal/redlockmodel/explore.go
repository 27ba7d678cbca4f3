package redlockmodel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/redislock/internal/explore"
)

// A Result is what a search has found: its Trace is the shortest way to what must never be.
type Result struct {
	explore.Result[Move]
	Wrong Wrong
}

func (r Result) String() string {
	switch {
	case r.Trace != nil:
		return fmt.Sprintf("%v after %d moves (%d states seen)", r.Wrong, len(r.Trace), r.States)
	case r.Complete:
		return fmt.Sprintf("%d states, all there are, %d moves deep: nothing is wrong", r.States, r.Depth)
	default:
		return fmt.Sprintf("cut after %d states, %d moves deep: nothing is wrong so far", r.States, r.Depth)
	}
}

// Explore looks at every state that can be reached, the near ones first, until it finds what must never be or has seen limit states.
func (m *Model) Explore(limit int) Result {
	return m.search(limit, func(s *State) bool { return s.violated() != Nothing })
}

// search is Explore for whatever is wanted.
func (m *Model) search(limit int, wanted func(*State) bool) Result {
	r := Result{Result: m.system(m.next).Search(limit, wanted)}
	if r.Trace != nil {
		r.Trace, r.Wrong = m.named(r.Trace)
	}
	return r
}

// Replay makes the moves of a trace, one by one from the beginning, and says what is wrong at the end. It fails at a move that cannot
// happen. Unlike the search it keeps nodes in their order.
func (m *Model) Replay(trace []Move) (Wrong, error) {
	s, err := m.system(m.step).Replay(trace)
	return s.violated(), err
}

func (m *Model) system(next func(*State, Move, *State) bool) explore.System[State, Move] {
	return explore.System[State, Move]{Initial: m.Initial(), Moves: m.moves(), Next: next}
}

// next is step for a search: nodes are alike, so of states that differ by the order of nodes one is enough.
func (m *Model) next(s *State, v Move, t *State) bool {
	if !m.step(s, v, t) {
		return false
	}
	nodes := t.nodes[:m.Setup.Nodes]
	for i := 1; i < len(nodes); i++ {
		for j := i; j > 0 && compareNodes(&nodes[j], &nodes[j-1]) < 0; j-- {
			nodes[j], nodes[j-1] = nodes[j-1], nodes[j]
		}
	}
	return true
}

// named gives the nodes of a trace that next has found their names back.
func (m *Model) named(trace []Move) ([]Move, Wrong) {
	s := m.Initial()
	names := []int8{0, 1, 2, 3, 4}[:m.Setup.Nodes]
	var moves []Move
	for _, v := range trace {
		var t State
		m.step(&s, v, &t)
		if strings.Contains(deeds[v.deed].about, "n") {
			v.node = names[v.node]
		}
		moves = append(moves, v)
		order := make([]int, m.Setup.Nodes)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return compareNodes(&t.nodes[a], &t.nodes[b]) })
		unsorted, before := t.nodes, slices.Clone(names)
		for i, from := range order {
			t.nodes[i], names[i] = unsorted[from], before[from]
		}
		s = t
	}
	return moves, s.violated()
}

func compareNodes(a, b *node) int {
	if c := cmp.Or(compareRecords(&a.record, &b.record), cmp.Compare(a.guard, b.guard), cmp.Compare(a.clock, b.clock)); c != 0 {
		return c
	}
	for k := range a.links {
		if c := compareLinks(&a.links[k], &b.links[k]); c != 0 {
			return c
		}
	}
	return compareRecords(&a.saved, &b.saved)
}

func compareRecords(a, b *record) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.left, b.left), compareBools(a.part, b.part),
		cmp.Compare(a.taken, b.taken))
}

func compareLinks(a, b *link) int {
	return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.heard, b.heard), cmp.Compare(a.dead, b.dead),
		cmp.Compare(a.undone, b.undone), cmp.Compare(a.doubt, b.doubt))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
