package holdfast

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// A simHold is a hold of one lock that a worker has: a part, if it is a Multi's.
type simHold struct {
	key     simKey
	hold    *Hold
	as      string // what its holder is called
	mode    Mode
	n       int // permits
	machine *simMachine
	ctx     context.Context // of the work under it
	over    bool            // Unlock has begun
}

// simTokens are the tokens of one lock.
type simTokens struct {
	writer, reader uint64          // the greatest
	permits        map[uint64]bool // all
	broken         map[uint64]bool
}

// tokensOf is under w.mu.
func (w *world) tokensOf(key simKey) *simTokens {
	if w.tokens[key] == nil {
		w.tokens[key] = &simTokens{permits: make(map[uint64]bool), broken: make(map[uint64]bool)}
	}
	return w.tokens[key]
}

// granted checks, at the only moments at which it can begin to be wrong, that nobody else believes to hold what was granted. ctx is
// for the work under it.
func (w *world) granted(s *simWorker, as string, h *Hold, ctx context.Context) {
	for _, part := range h.Parts() {
		if part.parent != nil {
			continue // it nests in another, and that counts
		}
		n := &simHold{hold: part, as: as, mode: part.t.req.Mode, n: part.t.req.N, machine: s.m, ctx: ctx}
		if n.mode == Shared {
			n.as = "reader"
		}
		n.key = s.key(part.t.c, part.Name(), n.mode)
		w.log("%s: granted %v to a %s, token %d, left %v", s.label, n.key, n.as, part.Token(), believes(part))
		w.mu.Lock()
		w.count.grants++
		if n.mode == Permits {
			w.checkPermits(n)
		} else {
			w.checkExclusion(n)
		}
		w.checkToken(n)
		w.held[n.key] = append(w.held[n.key], n)
		w.mu.Unlock()
	}
}

// checkExclusion checks that a writer is alone, and that readers are among themselves. w.mu is held.
func (w *world) checkExclusion(n *simHold) {
	left := believes(n.hold)
	for _, other := range w.held[n.key] {
		if n.mode == Shared && other.mode == Shared {
			broken := w.tokensOf(n.key).broken
			if a, b := n.hold.Token(), other.hold.Token(); a != b && !broken[a] && !broken[b] && left > 0 && believes(other.hold) > 0 {
				w.report("%v: readers with token %d and token %d are side by side: they are of one generation, and share one token", n.key, a, b)
			}
			continue
		}
		if theirs := believes(other.hold); theirs > 0 && left > 0 {
			w.report("%v: a %s with token %d is granted while a %s with token %d is valid for another %v",
				n.key, n.as, n.hold.Token(), other.as, other.hold.Token(), theirs)
		}
		if other.ctx.Err() == nil && !other.machine.sleeps() {
			w.report("%v: a %s with token %d is granted before the context of a %s with token %d has ended",
				n.key, n.as, n.hold.Token(), other.as, other.hold.Token())
		}
	}
}

// checkPermits checks that there are never more permits than the limit. w.mu is held.
func (w *world) checkPermits(n *simHold) {
	valid, working := 0, 0
	for _, other := range w.held[n.key] {
		if believes(other.hold) > 0 {
			valid += other.n
		}
		if other.ctx.Err() == nil && !other.machine.sleeps() {
			working += other.n
		}
	}
	if believes(n.hold) > 0 && valid+n.n > w.limit {
		w.report("%v: %d permits are granted while %d of %d are valid", n.key, n.n, valid, w.limit)
	}
	if working+n.n > w.limit {
		w.report("%v: %d permits are granted while the contexts of %d of %d have not ended", n.key, n.n, working, w.limit)
	}
}

// checkToken checks that tokens rise: of writers always; of readers from writer to writer. Those of permits only differ: the holders
// work side by side, and an answer can overtake another. w.mu is held.
func (w *world) checkToken(n *simHold) {
	tokens, token := w.tokensOf(n.key), n.hold.Token()
	switch n.mode {
	case Permits:
		if tokens.permits[token] {
			w.report("%v: token %d is granted twice", n.key, token)
		}
		tokens.permits[token] = true
	case Shared:
		if token <= tokens.writer {
			w.report("%v: a reader gets token %d after a writer got token %d", n.key, token, tokens.writer)
		}
		tokens.reader = max(tokens.reader, token)
	default:
		if token <= max(tokens.writer, tokens.reader) {
			w.report("%v: token %d is granted after token %d", n.key, token, max(tokens.writer, tokens.reader))
		}
		tokens.writer = token
	}
}

