package check

import (
	"fmt"
	"sort"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A register is one of the two behind a lock.
type register struct {
	lock   uint16
	fenced bool
}

func (g register) String() string {
	if g.fenced {
		return "the fenced register"
	}
	return "the unfenced register"
}

func registerOf(r history.Record) register {
	return register{r.Lock, r.Flags&history.Fenced != 0}
}

// A lostUpdate is a write that destroyed what it had not seen.
type lostUpdate struct {
	register
	history.Record       // the write
	found          int64 // instead of one less than it wrote
}

// findLost replays what the registers' process has applied, in its order. Registers begin with 0.
func (r *round) findLost() []lostUpdate {
	var lost []lostUpdate
	numbers := make(map[register]int64)
	for _, rec := range r.Records {
		if rec.Op != history.Write || rec.Phase != history.Applied {
			continue
		}
		g := registerOf(rec)
		if found := numbers[g]; found != rec.Value-1 {
			lost = append(lost, lostUpdate{g, rec, found})
		}
		numbers[g] = rec.Value
	}
	return lost
}

// fencedLoss is the first half of checker 3: nothing that a fence protects is lost.
func fencedLoss(r *round) []Violation { return r.tellLost(true) }

// unfencedLoss is never a violation: a lock alone cannot prevent it.
func unfencedLoss(r *round) []Violation { return r.tellLost(false) }

func (r *round) tellLost(fenced bool) []Violation {
	var found []Violation
	for _, l := range r.lost {
		if l.fenced == fenced {
			found = append(found, r.violation("registers", r.locks[l.Lock], l.At, []uint64{l.Attempt},
				"worker %d of process %d (token %d) wrote %d to %v, which had %d already: an update is lost",
				l.Worker, l.Process, l.Token, l.Value, l.register, l.found))
		}
	}
	return found
}

// A version is a number that a register had, since when. It had it until the next.
type version struct {
	at     driver.Instant
	number int64
}

// A write is a worker's, by what can be compared with what was applied.
type write struct {
	register
	attempt uint64
	value   int64
}

// A log is what the registers' process says, and what the workers say that they asked it.
type log struct {
	*round
	versions map[register][]version
	places   map[register]map[int64][]int // of a number in the versions
	found    []Violation

	applied map[write]int
	ok      map[write]int
	unknown map[write]int            // without an answer, or with one that says nothing
	asked   map[write]history.Record // the first
	open    map[call]history.Record  // without an answer
}

// rig is the other half of checker 3: what workers know of the registers is what the registers know. If not, the test itself does
// not work, and nothing that the registers seem to prove counts.
func rig(r *round) []Violation {
	g := &log{round: r, versions: make(map[register][]version), places: make(map[register]map[int64][]int),
		applied: make(map[write]int), ok: make(map[write]int), unknown: make(map[write]int),
		asked: make(map[write]history.Record), open: make(map[call]history.Record)}
	for _, rec := range r.Records {
		if (rec.Op == history.Read || rec.Op == history.Write) && rec.Phase == history.Applied {
			g.apply(rec)
		}
	}
	for _, rec := range r.Records {
		if rec.Op != history.Read && rec.Op != history.Write {
			continue
		}
		switch rec.Phase {
		case history.Asked:
			g.ask(rec)
		case history.Done:
			g.answer(rec)
		}
	}
	g.compare()
	return g.found
}

func (g *log) tell(rec history.Record, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	g.found = append(g.found, g.violation("registers", g.locks[rec.Lock], rec.At, []uint64{rec.Attempt},
		"the test itself does not work: worker %d of process %d (token %d) %s", rec.Worker, rec.Process, rec.Token, what))
}

// apply adds to the versions, and compares what was read with the last.
func (g *log) apply(rec history.Record) {
	reg := registerOf(rec)
	now := int64(0)
	if all := g.versions[reg]; len(all) > 0 {
		now = all[len(all)-1].number
	} else {
		g.places[reg] = map[int64][]int{}
		g.add(reg, version{0, 0})
	}
	if rec.Op == history.Write {
		g.applied[write{reg, rec.Attempt, rec.Value}]++
		g.add(reg, version{rec.At, rec.Value})
	} else if rec.Value != now {
		g.tell(rec, "was given %d by %v, which had %d", rec.Value, reg, now)
	}
}

func (g *log) add(reg register, v version) {
	places := g.places[reg]
	places[v.number] = append(places[v.number], len(g.versions[reg]))
	g.versions[reg] = append(g.versions[reg], v)
}

func (g *log) ask(rec history.Record) {
	g.open[callOf(rec)] = rec
	if rec.Op == history.Write {
		w := write{registerOf(rec), rec.Attempt, rec.Value}
		g.unknown[w]++ // until it is answered
		if _, before := g.asked[w]; !before {
			g.asked[w] = rec
		}
	}
}

func (g *log) answer(rec history.Record) {
	reg := registerOf(rec)
	asked := g.open[callOf(rec)]
	delete(g.open, callOf(rec))
	switch {
	case rec.Op == history.Read:
		if rec.Outcome == history.OK && !g.had(reg, rec.Value, asked.At, rec.At) {
			g.tell(rec, "read %d from %v, which did not have it in the %s meanwhile", rec.Value, reg, ms(rec.At.Sub(asked.At)))
		}
	case rec.Outcome != history.Failed:
		w := write{reg, rec.Attempt, asked.Value}
		g.unknown[w]--
		if rec.Outcome == history.OK {
			g.ok[w]++
		}
	}
}

// had reports whether a register had a number at any time from one moment to another.
func (g *log) had(reg register, number int64, from, to driver.Instant) bool {
	all := g.versions[reg]
	if len(all) == 0 {
		return number == 0
	}
	places := g.places[reg][number]
	// Of its stretches that had begun by then the last one ended last.
	n := sort.Search(len(places), func(i int) bool { return all[places[i]].at > to })
	if n == 0 {
		return false
	}
	next := places[n-1] + 1
	return next == len(all) || all[next].at >= from
}

// compare finds writes that were applied too seldom or too often.
func (g *log) compare() {
	for _, rec := range g.Records {
		if rec.Op != history.Write || rec.Phase != history.Asked && rec.Phase != history.Applied {
			continue
		}
		w := write{registerOf(rec), rec.Attempt, rec.Value}
		applied, ok, unknown := g.applied[w], g.ok[w], g.unknown[w]
		_, asked := g.asked[w]
		switch {
		case applied < ok:
			g.tell(rec, "has an answer that %d was written to %v %s, and it was %s", w.value, w.register, times(ok), times(applied))
		case applied > ok+unknown && asked:
			g.tell(rec, "wrote %d to %v %s, and may have %s: otherwise it was refused", w.value, w.register, times(applied), times(ok+unknown))
		case !asked:
			g.tell(rec, "wrote %d to %v, and never asked for it", w.value, w.register)
		}
		g.ok[w], g.unknown[w] = applied, 0 // it is told once
		g.asked[w] = rec
	}
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
