package generate

import (
	"time"

	"holdfast.dev/torture/internal/history"
)

// A register is a number that holders of its lock increase, and the greatest token that its fence has seen.
type register struct {
	value int64
	fence uint64
}

// access reads a register, or writes to it. It reports the number, and whether it may go on under this hold.
func (h *hold) access(op history.Op, flag history.Flag, value int64) (int64, bool) {
	r := h.base
	r.Op, r.Phase, r.Flags, r.Value = op, history.Asked, flag, value
	if op == history.Read {
		r.Value = 0
	}
	h.record(r)
	h.mail = h.mail[:0]
	asked := h.now
	reached, lost := h.trip(), h.once(400)
	if lost && h.once(2) {
		reached += h.ttl(0.2, 1.5) // it comes when nobody waits for it any more
	}
	h.after(reached, func() {
		n, k := h.lock.apply(h, op, flag, value)
		if !lost {
			h.later(h.trip(), func() { h.deliver(answer{h.attempt, k, asked, uint64(n)}) })
		}
	})
	r.Phase, r.Outcome = history.Done, history.Failed
	until := h.now.Add(100 * time.Millisecond)
	for r.Outcome == history.Failed && h.now < until {
		switch m, ok := h.await(until); {
		case !ok || m.attempt != h.attempt || m.asked != asked: // the answer to an earlier call can come after a stop
		case m.kind == isApplied:
			r.Outcome, r.Value = history.OK, int64(m.token)
		case m.kind == isStale:
			r.Outcome = history.Stale
		}
	}
	h.record(r)
	return r.Value, r.Outcome == history.OK
}

// apply is what the process of the registers does, in its own order.
func (l *lock) apply(h *hold, op history.Op, flag history.Flag, value int64) (int64, kind) {
	reg := &l.unfenced
	if flag == history.Fenced {
		reg = &l.fenced
		if h.token < reg.fence {
			return 0, isStale
		}
		reg.fence = h.token
	}
	if op == history.Write {
		reg.value = value
	}
	r := h.base
	r.Op, r.Phase, r.Outcome, r.Flags, r.Value = op, history.Applied, history.OK, flag, reg.value
	l.record(r)
	return reg.value, isApplied
}
