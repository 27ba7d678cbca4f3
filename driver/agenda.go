package driver

import "container/heap"

// An Agenda keeps things in the order in which they become due, the earliest first. Whoever has many deadlines keeps them in one
// and asks a Clock for the earliest alone: ten thousand holds need no more timers than one. It has no mutex of its own. The zero
// value is empty.
type Agenda[T any] struct {
	entries entries[T]
}

// An Entry is one thing that an Agenda keeps. It lives inside the thing that becomes due, so that setting it allocates nothing,
// and is on one Agenda at most. Set What before it is used, and do not copy it afterwards.
type Entry[T any] struct {
	What T

	at  Instant
	pos int // in the heap, counted from 1; 0: not set
}

// IsSet reports whether e is on an Agenda.
func (e *Entry[T]) IsSet() bool { return e.pos > 0 }

// At is when e is due, or was due last.
func (e *Entry[T]) At() Instant { return e.at }

// Len is how many entries are set.
func (a *Agenda[T]) Len() int { return len(a.entries) }

// Next is when the earliest entry is due; Never if there is none.
func (a *Agenda[T]) Next() Instant {
	if len(a.entries) == 0 {
		return Never
	}
	return a.entries[0].at
}

// Set makes e due at t, wherever it was before.
func (a *Agenda[T]) Set(e *Entry[T], t Instant) {
	if e.at = t; e.IsSet() {
		heap.Fix(&a.entries, e.pos-1)
	} else {
		heap.Push(&a.entries, e)
	}
}

// Clear takes e off, if it is set.
func (a *Agenda[T]) Clear(e *Entry[T]) {
	if e.IsSet() {
		heap.Remove(&a.entries, e.pos-1)
	}
}

// Due takes the earliest entry off if it is due at now, and returns it; otherwise nil.
func (a *Agenda[T]) Due(now Instant) *Entry[T] {
	if now.Before(a.Next()) || len(a.entries) == 0 {
		return nil
	}
	return heap.Pop(&a.entries).(*Entry[T])
}

// entries is a container/heap, whose entries know their places, so that clearing one needs no search.
type entries[T any] []*Entry[T]

func (h entries[T]) Len() int           { return len(h) }
func (h entries[T]) Less(i, j int) bool { return h[i].at < h[j].at }

func (h entries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i+1, j+1
}

func (h *entries[T]) Push(x any) {
	e := x.(*Entry[T])
	*h = append(*h, e)
	e.pos = len(*h)
}

func (h *entries[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil // or the slice would keep it, and all that it refers to, alive
	*h = (*h)[:last]
	e.pos = 0
	return e
}
