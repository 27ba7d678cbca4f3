package generate

import (
	"time"

	"holdfast.dev/torture/internal/history"
)

// step does one thing, as the workers of a torture run do.
func (w *worker) step() {
	l := w.locks[0]
	if w.random.IntN(100) >= 30 {
		l = w.locks[1+w.random.IntN(8)]
	}
	switch n := w.random.IntN(1000); {
	case n < 600:
		w.use(l, history.ByLock, 0)
	case n < 750:
		w.use(l, history.ByTry, 0)
	case n < 800:
		w.use(l, history.ByLock, w.ttl(0.4, 1.2))
	case n < 870:
		w.use(l, history.ByWait, 0)
	case n < 900:
		w.use(w.locks[9], history.ByLeader, w.ttl(0, 0.3))
	case n < 910:
		w.use(w.locks[9], history.ByLeader, w.ttl(0, 2))
	case n < 920:
		w.lastOf(l)
	default:
		w.inspect(l)
	}
}

// use takes a lock, increases both numbers, keeps it for a while, and lets go.
func (w *worker) use(l *lock, way history.Way, keep time.Duration) {
	h := w.acquire(l, way)
	if h == nil {
		return
	}
	if keep > 0 {
		h.through(h.now.Add(keep))
	}
	h.increase()
	if w.once(300) && w.drainAt == 0 {
		h.over = true
		h.note(history.Release, history.Asked, history.None, 0)
		h.send(func() { l.release(h.attempt, func(answer) {}) })
		w.die() // and nobody knows what became of the release
	}
	h.release()
}

// increase reads both numbers and writes them back, one greater, if the hold is good as far as the worker knows.
func (h *hold) increase() {
	if h.once(3) && !h.claim() {
		return
	}
	free, ok1 := h.access(history.Read, 0, 0)
	fenced, ok2 := int64(0), false
	if !h.o.Unfenced {
		fenced, ok2 = h.access(history.Read, history.Fenced, 0)
	}
	h.sleep(h.between(0, 2*time.Millisecond))
	if ok1 && h.held() {
		_, ok := h.access(history.Write, 0, free+1)
		ok2 = ok2 && ok
	}
	if ok2 && h.held() {
		h.access(history.Write, history.Fenced, fenced+1)
	}
}

// lastOf takes a lock and dies.
func (w *worker) lastOf(l *lock) {
	h := w.acquire(l, history.ByLock)
	if h == nil || w.drainAt != 0 {
		if h != nil {
			h.release()
		}
		return
	}
	h.access(history.Read, 0, 0)
	w.die()
}

// inspect asks who has a lock.
func (w *worker) inspect(l *lock) {
	r := history.Record{Op: history.Inspect, Phase: history.Asked, Process: w.process.number, Worker: w.number, Lock: l.index}
	w.record(r)
	w.mail = w.mail[:0]
	question := new(attempt)
	w.send(func() {
		m := answer{question, isDone, 0, 0}
		if l.holder != nil {
			m.token = l.holder.token
		}
		w.answer(func() { w.deliver(m) })
	})
	r.Phase, r.Outcome = history.Done, history.Failed
	for until := w.now.Add(w.o.TTL); w.now < until && r.Outcome == history.Failed; {
		if m, ok := w.await(until); ok && m.attempt == question {
			r.Outcome, r.Token = history.OK, m.token
		}
	}
	w.record(r)
}

// inside returns a process of which a worker holds something, if there is one.
func (s *sim) inside() *process {
	for _, i := range s.random.Perm(len(s.locks)) {
		if a := s.locks[i].holder; a != nil && !a.of.dead && !a.of.stopped && a.until > s.now {
			return a.of
		}
	}
	return nil
}

// anyone returns a process that runs, one inside a lock if that is wanted and there is one; nil if there is none.
func (s *sim) anyone(inside bool) *process {
	if inside {
		if p := s.inside(); p != nil {
			return p
		}
	}
	for _, i := range s.random.Perm(len(s.processes)) {
		if p := s.processes[i]; !p.stopped {
			return p
		}
	}
	return nil
}
