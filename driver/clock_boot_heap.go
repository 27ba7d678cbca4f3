package driver

import "container/heap"

// A deadline is one call of At.
type deadline struct {
	ringer *ringer
	at     Instant
	ring   func()
	index  int // in the heap; -1: taken out
}

// deadlines is a heap, the earliest first. It knows where each one is, so that stop needs no search.
type deadlines []*deadline

// due takes the earliest deadline out if it is not after now; otherwise it returns nil.
func (q *deadlines) due(now Instant) *deadline {
	if len(*q) == 0 || (*q)[0].at > now {
		return nil
	}
	return heap.Pop(q).(*deadline)
}

// The methods of heap.Interface.

func (q deadlines) Len() int           { return len(q) }
func (q deadlines) Less(i, j int) bool { return q[i].at < q[j].at }

func (q deadlines) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *deadlines) Push(x any) {
	d := x.(*deadline)
	d.index = len(*q)
	*q = append(*q, d)
}

func (q *deadlines) Pop() any {
	last := len(*q) - 1
	d := (*q)[last]
	(*q)[last] = nil // or the slice would keep the callback, and all that it refers to, alive
	*q = (*q)[:last]
	d.index = -1
	return d
}
