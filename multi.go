package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"holdfast.dev/driver"
)

// A MultiLock is several locks that are held as one: all or none. Its parts may be of different clients and stores.
//
// Everybody takes locks in the same order, that of their stores' identities and then of their names, so that two who want the same
// ones never wait for each other. Parts that are the same lock of the same store are taken once, whatever clients and URLs they came
// through: for writing if one of them is, with the options of that one, or in the hold that the context has of it already; permits of
// one semaphore add up.
//
// A context that already holds a lock which comes later in that order gets ErrDeadlock: its wait and somebody else's could be for
// each other. Take both with one Multi, or take this one first.
//
// Its Hold has no token of its own: Parts has one for each lock. Losing one part is losing it: its contexts end, and Unlock and Do
// say ErrLost. Unlock releases all parts, the last one first, and goes on with the next when a store is slow to answer.
type MultiLock struct{ lockers []Locker }

// Multi returns several locks as one: a Mutex, an RWMutex, a Reader, permits of a Semaphore, or another Multi each. It never fails:
// what is wrong is reported by Lock.
func Multi(lockers ...Locker) *MultiLock { return &MultiLock{slices.Clone(lockers)} }

// Lock waits until it holds all parts. ctx bounds the whole wait. When it fails, for whatever reason, it holds none. ErrLost: a part
// was lost while it waited for another.
func (m *MultiLock) Lock(ctx context.Context) (*Hold, error) { return m.lock(ctx, false) }

// TryLock takes all parts if all are free, else none: the error is that of the first that was not.
func (m *MultiLock) TryLock(ctx context.Context) (*Hold, error) { return m.lock(ctx, true) }

// A part is one lock of a Multi, with its place in the order in which everybody takes locks.
type part struct {
	target
	identity string // of the store
}

func (p *part) compare(q *part) int {
	return cmp.Or(cmp.Compare(p.identity, q.identity), cmp.Compare(p.name, q.name), p.space()-q.space())
}

// space is 1 for a semaphore, whose name space is its own.
func (t *target) space() int {
	if t.mode == Permits {
		return 1
	}
	return 0
}

func (m *MultiLock) lock(ctx context.Context, noWait bool) (*Hold, error) {
	targets, err := m.targets()
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if err := t.precheck(ctx); err != nil {
			return nil, err
		}
	}
	parts, err := inOrder(ctx, targets, noWait)
	if err != nil {
		return nil, err
	}
	if err := comesLater(ctx, parts, noWait); err != nil {
		return nil, err
	}
	return takeAll(ctx, parts, noWait)
}

// targets returns the locks of all parts, those of a Multi inside too.
func (m *MultiLock) targets() (targets []target, err error) {
	for i, l := range m.lockers {
		if v := reflect.ValueOf(l); v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, argumentError("Multi: part %d is nil", i+1)
		}
		switch l := l.(type) {
		case *Mutex:
			targets = append(targets, l.target)
		case *RWMutex:
			targets = append(targets, l.target)
		case *Reader:
			targets = append(targets, l.target)
		case *permits:
			targets = append(targets, l.target)
		case *MultiLock:
			inner, err := l.targets()
			if err != nil {
				return nil, err
			}
			targets = append(targets, inner...)
		default:
			return nil, argumentError("Multi: part %d is %T; give a Mutex, an RWMutex, a Reader, permits of a Semaphore or a Multi", i+1, l)
		}
	}
	if len(targets) == 0 {
		return nil, argumentError("Multi: it has no parts")
	}
	return targets, nil
}

// inOrder sorts the parts and merges those that are the same lock.
func inOrder(ctx context.Context, targets []target, noWait bool) ([]*part, error) {
	var parts []*part
	for _, t := range targets {
		identity, err := t.c.identify(ctx, noWait)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &part{t, identity})
	}
	slices.SortStableFunc(parts, (*part).compare)
	merged := parts[:1]
	for _, p := range parts[1:] {
		last := merged[len(merged)-1]
		switch {
		case p.compare(last) != 0:
			merged = append(merged, p)
		case p.mode == Permits && p.limit != last.limit:
			return nil, fmt.Errorf("holdfast: %w: semaphore %q: %w", ErrArgument, p.name, &LimitError{N: p.n, Want: p.limit, Have: last.limit})
		case p.mode == Permits:
			last.n += p.n
			if err := last.precheck(ctx); err != nil {
				return nil, err
			}
		case p.nests(ctx) && !last.nests(ctx), p.nests(ctx) == last.nests(ctx) && p.mode < last.mode:
			p.mode = min(p.mode, last.mode) // writing counts for both
			merged[len(merged)-1] = p
		default:
			last.mode = min(p.mode, last.mode)
		}
	}
	return merged, nil
}

// nests reports whether Lock with ctx would nest instead of waiting.
func (t *target) nests(ctx context.Context) bool {
	return t.mode != Permits && heldIn(ctx, t.c, t.name) != nil
}

// comesLater reports a lock that ctx holds already and that everybody else takes after one of the parts.
func comesLater(ctx context.Context, parts []*part, noWait bool) error {
	var held census
	ctx.Value(&held)
	for _, h := range held.holds {
		if h.Err() != nil {
			continue
		}
		identity, err := h.t.c.identify(ctx, noWait)
		if err != nil {
			return err
		}
		have := &part{target{c: h.t.c, name: h.Name(), mode: h.t.req.Mode}, identity}
		for _, p := range parts {
			nests := p.nests(ctx)
			if !nests && p.compare(have) <= 0 {
				return fmt.Errorf("holdfast: Multi: %w: the context already holds %s %q of %s, and others take %s %q of %s before it; "+
					"take both with one Multi", ErrDeadlock, kind(have.mode), have.name, have.c.store, kind(p.mode), p.name, p.c.store)
			}
		}
	}
	return nil
}

// takeAll takes the parts one after the other. The wait for one of them ends when an earlier one is lost.
func takeAll(ctx context.Context, parts []*part, noWait bool) (*Hold, error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended atomic.Pointer[time.Time] // when ctx did: from then on all cleanup together has undoWait
	defer context.AfterFunc(ctx, func() { now := time.Now(); ended.Store(&now) })()
	all := &Hold{parts: make([]*Hold, 0, len(parts))}
	for _, p := range parts {
		hold, err := p.lock(wait, noWait)
		if err == nil {
			all.parts = append(all.parts, hold)
			wait = hold.Context(wait)
		}
		if lost := all.Err(); lost != nil {
			err = fmt.Errorf("holdfast: Multi: while it waited for %s %q: %w", kind(p.mode), p.name, lost)
		}
		if err != nil {
			patience := undoWait
			if at := ended.Load(); at != nil {
				patience = max(0, patience-time.Since(*at))
			}
			all.unlockParts(patience, (*Hold).undo)
			return nil, err
		}
	}
	return all, nil
}

// identify asks for the identity of the store, once.
func (c *Client) identify(ctx context.Context, noWait bool) (string, error) {
	backoff := c.backoff()
	for asks := 1; ; asks++ {
		if id := c.identity.Load(); id != nil {
			return *id, nil
		}
		id, err := ask(ctx, c, "identity", "", c.store.Identity)
		switch {
		case err == nil:
			c.identity.Store(&id)
		case driver.Answered(err), errors.Is(err, ErrClosed), errors.Is(err, ErrArgument), noWait && asks >= tryAsks:
			return "", err
		case driver.Sleep(ctx, backoff.Next()) != nil && !errors.Is(err, ctx.Err()):
			return "", fmt.Errorf("%w: %w", err, ctx.Err())
		case ctx.Err() != nil:
			return "", err
		}
	}
}
