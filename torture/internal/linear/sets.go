package linear

import (
	"encoding/binary"
	"slices"
)

// mostDoubts fit into a set; a refusal with more reasons than these is one that anything could explain.
const mostDoubts = 8

// A set of attempts, by their places in a list, rising; two bytes each, so that it can be compared.
type set string

func newSet(of []uint16) set {
	b := make([]byte, 0, 2*len(of))
	for _, n := range of {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return set(b)
}

func (s set) all() []uint16 {
	of := make([]uint16, 0, len(s)/2)
	for i := 0; i < len(s); i += 2 {
		of = append(of, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return of
}

// and is everybody of both. That one of them had the lock is less than what is known if both were told apart: it allows more.
func (s set) and(o set) set {
	if s == o || s == "" {
		return o
	}
	of := append(s.all(), o.all()...)
	slices.Sort(of)
	if of = slices.Compact(of); len(of) > mostDoubts {
		return "" // so many that it says nothing
	}
	return newSet(of)
}

// sets are some, each after its length.
type sets string

// mostSets are remembered. The oldest are forgotten first: that allows more.
const mostSets = 16

func (s sets) with(o set) sets {
	if o == "" {
		return s
	}
	s += sets([]byte{byte(len(o) / 2)}) + sets(o)
	if all := s.all(); len(all) > mostSets {
		s = s[1+len(all[0]):]
	}
	return s
}

func (s sets) all() []set {
	var all []set
	for len(s) > 0 {
		n := 1 + 2*int(s[0])
		all = append(all, set(s[1:n]))
		s = s[n:]
	}
	return all
}

// distinct reports whether one can be taken of each set, and none twice: a matching, grown by paths.
func (s sets) distinct() bool {
	all := s.all()
	taken := make(map[uint16]int) // by which set
	var take func(i int, seen map[uint16]bool) bool
	take = func(i int, seen map[uint16]bool) bool {
		for _, n := range all[i].all() {
			if seen[n] {
				continue
			}
			seen[n] = true
			if by, ok := taken[n]; !ok || take(by, seen) {
				taken[n] = i
				return true
			}
		}
		return false
	}
	for i := range all {
		if !take(i, make(map[uint16]bool)) {
			return false
		}
	}
	return true
}
