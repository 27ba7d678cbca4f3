package memlock

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"holdfast.dev/driver"
)

// Inspect shows the lock, or with driver.Permits the semaphore, of that name; see driver.Inspector.
func (st *Store) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	return st.look(ctx, keyOf(name, mode))
}

// List shows everything whose name begins with prefix, sorted by name; see driver.Inspector. Nothing is locked while it runs.
func (st *Store) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		for _, k := range st.keys(prefix) {
			info, err := st.look(ctx, k)
			if err == nil && len(info.Holders)+len(info.Waiters) == 0 {
				continue // has ended since
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

// keys returns what there is under prefix, sorted.
func (st *Store) keys(prefix string) []key {
	s := st.server
	s.enter()
	defer s.exit()
	var keys []key
	for k := range s.locks {
		if strings.HasPrefix(k.name, prefix) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch byName := cmp.Compare(a.name, b.name); {
		case byName != 0:
			return byName
		case a.permits: // the lock before the semaphore
			return 1
		}
		return -1
	})
	return keys
}

// look describes one lock.
func (st *Store) look(ctx context.Context, k key) (*driver.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := st.server
	now := s.enter()
	defer s.exit()
	if st.isClosed() {
		return nil, errClosed
	}
	info := &driver.Info{Name: k.name, Mode: driver.Exclusive}
	if k.permits {
		info.Mode = driver.Permits
	}
	l := s.locks[k]
	if l == nil {
		return info, nil
	}
	if l.holders.len > 0 {
		info.Mode = l.holders.front.mode
	}
	info.Limit = l.limit
	info.Holders = l.describe(now)
	for _, c := range l.waiters() {
		info.Waiters = append(info.Waiters, driver.Waiter{Label: c.label, Mode: c.mode, N: c.n, Waited: now.Sub(c.queued)})
	}
	return info, nil
}

// waiters returns all who have a place in the queue, the absent too: a place that is left behind must be visible.
func (l *lock) waiters() []*claim {
	waiters := make([]*claim, 0, l.queue.len+l.absent.len)
	for _, first := range []*claim{l.queue.front, l.absent.front} {
		for c := first; c != nil; c = c.next {
			waiters = append(waiters, c)
		}
	}
	slices.SortFunc(waiters, func(a, b *claim) int { return cmp.Compare(a.ticket, b.ticket) })
	return waiters
}

// describe shows who holds.
func (l *lock) describe(now driver.Instant) []driver.Holder {
	holders := make([]driver.Holder, 0, l.holders.len)
	for c := l.holders.front; c != nil; c = c.next {
		h := driver.Holder{
			Label: c.label, Token: c.token, Mode: c.mode, N: c.n,
			Held: now.Sub(c.granted), Left: c.expires.Sub(now), Broken: c.broken != nil,
		}
		if c.state == kept {
			h.Kept, h.Left = true, c.keptUntil.Sub(now)
		}
		holders = append(holders, h)
	}
	return holders
}
