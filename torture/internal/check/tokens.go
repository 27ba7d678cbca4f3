package check

import (
	"fmt"

	"holdfast.dev/torture/internal/history"
)

// tokens is checker 2. Elections are checked by leaders, which asks for more.
func tokens(r *round) []Violation {
	var found []Violation
	if r.Meta.Fencing == "none" {
		return nil
	}
	for _, l := range r.locks {
		if !l.Leader {
			found = append(found, r.sameTokens("tokens", l)...)
			found = append(found, r.fallingTokens(l)...)
			found = append(found, r.strayTokens("tokens", l)...)
		}
	}
	return found
}

// sameTokens finds tokens that two holds have, and those that are none.
func (r *round) sameTokens(checker string, l *lock) []Violation {
	var found []Violation
	first := make(map[uint64]*history.Attempt, len(l.grants))
	for _, a := range l.grants {
		switch before := first[a.Token]; {
		case a.Token == 0:
			found = append(found, r.violation(checker, l, a.Answered, []uint64{a.Number}, "%s has no token", who(a)))
		case before != nil:
			found = append(found, r.violation(checker, l, a.Answered, []uint64{before.Number, a.Number},
				"%s got the token of %s, which was granted %s before", who(a), who(before), ms(a.Answered.Sub(before.Answered))))
		default:
			first[a.Token] = a
		}
	}
	return found
}

// fallingTokens finds holds that were asked for after another had been granted, and have a smaller token. At the same moment is not after.
func (r *round) fallingTokens(l *lock) []Violation {
	var found []Violation
	var greatest *history.Attempt // of those that were granted before
	next := 0
	for _, a := range l.attempts {
		for ; next < len(l.grants) && l.grants[next].Answered < a.Asked; next++ {
			if g := l.grants[next]; greatest == nil || g.Token > greatest.Token {
				greatest = g
			}
		}
		if a.Granted() && a.Token != 0 && greatest != nil && a.Token < greatest.Token {
			found = append(found, r.violation("tokens", l, a.Answered, []uint64{greatest.Number, a.Number},
				"%s asked %s after %s had been granted, and got a smaller token", who(a), ms(a.Asked.Sub(greatest.Answered)), who(greatest)))
		}
	}
	return found
}

// A tokenOf is a token in a process.
type tokenOf struct {
	process uint32
	token   uint64
}

// strayTokens finds renewals with a token that no hold of their process has: tokens are constant over renewals. An attempt whose
// answer was not recorded, or not yet, may have been granted with any.
func (r *round) strayTokens(checker string, l *lock) []Violation {
	var found []Violation
	known := make(map[tokenOf]bool, len(l.grants))
	for _, a := range l.grants {
		known[tokenOf{a.Process, a.Token}] = true
	}
	for _, n := range l.renewals {
		key := tokenOf{n.Process, n.Token}
		if known[key] || l.perhapsGranted(n) {
			continue
		}
		known[key] = true // once is enough
		found = append(found, r.violation(checker, l, n.At, nil, "process %d renewed a hold with token %d, which it was never granted%s",
			n.Process, n.Token, l.tokensOf(n)))
	}
	return found
}

// perhapsGranted reports whether the process of a renewal had an attempt at that time that may have been granted.
func (l *lock) perhapsGranted(n history.Record) bool {
	for _, a := range l.attempts {
		if a.Asked > n.At {
			break
		}
		if a.Process == n.Process && !a.Granted() && (a.Answered == 0 || a.Answered >= n.At) {
			return true
		}
	}
	return false
}

// tokensOf says what the process of a renewal held.
func (l *lock) tokensOf(n history.Record) string {
	for _, a := range l.holders(n.At) {
		if a.Process == n.Process {
			return fmt.Sprintf("; it held the lock with token %d", a.Token)
		}
	}
	return ""
}
