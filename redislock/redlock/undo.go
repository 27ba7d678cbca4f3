package redlock

import (
	"context"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// undos is what one node has still to be told: releases that it has not answered. They are repeated until it has, or until what they undo must have
// run out by itself. While there is nothing to undo there is no goroutine.
type undos struct {
	mu      sync.Mutex
	pending map[string]*undo // by what is released
	running bool
	woken   chan struct{}
}

type undo struct {
	q     *question
	u     undoing
	until driver.Instant
}

// mostUndos bounds what is remembered for a node that is gone: what is forgotten runs out by itself.
const mostUndos = 10000

// add has a release repeated, at the node, until it is answered. It may have been sent before.
func (n *node) undo(s *Store, q *question, u undoing) {
	u.doubt, u.next = true, nil
	what := q.keys[0] + " " + q.id
	if u.all {
		what = q.keys[0] + " " + q.attempt
	}
	n.undos.mu.Lock()
	defer n.undos.mu.Unlock()
	if s.life.Err() != nil || len(n.undos.pending) >= mostUndos {
		return
	}
	if n.undos.pending == nil {
		n.undos.pending, n.undos.woken = make(map[string]*undo), make(chan struct{}, 1)
	}
	n.undos.pending[what] = &undo{q, u, s.clock.Now().Add(u.ttl)}
	if !n.undos.running {
		n.undos.running = true
		s.background.begin()
		go n.drain(s)
	}
}

// wake says that the node answers again.
func (u *undos) wake() {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case u.woken <- struct{}{}: // of nil: never
	default:
	}
}

// drain repeats what is pending.
func (n *node) drain(s *Store) {
	defer s.background.end()
	b := driver.Backoff{Min: 20 * time.Millisecond, Max: time.Second}
	for {
		timer := time.NewTimer(b.Next())
		select {
		case <-timer.C:
		case <-n.undos.woken:
		case <-s.life.Done():
		}
		timer.Stop()
		for what, u := range n.undos.all() {
			if s.life.Err() != nil || !s.clock.Now().Before(u.until) || n.repeat(s, u) {
				n.undos.remove(what, u)
			}
		}
		if n.undos.finished() {
			return
		}
	}
}

// repeat reports whether the node has answered.
func (n *node) repeat(s *Store, u *undo) bool {
	const patience = time.Second
	ctx, cancel := context.WithTimeout(s.work, patience)
	defer cancel()
	a := n.ask(ctx, s.form(), patience, func(ctx context.Context, p primitive) answer { return p.release(ctx, u.q, u.u) })
	return a.word != failed || driver.Answered(a.err)
}

// all is a copy of what is pending.
func (u *undos) all() map[string]*undo {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[string]*undo, len(u.pending))
	for what, one := range u.pending {
		all[what] = one
	}
	return all
}

func (u *undos) remove(what string, one *undo) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pending[what] == one {
		delete(u.pending, what)
	}
}

// finished reports whether nothing is pending, and if so ends.
func (u *undos) finished() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = len(u.pending) > 0
	return !u.running
}
