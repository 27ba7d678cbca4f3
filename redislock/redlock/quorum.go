package redlock

import (
	"slices"
	"time"
)

// This file is arithmetic alone: what follows from how many nodes have said what. It knows no network, no clock and no Redis, so that all of
// it can be tested for every case that there is.

// majority is the least number of n nodes of which any two sets have a node in common.
func majority(n int) int { return n/2 + 1 }

// A tally counts what the nodes have said to one question.
type tally struct {
	n   int // nodes
	yes int // that have said yes
	no  int // that have said no, or will say nothing any more
}

// won: a majority has said yes, whatever the others say.
func (t tally) won() bool { return t.yes >= majority(t.n) }

// lost: a majority cannot say yes any more, whatever the others say.
func (t tally) lost() bool { return t.n-t.no < majority(t.n) }

// drift is how much of a TTL is given away because the nodes' clocks and ours do not run alike.
func drift(ttl time.Duration) time.Duration { return ttl/100 + drift0 }

const drift0 = 2 * time.Millisecond // of the least TTL: the precision of their expiry

// validity is how long a hold may be believed in, from now on, if its first request went out so long ago. A hold that is worth less than a tenth
// of its TTL is none: false.
func validity(ttl, elapsed time.Duration) (time.Duration, bool) {
	left := ttl - elapsed - drift(ttl)
	return left, left >= ttl/10
}

// nodeTimeout is how long one node has to answer: so little that one that is gone costs next to nothing of the TTL, and enough for a network.
func nodeTimeout(ttl time.Duration) time.Duration {
	return min(max(ttl/200, 5*time.Millisecond), 50*time.Millisecond)
}

// freeIn is when a majority can be free at the earliest, by how long each of the nodes that answered is still taken (0: it is free). never: not at
// all, unless somebody releases it; nodes that did not answer count as free.
func freeIn(n int, taken []time.Duration, never time.Duration) time.Duration {
	taken = slices.Sorted(slices.Values(taken))
	needed := majority(n) - (n - len(taken)) // of those that answered
	if needed <= 0 {
		return 0
	}
	return min(taken[needed-1], never)
}

// A vote is what a node said of tokens and time when it granted.
type vote struct {
	taken uint64 // the greatest token that it has accepted
	clock uint64 // its time, in microseconds; 0: it is not to be used
}

// nextToken is greater than every token that a node of the majority has accepted, and than its clock: a node that has forgotten what it accepted has
// been silent for a guard since, and its clock has passed it meanwhile.
func nextToken(votes []vote) uint64 {
	var most uint64
	for _, v := range votes {
		most = max(most, v.taken, v.clock)
	}
	return most + 1
}

// strayed reports for each clock, as its distance from ours, whether it is off by more than allowed from the middle of them all. Ours decides
// between two halves: it is added where the number is even.
func strayed(offsets []time.Duration, allowed time.Duration) []bool {
	sorted := slices.Sorted(slices.Values(offsets))
	if len(sorted)%2 == 0 {
		sorted = append(sorted, 0)
		slices.Sort(sorted)
	}
	middle := sorted[len(sorted)/2]
	stray := make([]bool, len(offsets))
	for i, o := range offsets {
		stray[i] = max(o-middle, middle-o) > allowed
	}
	return stray
}
