package holdfast_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// A mixed is many goroutines that use all kinds of locks of two stores at once, and count who is inside.
type mixed struct {
	t       *testing.T
	clients []*holdfast.Client // two of each store
	writers [4]atomic.Int32    // by store and name: "a" and "b" of the first, then of the second
	readers [4]atomic.Int32
	permits [2]atomic.Int32 // of the semaphores "a", by store
}

const mixedLimit = 3

// Rule: whatever kinds of locks many goroutines take, one by one or together: a writer is alone, permits are never more than their
// limit, nobody waits for ever, and nothing is left over. It is a test for the race detector above all.
func TestManyKinds(t *testing.T) {
	m := &mixed{t: t}
	for range 2 {
		server := memlock.NewServer()
		m.clients = append(m.clients, connect(t, server), connect(t, server))
	}
	crowd(t, 150, m.act)
	for _, c := range m.clients {
		expectNothingLeft(t, c)
		for info, err := range c.List(t.Context(), "") {
			t.Errorf("left behind: %+v, %v", info, err)
		}
	}
}

// A piece is one thing to hold, and what to do while it is held.
type piece struct {
	locker holdfast.Locker
	enter  func() (leave func())
}

// pick chooses a kind of lock at random.
func (m *mixed) pick(random *rand.Rand) piece {
	client, name := random.IntN(len(m.clients)), random.IntN(2)
	c, store := m.clients[client], client/2
	place := 2*store + name
	rw := c.RWMutex([]string{"a", "b"}[name])
	switch random.IntN(3) {
	case 0:
		return piece{rw, func() func() {
			if w, r := m.writers[place].Add(1), m.readers[place].Load(); w != 1 || r != 0 {
				m.t.Errorf("%d writers and %d readers", w, r)
			}
			return func() { m.writers[place].Add(-1) }
		}}
	case 1:
		return piece{rw.Reader(), func() func() {
			m.readers[place].Add(1)
			if w := m.writers[place].Load(); w != 0 {
				m.t.Errorf("a reader beside %d writers", w)
			}
			return func() { m.readers[place].Add(-1) }
		}}
	}
	return piece{c.Semaphore("a", mixedLimit).Permits(1), func() func() {
		if n := m.permits[store].Add(1); n > mixedLimit {
			m.t.Errorf("%d permits of %d", n, mixedLimit)
		}
		return func() { m.permits[store].Add(-1) }
	}}
}

// act takes one thing or several, waiting or not, and perhaps gives up.
func (m *mixed) act(random *rand.Rand) {
	p := m.pick(random)
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Hour)
	defer cancel()
	lock := p.locker.Lock
	switch random.IntN(5) {
	case 0:
		lock = p.locker.TryLock
	case 1: // gives up, at any moment
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(300))*time.Microsecond)
		defer cancel()
	case 2, 3: // with others, so that nobody knows which of them are merged: only that it ends is checked
		q, r := m.pick(random), m.pick(random)
		lock = holdfast.Multi(p.locker, q.locker, r.locker).Lock
		p.enter = func() func() { return func() {} }
	}
	hold, err := lock(ctx)
	if err != nil {
		if !errors.Is(err, holdfast.ErrHeld) && ctx.Err() == nil {
			m.t.Error(err)
		}
		return
	}
	leave := p.enter()
	hold.Left()
	hold.Context(ctx)
	leave()
	mustUnlock(m.t, hold)
}
