package generate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// sim is the world: its time, its parts, and what has been recorded of it.
type sim struct {
	o      Options
	random *rand.Rand
	faults []history.FaultMeta

	now    driver.Instant
	agenda agenda
	seq    uint64

	records []history.Record
	locks   []*lock
	net     network
	guard   driver.Instant // until then the service grants nothing
	margin  time.Duration  // by which a holder stops earlier than the service

	processes []*process // those that live
	numbers   uint32     // of processes
	attempts  uint64
	begun     int            // operations
	latest    driver.Instant // when the last was begun, or would have been
	drainAt   driver.Instant
}

func newSim(random *rand.Rand, o Options) *sim {
	s := &sim{o: o, random: random, now: began, latest: began, margin: max(2*time.Millisecond, o.TTL/100)}
	s.net.cut = make(map[uint32]bool)
	s.locks = append(s.locks, &lock{sim: s, name: "hot"})
	for i := range 8 {
		s.locks = append(s.locks, &lock{sim: s, name: fmt.Sprintf("warm-%d", i+1)})
	}
	s.locks = append(s.locks, &lock{sim: s, name: "leader", leader: true})
	for i, l := range s.locks {
		l.index = uint16(i)
	}
	s.records = make([]history.Record, 0, 18*o.Operations)
	return s
}

// perProcess is how many workers a process has.
const perProcess = 2

// run lets the world go on until nobody does anything any more.
func (s *sim) run() {
	s.record(history.Record{Op: history.Round, Phase: history.Began})
	for first := 0; first < s.o.Workers; first += perProcess {
		s.start(uint16(first), min(perProcess, s.o.Workers-first))
	}
	s.planFaults()
	for len(s.agenda) > 0 {
		e := s.agenda.pop()
		s.now = e.at
		if s.now.Sub(s.latest) > 1000*s.o.TTL {
			panic("generate: nobody does anything any more, but it does not end") // a mistake in this package
		}
		e.do()
	}
	s.record(history.Record{Op: history.Round, Phase: history.Drained})
	s.now = s.now.Add(2 * s.o.TTL)
	s.record(history.Record{Op: history.Round, Phase: history.Leak})
	s.record(history.Record{Op: history.Round, Phase: history.Ended})
}

// operation counts one, and reports whether there may be more.
func (s *sim) operation() bool {
	s.latest = s.now
	if s.drainAt != 0 {
		return false
	}
	if s.begun >= s.o.Operations {
		s.drainAt = s.now
		s.record(history.Record{Op: history.Round, Phase: history.Draining})
		return false
	}
	s.begun++
	return true
}

func (s *sim) at(t driver.Instant, do func()) {
	s.seq++
	s.agenda.push(event{t, s.seq, do})
}

func (s *sim) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

func (s *sim) record(r history.Record) {
	r.At = s.now
	s.records = append(s.records, r)
}

// between returns a length of time, from a to b.
func (s *sim) between(a, b time.Duration) time.Duration {
	return a + time.Duration(s.random.Int64N(int64(b-a)+1))
}

// ttl returns a length of time between two multiples of the TTL.
func (s *sim) ttl(a, b float64) time.Duration {
	return s.between(time.Duration(a*float64(s.o.TTL)), time.Duration(b*float64(s.o.TTL)))
}

// once in n.
func (s *sim) once(n int) bool { return s.random.IntN(n) == 0 }
