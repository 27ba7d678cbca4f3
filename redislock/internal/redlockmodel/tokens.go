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

// isNear reports whether a clock is off by half of the guard at most from the middle of the clocks of some nodes. Between two halves the
// client's own clock decides, which is right.
func (m *Model) isNear(s *State, clock int8, some func(*node) bool) bool {
	var room [maxNodes + 1]int8
	clocks := room[:0]
	for i := range m.Setup.Nodes {
		if some(&s.nodes[i]) {
			clocks = append(clocks, s.nodes[i].clock)
		}
	}
	if len(clocks)%2 == 0 && m.Rules.OfAll {
		clocks = append(clocks, 0)
	}
	slices.Sort(clocks)
	middle := clocks[(len(clocks)-1)/2]
	return max(clock-middle, middle-clock) <= m.Setup.Guard*perTick/2
}

func all(*node) bool { return true }

// hears takes in what node i says of tokens and time with its vote for client k.
func (m *Model) hears(s *State, i int, k int8) {
	a, n := &s.attempts[k], &s.nodes[i]
	a.most = max(a.most, n.taken)
	if !m.Rules.Middle || m.Rules.OfAll && m.isNear(s, n.clock, all) {
		a.most = max(a.most, n.clock)
	}
}

// nextToken is greater than every token and every clock that the votes for client k have told of. What is the middle of those that have
// granted is known only now.
func (m *Model) nextToken(s *State, k int8) int8 {
	most := s.attempts[k].most
	if m.Rules.Middle && !m.Rules.OfAll {
		hasGranted := func(n *node) bool { return n.links[k].heard&granted != 0 }
		for i := range m.Setup.Nodes {
			if n := &s.nodes[i]; hasGranted(n) && m.isNear(s, n.clock, hasGranted) {
				most = max(most, n.clock)
			}
		}
	}
	return most + 1
}
