package holdfast

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Multis take several locks, of one server or of two, written in any order.

// turnMulti takes some locks as one.
func (s *simWorker) turnMulti() {
	s.w.tally(func(c *simCount) { c.multis++ })
	s.multi(s.some(s.w.locks, 2), context.Background())
}

// multi takes locks as one. When it fails nothing of it is left.
func (s *simWorker) multi(locks []simKey, ctx context.Context) {
	l := Multi(s.parts(locks)...)
	hold, err := s.try(l, ctx)
	if err != nil {
		s.multiFailed(err)
		return
	}
	ctx = hold.Context(ctx)
	s.asAsked(l, hold)
	for _, part := range hold.Parts() {
		if left := believes(part); left <= 0 && ctx.Err() == nil {
			s.w.violation("%s: a Multi was granted without its part %v, and its context lives", s.label, part)
		}
	}
	s.w.granted(s, "part of a Multi", hold, ctx)
	s.work(hold, ctx, s.nestInMulti)
}

// asAsked checks that every lock that was asked for is held, once, for writing if that was asked for, and nothing else.
func (s *simWorker) asAsked(l Locker, hold *Hold) {
	targets, err := Multi(l).targets()
	if err != nil {
		s.w.violation("%s: granted what cannot be asked for: %v", s.label, err)
	}
	type amount struct {
		mode Mode
		n    int
	}
	want := make(map[simKey]amount)
	for _, t := range targets {
		k := s.key(t.c, t.name, t.mode)
		a := want[k]
		if a.mode != Exclusive {
			a.mode = t.mode
		}
		a.n += t.n
		want[k] = a
	}
	for _, part := range hold.Parts() {
		r := part.t.req
		k := s.key(part.t.c, r.Name, r.Mode)
		a, asked := want[k]
		if reads := part.parent != nil && a.mode == Shared; !asked || !reads && a != (amount{r.Mode, r.N}) {
			s.w.violation("%s: %v is held, but that was not asked for: %+v", s.label, part, want)
		}
		delete(want, k)
	}
	if len(want) > 0 {
		s.w.violation("%s: granted without %v", s.label, want)
	}
}

// multiFailed checks that a Multi that failed is never seen half. The release of a part that was held is waited for only as long as
// that part was valid: it is on its way.
func (s *simWorker) multiFailed(err error) {
	if !errors.Is(err, ErrLost) { // a part was lost while it waited for another
		s.refused(err)
	}
	s.held("failed as a whole")
	if s.w.calm() {
		time.Sleep(2*s.w.trouble.network.delay + time.Millisecond)
		if slices.Contains(s.w.labels(), owner()+" "+s.label) {
			s.w.violation("%s failed as a whole, but a part of it still waits or holds", s.label)
		}
	}
}

// some returns at least n of the keys, in any order.
func (s *simWorker) some(keys []simKey, n int) []simKey {
	keys = slices.Clone(keys)
	s.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys[:n+s.random.IntN(len(keys)-n+1)]
}

// parts are locks as parts of a Multi, one of them twice sometimes.
func (s *simWorker) parts(locks []simKey) (parts []Locker) {
	for _, k := range locks {
		parts = append(parts, s.part(k))
	}
	if s.chance(4) {
		parts = append(parts, s.part(locks[0]))
	}
	s.random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

// part is a mutex; a reader or permits where there are any.
func (s *simWorker) part(k simKey) Locker {
	c := s.client(k)
	switch {
	case s.w.uses.readers && s.chance(3):
		return c.RWMutex(k.name, s.options()...).Reader()
	case s.w.uses.permits && s.chance(3):
		return c.Semaphore(k.name, s.w.limit, s.options()...).Permits(1)
	}
	return c.Mutex(k.name, s.options()...)
}

// all is every lock there is, in any order.
func (s *simWorker) all() Locker {
	opts := s.plain()
	var parts []Locker
	for _, k := range s.some(s.w.locks, len(s.w.locks)) {
		parts = append(parts, s.client(k).Mutex(k.name, opts...))
	}
	return Multi(parts...)
}

// nestInMulti takes one of the parts again.
func (s *simWorker) nestInMulti(ctx context.Context, hold *Hold) {
	parts := hold.Parts()
	part := parts[s.random.IntN(len(parts))]
	switch part.t.req.Mode {
	case Exclusive:
		s.nestInWriter(ctx, part)
	case Shared:
		s.nestInReader(ctx, part)
	}
}

// turnChain takes one lock after the other, as everybody does, and the rest as one; or tries to take them in another order, which
// must be refused.
func (s *simWorker) turnChain() {
	i := s.random.IntN(len(s.w.locks) - 1)
	first, later := s.w.locks[i], s.w.locks[i+1:]
	wrong := s.chance(4)
	if wrong {
		first, later = s.w.locks[i+1], s.w.locks[:i+1]
	}
	s.take("holder", s.client(first).Mutex(first.name, s.options()...), context.Background(), func(ctx context.Context, outer *Hold) {
		label := s.label
		s.anew()
		switch {
		case wrong:
			s.disorder(ctx, outer, later)
		case s.chance(2):
			k := later[s.random.IntN(len(later))]
			s.take("holder", s.client(k).Mutex(k.name, s.options()...), ctx, s.nestMutex)
		case s.chance(2): // the first once more, as a part: it nests
			s.multi(append(s.some(later, 1), first), ctx)
		default:
			s.multi(s.some(later, 1), ctx)
		}
		s.label = label
	})
}

// disorder wants locks that come before outer.
func (s *simWorker) disorder(ctx context.Context, outer *Hold, earlier []simKey) {
	wait, cancel := context.WithTimeout(ctx, 1+s.upTo(s.w.ttl))
	defer cancel()
	hold, err := Multi(s.parts(s.some(earlier, 1))...).Lock(wait)
	switch good := outer.Err() == nil && ctx.Err() == nil; {
	case err == nil && good:
		s.w.violation("%s: %v is good, but a Multi is let in that others take before it", s.label, outer)
		hold.Unlock()
	case err == nil:
		hold.Unlock()
	case good && !errors.Is(err, ErrDeadlock) && !identifying(err):
		s.w.violation("%s: a Multi that others take before %v is not refused with ErrDeadlock: %v", s.label, outer, err)
	}
}

// identifying reports whether err says that a server was not reached for its identity, without which there is no order.
func identifying(err error) bool {
	var store *StoreError
	return errors.As(err, &store) && store.Op == "identity"
}
