package generate

import "holdfast.dev/driver"

// An event is something that happens at its time. Events of one time happen in the order in which they were planned.
type event struct {
	at  driver.Instant
	seq uint64
	do  func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// agenda is a heap of events, the next one first. It is by hand because most of the time of a big history is spent here.
type agenda []event

func (a *agenda) push(e event) {
	h := append(*a, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*a = h
}

func (a *agenda) pop() event {
	h := *a
	next, last := h[0], h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	*a = h
	i := 0
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		for c := child + 1; c < min(4*i+5, len(h)); c++ {
			if h[c].before(h[child]) {
				child = c
			}
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	return next
}
