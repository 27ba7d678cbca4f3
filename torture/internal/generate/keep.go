package generate

import (
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// keep renews a hold, and tells its holder when it is lost. Both go on beside the worker, in its process.
func (h *hold) keep() {
	if h.o.NoExpiry {
		h.look()
		return
	}
	h.watch()
	first := h.interval()
	if h.once(50) {
		first = 0 // a grant by a push that is confirmed at once: its renewal can be known before it is
	}
	h.later(first, h.renew)
}

func (h *hold) interval() time.Duration { return h.ttl(0.26, 0.32) }

func (h *hold) renew() {
	if h.over || h.lost {
		return
	}
	if h.now >= h.until {
		h.lose(history.Expired)
		return
	}
	asked := h.now
	h.send(func() { h.lock.renew(h.attempt, asked, h.renewal) })
	h.later(h.interval(), h.renew)
}

// renewal is the answer. One that comes while the hold is being released is recorded or not; nobody needs it.
func (h *hold) renewal(m answer) {
	switch {
	case h.lost || h.over && h.once(2):
	case m.kind == isGone:
		if !h.over {
			h.lose(history.Taken)
		}
	case h.now >= h.until:
		if !h.over {
			h.lose(history.Expired)
		}
	default:
		h.until = max(h.until, h.valid(m.asked))
		h.renewed++
		h.record(history.Record{Op: history.Hold, Phase: history.Renewed, Process: h.base.Process, Lock: h.base.Lock,
			Token: h.token, Value: int64(h.until)})
	}
}

// watch looks at the time.
func (h *hold) watch() {
	h.later(max(0, h.until.Sub(h.now)), func() {
		switch {
		case h.over || h.lost:
		case h.now >= h.until:
			h.lose(history.Expired)
		default:
			h.watch()
		}
	})
}

// lose tells the holder, as soon as it knows that it was one.
func (h *hold) lose(why history.Outcome) {
	h.lost = true
	var tell func()
	tell = func() {
		switch {
		case h.over: // nobody asks any more
		case !h.known:
			h.later(100*time.Microsecond, tell)
		default:
			h.note(history.Hold, history.LossTold, why, 0)
		}
	}
	h.later(h.between(0, 200*time.Microsecond), tell)
}

// look asks, where nothing runs out, whether the hold is still there.
func (h *hold) look() {
	h.later(h.interval(), func() {
		switch {
		case h.over || h.lost:
		case h.lock.holder != h.attempt:
			h.lose(history.Taken)
		default:
			h.look()
		}
	})
}

// claim is a look of the holder itself. It reports whether it may go on.
func (h *hold) claim() bool {
	if h.lost || h.now >= h.until {
		return false
	}
	h.note(history.Hold, history.Claimed, history.None, int64(h.until))
	return true
}

// held reports whether the worker has not been told of a loss: all that one knows who does not look at the time.
func (h *hold) held() bool { return !h.lost }

// through lets time pass while holding, until then or until it is lost.
func (h *hold) through(until driver.Instant) {
	for h.now < until && h.held() {
		h.sleep(min(until.Sub(h.now), h.between(5*time.Millisecond, 60*time.Millisecond)))
	}
}
