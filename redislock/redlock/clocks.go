package redlock

import (
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// heard notes what an answer tells of the node: its clock, and which process it is. It returns the answer, as one that does not count if another node is
// the same server.
func (s *Store) heard(n *node, a answer) answer {
	if a.clock != 0 {
		n.offset.Store(int64(a.clock) - time.Now().UnixMicro())
		n.timed.Store(true)
	}
	if known := n.run.Load(); a.run != "" && (known == nil || *known != a.run) {
		run := a.run // alone: the whole answer would be kept with it
		n.run.Store(&run)
	}
	if !s.isTwin(n, a.run) {
		return a
	}
	if a.word != done {
		return answer{err: errSameServer}
	}
	a.err = errSameServer // what it has granted must be released
	return a
}

// commonTime is the time by the middle of the nodes' clocks, in microseconds: about the same for all clients, whatever their own clocks say. A clock that is
// not known yet counts as ours.
func (s *Store) commonTime() int64 {
	offsets := make([]int64, 0, len(s.nodes))
	for _, n := range s.nodes {
		offsets = append(offsets, n.offset.Load())
	}
	slices.Sort(offsets)
	return time.Now().UnixMicro() + offsets[len(offsets)/2]
}

// strays are the nodes whose clock is off by more than half of the guard from the middle of all, by how much it differs from ours. A clock that is not
// known yet counts as ours: else those of a minority that is off could be the middle of the few that have been heard.
func (s *Store) strays() map[*node]time.Duration {
	offsets := make([]time.Duration, len(s.nodes))
	for i, n := range s.nodes {
		if n.timed.Load() {
			offsets[i] = time.Duration(n.offset.Load()) * time.Microsecond
		}
	}
	var strays map[*node]time.Duration
	for i, stray := range strayed(offsets, s.guard()/2) {
		if n := s.nodes[i]; stray && n.timed.Load() {
			if strays == nil {
				strays = make(map[*node]time.Duration)
			}
			strays[n] = offsets[i]
		}
	}
	return strays
}

// guard is that of the nodes, as far as they were opened; the default with guard=0, for which nothing is promised.
func (s *Store) guard() time.Duration {
	for _, n := range s.nodes {
		if l := n.linked.Load(); l != nil && !l.plain {
			if st := l.guard.State(); st != nil && st.Guard > 0 {
				return st.Guard
			}
		}
	}
	return guard.DefaultGuard
}

// tokenFor is the token of a try that has a majority of votes. The try's mutex is held.
func (s *Store) tokenFor(t *try) (uint64, error) {
	strays := s.strays()
	var votes []vote
	clocks := 0
	for i := range t.seats {
		seat := &t.seats[i]
		if !seat.counts() {
			continue
		}
		v := seat.vote.vote
		if _, stray := strays[seat.node]; stray {
			v.clock = 0
		} else {
			clocks++
		}
		votes = append(votes, v)
	}
	if clocks == 0 {
		return 0, &driver.Refused{Err: ErrClocks}
	}
	return nextToken(votes), nil
}
