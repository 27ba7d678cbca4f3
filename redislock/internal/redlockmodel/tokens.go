package redlockmodel

import "slices"

// Tokens and clocks are numbers counted from the true time of now: a clock that is right is at 0, a token that was made from it is 1, and a
// tick later that token is at 1 − perTick. In Redis the unit is a microsecond; here it is coarse, but so that a guard has more units than
// there are tokens.
const (
	perTick = 8
	far     = 5 * perTick // by how much a clock that jumps is ahead: more than every guard
)

// floor is below every token that is compared with another: what is older is not told apart.
func (m *Model) floor() int8 { return m.least() - perTick*m.Setup.TTL }

// least and most are the clocks that are furthest behind and ahead, but for jumps.
func (m *Model) least() int8 { return min(0, slices.Min(m.Setup.Skew[:m.Setup.Nodes])) }
func (m *Model) most() int8  { return max(0, slices.Max(m.Setup.Skew[:m.Setup.Nodes])) }

// older is a token a tick later.
func (m *Model) older(token int8) int8 { return max(token-perTick, m.floor()) }

// middle is the middle of the clocks that client k knows: all of them, or, if it has just come, those of the nodes that have granted. Its own
// clock, which is right, stands for the others, and decides between two halves.
func (m *Model) middle(s *State, k int8) int8 {
	var room [maxNodes + 1]int8
	clocks := room[:0]
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		switch {
		case m.Setup.Timed || n.links[k].heard&granted != 0:
			clocks = append(clocks, n.clock)
		case m.Rules.OwnClock:
			clocks = append(clocks, 0)
		}
	}
	if len(clocks)%2 == 0 && m.Rules.OwnHalf {
		clocks = append(clocks, 0)
	}
	slices.Sort(clocks)
	return clocks[(len(clocks)-1)/2]
}

// nextToken is greater than every token that the votes for client k have told of, and than their clocks, but for those that are far from the middle.
// false: they all are.
func (m *Model) nextToken(s *State, k int8) (token int8, ok bool) {
	most, middle := s.attempts[k].most, m.middle(s, k)
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		near := max(n.clock-middle, middle-n.clock) <= m.Setup.Guard*perTick/2
		if n.links[k].heard&granted != 0 && (near || !m.Rules.Middle) {
			most, ok = max(most, n.clock), true
		}
	}
	return most + 1, ok
}
