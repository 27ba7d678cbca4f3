package check

import "holdfast.dev/torture/internal/history"

// leaders is the first half of checker 8: never two at once.
func leaders(r *round) []Violation { return r.tellOverlaps("leaders", true, "lead at the same time") }

// terms is the other half: in the order in which leaders came into office their tokens rise. That is more than checker 2 asks for: not only
// after who was granted before it asked, but after all before it.
//
// A grant that had run out before its answer was read never led, and may be read after its successor's: it does not count. One
// that had not: then its predecessor's hold was over when the store gave it away, and so was that of whoever came between them.
func terms(r *round) []Violation {
	var found []Violation
	if r.Meta.Fencing == "none" {
		return nil
	}
	for _, l := range r.locks {
		if !l.Leader {
			continue
		}
		found = append(found, r.sameTokens("leaders", l)...)
		found = append(found, r.strayTokens("leaders", l)...)
		var greatest *history.Attempt
		for _, a := range l.grants {
			if len(a.Windows()) == 0 {
				continue
			}
			if greatest != nil && a.Token != 0 && a.Token < greatest.Token {
				found = append(found, r.violation("leaders", l, a.Answered, []uint64{greatest.Number, a.Number},
					"the term of %s is smaller than that of %s, who had led before", who(a), who(greatest)))
			}
			if greatest == nil || a.Token > greatest.Token {
				greatest = a
			}
		}
	}
	return found
}
