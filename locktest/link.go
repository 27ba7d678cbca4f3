package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A callLink is a link with faults in front of any store: it holds back calls and their answers instead of bytes.
//
// What it holds back is carried out later, although its caller has given up, as a network would: so an Acquire can arrive after
// the Release that undid it. Callbacks (Waiting, Lost) come from the server, so they are held back with the answers.
type callLink struct {
	store driver.Store

	mu       sync.Mutex
	line     *line         // what new calls go out on
	stranded []*line       // left by their callers, with requests that still arrive
	changed  chan struct{} // closed and replaced at every change
}

// A line is a connection, as it were. Its fields are guarded by the link's mutex.
type line struct {
	requests, replies bool            // held back
	here, there       context.Context // ended when that end of it is gone: its callers get no answer; what it holds is lost
	leave, lose       context.CancelFunc
}

var errCut = errors.New("the connection broke")

// lateStay is how long a request may wait in the store that arrives when its caller has given up: it is there, its caller is not.
const lateStay = 100 * time.Millisecond

func newLine() *line {
	n := new(line)
	n.here, n.leave = context.WithCancel(context.Background())
	n.there, n.lose = context.WithCancel(context.Background())
	return n
}

func newCallLink(store driver.Store) *callLink {
	return &callLink{store: store, line: newLine(), changed: make(chan struct{})}
}

func (l *callLink) HoldRequests() { l.change(func() { l.line.requests = true }) }
func (l *callLink) HoldReplies()  { l.change(func() { l.line.replies = true }) }

func (l *callLink) Resume() {
	l.change(func() {
		for _, n := range append(l.stranded, l.line) {
			n.requests, n.replies = false, false
		}
		l.stranded = nil
	})
}

func (l *callLink) Cut() {
	l.change(func() {
		for _, n := range append(l.stranded, l.line) {
			n.leave()
			n.lose()
		}
		l.stranded, l.line = nil, newLine()
	})
}

func (l *callLink) Strand() {
	l.change(func() {
		l.line.leave()
		l.stranded, l.line = append(l.stranded, l.line), newLine()
	})
}

func (l *callLink) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *callLink) current() *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}

// holding reports what a line holds back now, and returns a channel that is closed at the next change.
func (l *callLink) holding(n *line) (requests, replies bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return n.requests, n.replies, l.changed
}

// pass waits until requests, or replies, are no longer held back on a line. It reports false if they are lost.
func (l *callLink) pass(n *line, request bool) bool {
	for {
		requests, replies, changed := l.holding(n)
		if n.there.Err() != nil {
			return false
		}
		if request && !requests || !request && !replies {
			return true
		}
		select {
		case <-changed:
		case <-n.there.Done():
		}
	}
}

type answer[T any] struct {
	value T
	err   error
}

// call sends one call over the link. Its caller gives up when ctx ends, but what was sent stays on its way.
func call[T any](ctx context.Context, l *callLink, carryOut func(context.Context) (T, error)) (T, error) {
	n := l.current()
	answers := make(chan answer[T], 1)
	go func() {
		if !l.pass(n, true) {
			return
		}
		arrived, leave := n.arrival(ctx)
		value, err := carryOut(arrived)
		leave()
		if l.pass(n, false) {
			answers <- answer[T]{value, err}
		}
	}()
	var none T
	givenUp := ctx.Done()
	for {
		requests, replies, changed := l.holding(n)
		if ctx.Err() != nil && (requests || replies) && len(answers) == 0 {
			return none, fmt.Errorf("no answer: %w", ctx.Err())
		}
		select {
		case a := <-answers:
			return a.value, a.err
		case <-n.here.Done():
			return none, errCut
		case <-givenUp:
			givenUp = nil // with nothing held back, the store itself says what it knows, at once
		case <-changed:
		}
	}
}

// arrival is the context under which a call is carried out: that of its caller, if it is still there, or one that ends soon.
func (n *line) arrival(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil || n.here.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), lateStay)
	}
	ctx, leave := context.WithCancel(ctx)
	stop := context.AfterFunc(n.here, leave)
	return ctx, func() { stop(); leave() }
}
