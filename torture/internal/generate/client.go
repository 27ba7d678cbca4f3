package generate

import (
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A hold as its holder knows it.
type hold struct {
	*worker
	attempt *attempt
	lock    *lock
	token   uint64
	until   driver.Instant // believed
	base    history.Record
	known   bool // the worker has been told of its grant
	lost    bool
	over    bool // its release was asked for, or its worker is about to
	renewed int
}

// acquire asks for a lock in one of the ways, records what comes of it, and returns the hold if there is one.
func (w *worker) acquire(l *lock, way history.Way) *hold {
	w.attempts++
	a := &attempt{number: w.attempts, of: w.process, nowait: way == history.ByTry}
	h := &hold{worker: w, attempt: a, lock: l, base: history.Record{Attempt: a.number, Process: w.process.number, Worker: w.number, Lock: l.index}}
	a.tell = func(m answer) { h.answered(m) }
	w.mail = w.mail[:0]
	h.note(history.Acquire, history.Asked, history.None, int64(way))
	w.sleep(w.between(5*time.Microsecond, 100*time.Microsecond))
	outcome := h.wait(way)
	w.sleep(w.between(5*time.Microsecond, 100*time.Microsecond))
	if w.once(30) {
		w.sleep(w.between(0, 4*time.Millisecond)) // others come first on this machine
	}
	if outcome != history.Granted {
		h.note(history.Acquire, history.Done, outcome, 0)
		h.over = true
		a.undone = w.o.NoExpiry // nothing is on its way where nothing has a way to go
		if outcome == history.GaveUp || outcome == history.Failed {
			h.undo()
		}
		return nil
	}
	h.base.Token = h.token
	h.note(history.Acquire, history.Done, outcome, int64(h.until))
	h.known = true
	w.mail = w.mail[:0]
	return h
}

// wait sends requests until there is an answer. A request that is repeated keeps the place.
func (h *hold) wait(way history.Way) history.Outcome {
	patience, deadline := driver.Never, driver.Never
	switch way {
	case history.ByTry:
		patience = h.now.Add(h.ttl(0.3, 0.5))
	case history.ByWait:
		deadline = h.now.Add(h.between(time.Millisecond, h.o.TTL/2))
	default:
		if h.once(2) && !h.o.NoExpiry {
			patience = h.now.Add(h.ttl(0.7, 3)) // without a word from the service
		}
	}
	queued := false
	for {
		asked := h.now
		h.send(func() { h.lock.acquire(h.attempt, asked) })
		again := h.now.Add(h.ttl(0.25, 0.33))
		for h.now < again {
			m, ok := h.await(min(again, deadline, patience))
			switch {
			case !ok && h.now >= deadline:
				return history.GaveUp
			case !ok && h.now >= patience:
				return history.Failed
			case !ok || m.attempt != h.attempt:
			case m.kind == isGranted:
				return history.Granted
			case m.kind == isHeld:
				return history.Held
			case m.kind == isGuarded:
				return history.Guarded
			case m.kind == isGone:
				return history.Failed
			case m.kind == isQueued:
				if way != history.ByTry {
					patience = driver.Never
				}
				if !queued {
					queued = true
					h.note(history.Acquire, history.Queued, history.None, 0)
				}
			}
		}
	}
}

// answered is where answers of the service come in. A grant is kept alive from here on, before its worker knows of it.
func (h *hold) answered(m answer) {
	if m.kind == isGranted && h.until == 0 && !h.over {
		h.token = m.token
		h.until = h.valid(m.asked)
		h.keep()
	}
	h.deliver(m)
}

// valid is until when a holder may believe in what it was told about a request.
func (h *hold) valid(asked driver.Instant) driver.Instant {
	if h.o.NoExpiry {
		return driver.Never
	}
	return asked.Add(h.o.TTL - h.margin)
}

// undo makes sure, some time, that nothing is left of an attempt. One that was refused is not undone: if it was asked for twice, and
// the first request is late, it gets what nobody waits for, until that runs out. Undoing goes on in the background until the TTL has run out.
func (h *hold) undo() {
	done := false
	var again func()
	tries := 0
	again = func() {
		if tries++; done || tries > 5 {
			return
		}
		h.send(func() { h.lock.release(h.attempt, func(answer) { done = true }) })
		h.later(h.ttl(0.2, 0.3), again)
	}
	again()
}

// release asks for the release, and records what comes of it.
func (h *hold) release() {
	h.over = true
	h.note(history.Release, history.Asked, history.None, 0)
	h.sleep(h.between(5*time.Microsecond, 100*time.Microsecond))
	h.mail = h.mail[:0]
	h.send(func() { h.lock.release(h.attempt, h.deliver) })
	until := h.now.Add(h.ttl(0.3, 0.6))
	outcome := history.Failed
	for h.now < until && outcome == history.Failed {
		switch m, ok := h.await(until); {
		case !ok || m.attempt != h.attempt:
		case h.lost || m.kind == isGone:
			outcome = history.Lost
		case m.kind == isDone:
			outcome = history.OK
		}
	}
	h.sleep(h.between(5*time.Microsecond, 50*time.Microsecond))
	h.note(history.Release, history.Done, outcome, 0)
	if outcome == history.Failed {
		h.undo()
	}
}

// note records a moment of the hold.
func (h *hold) note(op history.Op, phase history.Phase, outcome history.Outcome, value int64) {
	r := h.base
	r.Op, r.Phase, r.Outcome, r.Value = op, phase, outcome, value
	h.record(r)
}
