package redlock

import (
	"fmt"

	"holdfast.dev/driver"
)

var _ driver.Warner = (*Store)(nil)

// Warnings says that the number of nodes is even; see driver.Warner. It is as safe as an odd one; but a majority of four is three,
// as it is of five, and of four no more may be lost than of three: who names so many mostly means to survive more.
func (s *Store) Warnings() []string {
	var all []string
	for _, node := range s.nodes {
		if l := node.linked.Load(); l != nil && l.plain && s.form() == fullForm {
			all = append(all, fmt.Sprintf("%s has no functions, and does not vote: fewer of the others may be lost", node.name))
		}
	}
	n := len(s.nodes)
	if n == 0 || n%2 == 1 {
		return all
	}
	return append(all, fmt.Sprintf("the number of nodes is even: of %d no more may be lost than of %d, %s either way; add one, or leave one out", n, n-1, lossText(n)))
}

// lossText is how many of n nodes may be lost, in words where there is none.
func lossText(n int) string {
	if n == majority(n) {
		return "none"
	}
	return fmt.Sprint(n - majority(n))
}
