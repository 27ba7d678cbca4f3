package linear

import (
	"cmp"
	"slices"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// round is a history, prepared.
type round struct {
	h      *history.History
	byLock [][]*history.Attempt
	tokens bool // they are compared
	began  driver.Instant
	ended  driver.Instant
	trouble
}

func newRound(h *history.History) (*round, error) {
	attempts, err := h.Attempts()
	if err != nil {
		return nil, err
	}
	r := &round{h: h, byLock: make([][]*history.Attempt, len(h.Meta.Locks)), tokens: h.Meta.Fencing != "none"}
	r.began, r.ended = h.Records[0].At, h.Records[len(h.Records)-1].At
	for _, a := range attempts {
		r.byLock[a.Lock] = append(r.byLock[a.Lock], a)
	}
	r.trouble = newTrouble(h)
	return r, nil
}

type kind uint8

const (
	grant kind = iota + 1
	end
	refused
)

// An op is an operation of the model.
type op struct {
	kind      kind
	attempt   *history.Attempt
	call, ret driver.Instant

	after  uint64   // grant: the next smaller token of its segment
	waited bool     // refused: somebody was in front, or may have been
	doubts []uint16 // refused: otherwise, who may have had the lock, unseen
}

// A tenure is a hold as two operations.
type tenure struct {
	grant, end *op
}

// operations returns those of a lock, in the order of their calls.
func (r *round) operations(lock uint16) []*op {
	var tenures []tenure
	var refusals []*op
	for _, a := range r.byLock[lock] {
		switch a.Outcome {
		case history.Granted:
			tenures = append(tenures, tenure{
				&op{kind: grant, attempt: a, call: a.Asked, ret: a.Answered},
				&op{kind: end, attempt: a, call: max(a.Asked, mayEnd(a)), ret: r.mustEnd(a)},
			})
		case history.Held:
			if r.h.Meta.Votes {
				continue // by another who asked, and may not have got it either
			}
			refusals = append(refusals, &op{kind: refused, attempt: a, call: a.Asked, ret: a.Answered})
		}
	}
	narrowByTime(tenures)
	if r.tokens {
		narrowByToken(tenures)
	}
	r.excuse(r.byLock[lock], tenures, refusals)
	ops := refusals
	for _, t := range tenures { // and a grant is before its end
		t.grant.ret = max(min(t.grant.ret, t.end.ret), t.grant.call)
		t.end.call = min(max(t.end.call, t.grant.call), t.end.ret)
		ops = append(ops, t.grant, t.end)
	}
	slices.SortStableFunc(ops, func(a, b *op) int {
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.kind, b.kind), cmp.Compare(a.ret, b.ret))
	})
	return ops
}

// mayEnd is the first moment at which the store may have let go of a hold.
func mayEnd(a *history.Attempt) driver.Instant {
	until := driver.Instant(0)
	for _, c := range a.Claims {
		if c.To > c.From { // else it was over when it was learned, and nothing is known about how long
			until = max(until, c.To)
		}
	}
	if until == driver.Never && a.Died != 0 {
		until = a.Died
	}
	for _, t := range []driver.Instant{a.ReleaseAsked, a.LossTold} {
		if t != 0 {
			until = min(until, t)
		}
	}
	return until
}

// mustEnd is the last moment at which it may still have had it, as far as it itself knows.
func (r *round) mustEnd(a *history.Attempt) driver.Instant {
	if a.ReleaseDone != 0 && a.Released == history.OK {
		return a.ReleaseDone
	}
	return max(r.ended, mayEnd(a))
}
