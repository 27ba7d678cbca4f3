package linear

import (
	"cmp"
	"slices"

	"holdfast.dev/driver"
)

// narrowByTime takes from the stretches of grants and ends what no legal order has.
//
// If h was answered before g may have ended, h was granted while g had not ended. So g is not before h, and h is before g: h ended
// before g was granted, so g was granted after h may have ended, and h ended before g was answered. Only bounds that are not used
// in this are moved (calls of grants, returns of ends), so the order in which tenures are looked at does not matter; and what is
// moved too far, because the history is not legal, stays within its old stretch and remains as illegal as it was.
func narrowByTime(tenures []tenure) {
	byAnswer := slices.Clone(tenures)
	slices.SortFunc(byAnswer, func(a, b tenure) int { return cmp.Compare(a.grant.ret, b.grant.ret) })
	latest := make([]best, len(byAnswer)+1) // of the first i by answer: the latest moments at which they may have ended
	for i, t := range byAnswer {
		latest[i+1] = latest[i].with(t.grant, t.end.call)
	}
	for _, g := range tenures {
		n, _ := slices.BinarySearchFunc(byAnswer, g.end.call, func(t tenure, at driver.Instant) int { return cmp.Compare(t.grant.ret, at) })
		g.grantedAfter(latest[n].other(g.grant))
	}

	byEnd := slices.Clone(tenures)
	slices.SortFunc(byEnd, func(a, b tenure) int { return cmp.Compare(b.end.call, a.end.call) }) // the last first
	soonest := make([]best, len(byEnd)+1)                                                        // with the sign turned
	for i, t := range byEnd {
		soonest[i+1] = soonest[i].with(t.grant, -t.grant.ret)
	}
	for _, h := range tenures {
		n, _ := slices.BinarySearchFunc(byEnd, h.grant.ret, func(t tenure, at driver.Instant) int {
			if t.end.call > at {
				return -1
			}
			return 1
		})
		if at := soonest[n].other(h.grant); at != 0 {
			h.endedBefore(-at)
		}
	}
}

// narrowByToken does the same for what tokens say: the one with the smaller token was before.
func narrowByToken(tenures []tenure) {
	byToken := slices.Clone(tenures)
	slices.SortFunc(byToken, func(a, b tenure) int { return cmp.Compare(a.grant.attempt.Token, b.grant.attempt.Token) })
	after := driver.Instant(0)
	for i := 0; i < len(byToken); {
		same := sameToken(byToken[i:])
		for _, t := range same {
			t.grantedAfter(after)
		}
		for _, t := range same {
			after = max(after, t.end.call)
		}
		i += len(same)
	}
	slices.Reverse(byToken)
	before := driver.Never
	for i := 0; i < len(byToken); {
		same := sameToken(byToken[i:])
		for _, t := range same {
			t.endedBefore(before)
		}
		for _, t := range same {
			before = min(before, t.grant.ret)
		}
		i += len(same)
	}
}

// sameToken returns the first ones, which have one token: more than one of them is illegal, and says nothing about their order.
func sameToken(tenures []tenure) []tenure {
	n := 1
	for n < len(tenures) && tenures[n].grant.attempt.Token == tenures[0].grant.attempt.Token {
		n++
	}
	return tenures[:n]
}

func (t tenure) grantedAfter(at driver.Instant) {
	t.grant.call = min(max(t.grant.call, at), t.grant.ret)
}
func (t tenure) endedBefore(at driver.Instant) { t.end.ret = max(min(t.end.ret, at), t.end.call) }

// best remembers the greatest value, and the greatest of any other than that one: nobody is narrowed by itself.
type best struct {
	of            *op
	value, second driver.Instant
}

func (b best) with(of *op, value driver.Instant) best {
	switch {
	case b.of == nil || value > b.value:
		return best{of, value, b.value}
	case b.second == 0 || value > b.second:
		b.second = value
	}
	return b
}

// other is the greatest value that is not of this one; 0 if there is none.
func (b best) other(than *op) driver.Instant {
	if b.of == than {
		return b.second
	}
	return b.value
}
