package memlock

// A list is a doubly linked list of claims, linked through the claims themselves: adding and removing allocate nothing and cost
// the same whatever its length. A claim is in one list at most.
type list struct {
	front, back *claim
	len         int
}

// append adds c at the end.
func (q *list) append(c *claim) { q.insert(c, q.back) }

// insert adds c behind after, or at the front if after is nil.
func (q *list) insert(c, after *claim) {
	c.prev = after
	if after == nil {
		c.next, q.front = q.front, c
	} else {
		c.next, after.next = after.next, c
	}
	if c.next == nil {
		q.back = c
	} else {
		c.next.prev = c
	}
	q.len++
}

// remove takes c out.
func (q *list) remove(c *claim) {
	if c.prev == nil {
		q.front = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		q.back = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	q.len--
}

// enqueue puts c at its place in a queue: behind everybody with an earlier ticket. A new claim has the latest ticket, so its place
// is found at once; one that comes back may have to walk.
func (q *list) enqueue(c *claim) {
	after := q.back
	for after != nil && after.ticket > c.ticket {
		after = after.prev
	}
	q.insert(c, after)
}

// place counts where c stands in a queue; 1 is the head. It walks from the end, because those who ask have mostly just come.
func (q *list) place(c *claim) int {
	place := q.len
	for w := q.back; w != c; w = w.prev {
		place--
	}
	return place
}
