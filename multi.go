package holdfast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
// A context that already holds a lock which comes later in that order gets ErrDeadlock, from TryLock too: its wait and somebody else's
// could be for each other. Take both with one Multi, or take this one first. So does one that holds a part in a way that cannot be
// entered again: permits, or through another client.
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
	after    *part  // not nil: a lock that the context holds, and because of which this one must not be waited for
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
	carried, err := unpack(ctx, noWait)
	if err != nil {
		return nil, err
	}
	parts, err := inOrder(ctx, carried, targets, noWait)
	if err != nil {
		return nil, err
	}
	if err := carried.checkOrder(parts); err != nil {
		return nil, err
	}
	return takeAll(ctx, parts, noWait)
}

// targets returns the locks of all parts, those of a Multi inside too.
func (m *MultiLock) targets() (targets []target, err error) {
	for i, l := range m.lockers {
		if isNil(l) {
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
func inOrder(ctx context.Context, carried *luggage, targets []target, noWait bool) ([]*part, error) {
	var parts []*part
	for _, t := range targets {
		identity, err := t.c.identify(ctx, t.name, noWait)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &part{target: t, identity: identity})
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
		default:
			merged[len(merged)-1] = carried.better(last, p)
		}
	}
	return merged, nil
}

// better chooses between two parts that are the same lock: the one that nests, or else the one that writes, or else the first. Writing
// counts, whichever it was.
func (l *luggage) better(first, second *part) *part {
	_, one := l.nests(first)
	_, two := l.nests(second)
	mode := min(first.mode, second.mode)
	if two && !one || one == two && second.mode < first.mode {
		first = second
	}
	first.mode = mode
	return first
}

// A luggage is the holds, still good, from whose contexts a context descends: the innermost first.
type luggage struct {
	holds []*part // each as it would be a part of a Multi
	locks []*Hold
	where map[heldKey]int // the innermost of each lock
}

func unpack(ctx context.Context, noWait bool) (*luggage, error) {
	var all census
	ctx.Value(&all)
	l := &luggage{where: make(map[heldKey]int)}
	for _, h := range all.holds {
		if h.Err() != nil {
			continue
		}
		identity, err := h.t.c.identify(ctx, h.Name(), noWait)
		if err != nil {
			return nil, err
		}
		key := heldKey{h.t.c, h.Name()}
		if _, seen := l.where[key]; !seen && h.t.req.Mode != Permits {
			l.where[key] = len(l.holds)
		}
		l.holds = append(l.holds, &part{target: target{c: h.t.c, name: h.Name(), mode: h.t.req.Mode}, identity: identity})
		l.locks = append(l.locks, h)
	}
	return l, nil
}

// nests returns where the hold is in which p would nest instead of waiting for the store.
func (l *luggage) nests(p *part) (at int, nests bool) {
	if p.mode == Permits {
		return 0, false
	}
	at, nests = l.where[heldKey{p.c, p.name}]
	return at, nests
}

// later finds a lock in the luggage that everybody else takes after p, so that p must not be waited for. If p nests, what counts is
// only what was taken since the hold in which it does: others who nest in that one may hold it up. Not what was taken together with it.
func (l *luggage) later(p *part) *part {
	at, nests := l.nests(p)
	for i, have := range l.holds {
		if nests && (i >= at || l.locks[i].whole != nil && l.locks[i].whole == l.locks[at].whole) {
			continue
		}
		if p.compare(have) <= 0 {
			return have
		}
	}
	return nil
}

// checkOrder refuses parts that would have to be waited for out of order. One that nests may find its place free, and then does not
// wait: it must not.
func (l *luggage) checkOrder(parts []*part) error {
	for _, p := range parts {
		have := l.later(p)
		if have == nil {
			continue
		}
		if _, nests := l.nests(p); !nests {
			return deadlock(p, have)
		}
		p.after = have
	}
	return nil
}

func deadlock(p, have *part) error {
	if p.compare(have) == 0 {
		return fmt.Errorf("holdfast: Multi: %w: the context already holds %s %q of %s, and cannot enter it again through this client",
			ErrDeadlock, kind(p.mode), p.name, p.c.store)
	}
	return fmt.Errorf("holdfast: Multi: %w: the context already holds %s %q of %s, and others take %s %q of %s before it; take both with one Multi",
		ErrDeadlock, kind(have.mode), have.name, have.c.store, kind(p.mode), p.name, p.c.store)
}

// takeAll takes the parts one after the other. The wait for one of them ends when an earlier one is lost.
func takeAll(ctx context.Context, parts []*part, noWait bool) (*Hold, error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended atomic.Pointer[time.Time] // when ctx did: from then on all cleanup together has undoWait
	defer context.AfterFunc(ctx, func() { now := time.Now(); ended.Store(&now) })()
	all := &Hold{parts: make([]*Hold, 0, len(parts))}
	for _, p := range parts {
		hold, err := p.lock(wait, noWait || p.after != nil)
		if p.after != nil && !noWait && errors.Is(err, ErrHeld) {
			err = deadlock(p, p.after)
		}
		if err == nil {
			hold.whole = all
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

// identify asks for the identity of the store of that lock, once.
func (c *Client) identify(ctx context.Context, name string, noWait bool) (string, error) {
	backoff := c.backoff()
	for asks := 1; ; asks++ {
		if id := c.identity.Load(); id != nil {
			return *id, nil
		}
		id, err := ask(ctx, c, "identity", name, c.store.Identity)
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
