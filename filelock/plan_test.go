package filelock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/driver"
)

// A world is one lock and its clients, without files: who rings whom, who watches whom, and who is killed where. It checks the
// argument of the package comment: whoever is killed between two steps, nobody who could be served is forgotten.
type world struct {
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	text    string // the file
	now     stamp
	tokens  uint64
	clients map[string]*actor
	made    int
}

// An actor is a client: what it has heard, and what it watches.
type actor struct {
	id      string
	dead    bool
	rung    bool
	watches watch
	knows   map[string]bool // its holds, and whether they were broken, as it has seen them
}

func (w *world) load() *state {
	s, err := decodeState(w.text)
	if err != nil {
		w.t.Fatal(err)
	}
	s.mark()
	return s
}

func (w *world) serve(s *state) {
	s.settle(w.now)
	s.serve(moment{now: w.now, wall: int64(w.now)}, func() (uint64, error) { w.tokens++; return w.tokens, nil })
}

// change is what tx.commit does: it rings, writes and arranges its watches, in this order, and may be killed in between.
func (w *world) change(a *actor, f func(*state)) {
	s := w.load()
	f(s)
	killed := w.random.IntN(12)
	for i, id := range s.concerned(a.id) {
		if killed == 0 && i > 0 {
			a.dead = true // with some of them rung
			return
		}
		w.clients[id].rung = true
	}
	if killed == 1 {
		a.dead = true // rung, but not written
		return
	}
	w.text = string(s.encode(nil))
	if killed == 2 {
		a.dead = true // written, but not watching
		return
	}
	a.watches, a.knows = nil, make(map[string]bool)
	for _, h := range append(slices.Clone(s.holders), s.ghosts...) {
		if h.client == a.id {
			a.knows[h.knowledge()] = true
		}
	}
	for i, e := range s.queue {
		if e.client == a.id {
			a.watches = append(a.watches, s.watchOf(i)...)
		}
	}
}

// knowledge is what a holder must get to know of its hold.
func (e *entry) knowledge() string { return fmt.Sprint(e.attempt, e.phase, e.broken) }

// look is what a client does that was rung, or saw the end of somebody whom it watches.
func (w *world) look(a *actor) {
	a.rung = false
	w.change(a, func(s *state) {
		for {
			w.serve(s)
			buried := false
			for i, e := range s.queue {
				if buried {
					break
				}
				if e.client != a.id {
					continue
				}
				for _, other := range s.watchOf(i) {
					if !strings.HasPrefix(other, untilPrefix) && w.clients[other].dead {
						buried = s.bury(other, w.now) || buried
					}
				}
			}
			if !buried {
				return
			}
		}
	})
}

// due reports whether a has something to look at: its bell, the end of a client, or the end of a minimum hold.
func (w *world) due(a *actor) bool {
	return a.rung || slices.ContainsFunc(a.watches, func(what string) bool {
		var end stamp
		if _, err := fmt.Sscanf(what, untilPrefix+"%d", &end); err == nil {
			return !w.now.before(end)
		}
		return w.clients[what].dead
	})
}

func (w *world) alive() []*actor {
	var all []*actor
	for _, a := range w.clients {
		if !a.dead {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *actor) int { return strings.Compare(a.id, b.id) })
	return all
}

// step lets one client do something.
func (w *world) step() {
	alive := w.alive()
	if len(alive) < 4 {
		w.made++
		id := fmt.Sprintf("%032x", w.made)
		w.clients[id] = &actor{id: id}
		return
	}
	a := alive[w.random.IntN(len(alive))]
	switch w.random.IntN(6) {
	case 5:
		w.change(a, func(s *state) {
			if len(s.holders) > 0 {
				s.breakHold(&driver.BreakRequest{Token: s.holders[0].token, Now: w.random.IntN(2) == 0}, w.now)
				w.serve(s)
			}
		})
	case 0, 1:
		w.change(a, func(s *state) { w.join(s, a) })
	case 2, 3:
		w.change(a, func(s *state) {
			var own []*entry
			for _, e := range append(slices.Clone(s.holders), s.queue...) {
				if e.client == a.id {
					own = append(own, e)
				}
			}
			if len(own) > 0 {
				s.leave(own[w.random.IntN(len(own))], w.random.IntN(2) == 0, w.now)
				w.serve(s)
			}
		})
	case 4:
		if w.random.IntN(3) == 0 {
			a.dead = true
		} else {
			w.now += stamp(w.random.IntN(3))
		}
	}
}

func (w *world) join(s *state, a *actor) {
	if len(s.queue) > 6 {
		return
	}
	w.made++
	e := &entry{phase: waiting, client: a.id, attempt: fmt.Sprintf("%032x", w.made), mode: driver.Mode(1 + w.random.IntN(2))}
	if s.permits {
		e.mode, e.n = driver.Permits, 1+w.random.IntN(s.limit)
	}
	if w.random.IntN(3) == 0 {
		e.keep = 3
	}
	s.queue = append(s.queue, e)
	w.serve(s)
}

// rest lets everybody look who has something to look at, until nobody has.
func (w *world) rest() {
	for busy := true; busy; {
		busy = false
		for _, a := range w.alive() {
			if !a.dead && w.due(a) {
				w.look(a)
				busy = true
			}
		}
	}
}

// check: nobody who is alive waits behind the dead, or for a lock that it could have, or holds and does not know.
func (w *world) check() {
	s := w.load()
	for _, h := range append(slices.Clone(s.holders), s.ghosts...) {
		if a := w.clients[h.client]; a != nil && !a.dead && !a.knows[h.knowledge()] {
			w.t.Fatalf("seed %d: %s was not told what became of its hold:\n%s", w.seed, h.client, w.text)
		}
	}
	for _, client := range s.clients() {
		if w.clients[client].dead {
			s.bury(client, w.now)
		}
	}
	s.settle(w.now)
	if len(s.queue) > 0 && s.fits(s.queue[0], s.holders) {
		w.t.Fatalf("seed %d: %s could have the lock, and nobody will tell it:\n%s", w.seed, s.queue[0].client, w.text)
	}
	for i, e := range s.queue { // whom it will have to see
		if a := w.clients[e.client]; i == 0 && !s.watchOf(0).within(a.watches) {
			w.t.Fatalf("seed %d: %s is next, and watches %q:\n%s", w.seed, e.client, a.watches, w.text)
		}
	}
}

func TestNobodyIsForgotten(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 50
	}
	first := rand.Uint64()
	for i := range seeds {
		seed := first + uint64(i)
		w := &world{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 4)), now: 1, clients: make(map[string]*actor)}
		s := &state{name: "x", permits: i%2 == 0}
		if s.permits {
			s.limit = 4
		}
		w.text = string(s.encode(nil))
		for range 150 {
			w.step()
			if w.random.IntN(3) == 0 {
				w.rest()
				w.check()
			}
		}
	}
}