// releasing says that h is being unlocked: from now on others may get it.
func (w *world) releasing(h *Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, part := range h.Parts() {
		for key, holds := range w.held {
			if i := slices.IndexFunc(holds, func(s *simHold) bool { return s.hold == part }); i >= 0 {
				holds[i].over = true
				w.held[key] = slices.Delete(holds, i, i+1)
			}
		}
	}
}

// believes is Left without its side effect of ending what is over.
func believes(h *Hold) time.Duration {
	c := h.t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.ended {
		return 0
	}
	return h.t.left(c.clock.Now())
}

// audit compares, now and then, what clients believe with what the servers have.
func (w *world) audit(random *rand.Rand) {
	for !w.isHealed() {
		time.Sleep(time.Duration(random.Int64N(int64(w.ttl))))
		w.auditServers()
		w.auditContexts()
	}
}

// all returns all holds, in no order.
func (w *world) all() (holds []*simHold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, some := range w.held {
		holds = append(holds, some...)
	}
	return holds
}

// auditServers checks that whoever believes to hold does: its server has that hold, for at least as long, and none that excludes it.
// The holds are listed before the servers are asked, so that all of them had been granted by then.
func (w *world) auditServers() {
	holds := w.all()
	for _, server := range w.servers {
		truth, err := server.truth()
		if err != nil {
			w.violation("a server cannot be looked at: %v", err)
			continue
		}
		w.mu.Lock()
		for _, h := range holds {
			if left := believes(h.hold); h.key.server == server.index && left > 0 && !h.over {
				w.compare(h, left, &truth)
			}
		}
		w.mu.Unlock()
	}
}

// compare checks a hold that is valid against what its server has. w.mu is held.
func (w *world) compare(h *simHold, left time.Duration, truth *simTruth) {
	token := h.hold.Token()
	if token <= truth.base { // the server has forgotten it, but grants nothing before it is over
		if left > truth.guard {
			w.report("%v: token %d is valid for %v, but its server, which has forgotten it, grants again in %v", h.key, token, left, truth.guard)
		}
		return
	}
	found, longest := false, time.Duration(0) // of one label: an attempt that was dropped may still be there, beside the one that went on
	for _, fact := range truth.holders {
		switch {
		case fact.key != h.key:
		case fact.holder.Token == token && fact.holder.Label == h.hold.t.req.Label:
			found, longest = true, max(longest, fact.holder.Left)
		case h.mode == Exclusive:
			w.report("%v: a %s with token %d is valid, but its server has token %d too", h.key, h.as, token, fact.holder.Token)
		}
	}
	switch {
	case !found:
		w.report("%v: token %d is valid for another %v, but its server does not have it", h.key, token, left)
	case longest < left:
		w.report("%v: token %d is valid for another %v, but in its server only for %v", h.key, token, left, longest)
	}
}

// auditContexts checks that no work goes on under a hold that is over. A moment is allowed for the news to spread.
func (w *world) auditContexts() {
	late := slices.DeleteFunc(w.all(), func(h *simHold) bool { return believes(h.hold) > 0 || h.ctx.Err() != nil })
	time.Sleep(time.Millisecond)
	w.checkEnded(late, "its validity is over")
}

// told checks that the contexts of all holds by a lease end when the server has said that it is gone.
func (w *world) told(lease driver.Lease) {
	holds := slices.DeleteFunc(w.all(), func(h *simHold) bool { return h.hold.t.keep.lease != lease })
	time.AfterFunc(time.Millisecond, func() { w.checkEnded(holds, "its server has said that it is gone") })
}

func (w *world) checkEnded(holds []*simHold, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range holds {
		if !h.over && h.ctx.Err() == nil && !h.machine.sleeps() {
			w.report("%v, token %d: %s, but its context lives", h.key, h.hold.Token(), why)
		}
	}
}

// checkEmpty checks that a closed client keeps nothing.
func (w *world) checkEmpty(c *simClient) {
	c.mu.Lock()
	tenures, keeps, running := len(c.tenures), len(c.keeps), c.running
	c.mu.Unlock()
	if tenures+keeps > 0 || (running > 0 && !c.net.machine.isDead()) {
		w.violation("%v after Close: %d tenures, %d keeps, %d calls under way", c, tenures, keeps, running)
	}
}

// explained reports whether err is one of those that Lock may give when its context ends or the store is in trouble.
func explained(err error) bool {
	var store *StoreError
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrGuarded) || errors.As(err, &store) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
