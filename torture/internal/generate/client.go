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
	h := &hold{worker: w, lock: l, base: history.Record{Attempt: w.attempts, Process: w.process.number, Worker: w.number, Lock: l.index}}
	h.begin(way)
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
		h.attempt.undone = w.o.NoExpiry // nothing is on its way where nothing has a way to go
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

// begin makes an attempt that the service does not know.
func (h *hold) begin(way history.Way) {
	h.attempt = &attempt{number: h.base.Attempt, of: h.process, nowait: way == history.ByTry}
	h.attempt.tell = h.answered
}

// wait sends requests until there is an answer. A request that is repeated keeps the place. Only a try has its patience, and ends with an
// error: whoever waits asks again for as long as it takes, as one that the service does not know, if it has dropped him.
func (h *hold) wait(way history.Way) history.Outcome {
	patience, deadline := driver.Never, driver.Never
	switch way {
	case history.ByTry:
		patience = h.now.Add(h.ttl(0.3, 0.5))
	case history.ByWait:
		deadline = h.now.Add(h.between(time.Millisecond, h.o.TTL/2))
	}
	queued := false
	for {
		a, asked := h.attempt, h.now
		h.send(func() { h.lock.acquire(a, asked) })
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
			case m.kind == isGone && way == history.ByTry:
				return history.Failed
			case m.kind == isGone && h.until == 0: // else its grant is behind it in the mail, too late to be of use
				h.attempt.undone = h.o.NoExpiry
				h.undo()
				h.begin(way)
				again = h.now
			case m.kind == isQueued && !queued:
				queued = true
				h.note(history.Acquire, history.Queued, history.None, 0)
			}
		}
	}
}

// answered is where answers of the service come in. A grant is kept alive from here on, before its worker knows of it.
func (h *hold) answered(m answer) {
	if m.kind == isGranted && m.attempt == h.attempt && h.until == 0 && !h.over {
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
	tries, a := 0, h.attempt
	again = func() {
		if tries++; done || tries > 5 {
			return
		}
		h.send(func() { h.lock.release(a, func(answer) { done = true }) })
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
