// Package generate makes histories of a lock that does nothing wrong. A checker that raises an alarm on one of them is wrong itself.
//
// A history is what a small world leaves: a lock service, two registers behind each of its locks, worker processes, and a
// controller that disturbs them. The world runs on events in a time of its own, which costs nothing: hours pass in a second. All
// that happens comes out of the seed.
//
// # Why the histories are good
//
// Nothing in here looks at a history. It is good by construction:
//
//  1. The service handles one request at a time, at the moment at which it arrives. It grants a lock only when nobody has it, each
//     time with a greater token, to the first in the queue.
//  2. It keeps a hold for the TTL after the last request for it has arrived. A worker believes in it for the TTL, less a margin,
//     after that request was *sent*, so it stops earlier.
//  3. A waiter keeps its place by asking again. Who is handed the lock has it for as long as its place was good for, so that one that
//     is dead, stopped or cut off costs the others no more than a TTL.
//  4. Undoing leaves a mark by which the service knows a request that comes after it.
//  5. The fenced register refuses a token smaller than the greatest that it has seen, in reads as well as in writes.
//  6. A worker whose write has no answer writes nothing more under that hold: a write that is late meets nothing of its own.
//
// # What is ugly in them, and allowed
//
// Requests and answers that are lost, or come after the TTL; attempts that nobody has an answer of, many at a time, of which some
// have been granted and some will be; an undone attempt that is granted afterwards, because its request was slow, and ends by its TTL; a grant that
// is learned when it has run out; renewals on their way while the release is; renewals recorded before their grant; a worker that
// is stopped inside, loses its lock, continues, and writes where nothing fences it: an unfenced loss.
package generate

import (
	"math/rand/v2"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// Options say what kind of a round it is. The zero value is one of 3,000 operations with faults within what a store can bear.
type Options struct {
	Operations int           // attempts and inspections until workers begin nothing new; 0: 3,000
	Workers    int           // 0: 8 to 32, out of the seed
	TTL        time.Duration // 0: a second
	Class      string        // none, within, or beyond: then the service also forgets its holds; "": within
	NoExpiry   bool          // as with files: nothing runs out, nothing gets lost, and a hold ends with its process
	Unfenced   bool          // the service has no tokens
}

// withDefaults fills in what was left to us.
func (o Options) withDefaults(random *rand.Rand) Options {
	if o.Operations == 0 {
		o.Operations = 3000
	}
	if o.Workers == 0 {
		o.Workers = 8 + random.IntN(25)
	}
	if o.TTL == 0 {
		o.TTL = time.Second
	}
	if o.Class == "" {
		o.Class = "within"
	}
	return o
}

// Good returns the history of a round in which the lock did nothing wrong. Equal seeds and options make equal histories.
func Good(seed uint64, o Options) *history.History {
	random := rand.New(rand.NewPCG(seed, 0x686f6c64))
	s := newSim(random, o.withDefaults(random))
	s.run()
	h, err := history.New(s.meta(seed), s.records)
	if err != nil {
		panic("generate: a record that no history has: " + err.Error()) // a mistake in this package, not in its use
	}
	return h
}

// meta is what a round's controller knows.
func (s *sim) meta(seed uint64) history.Meta {
	m := history.Meta{
		Number: 1, Seed: seed, Began: time.Unix(0, 0).UTC(), Store: "generated", Class: s.o.Class, TTL: s.o.TTL,
		Duration: s.drainAt.Sub(began), Workers: s.o.Workers, Faults: s.faults, FIFO: true, Fencing: "durable",
	}
	if s.o.Unfenced {
		m.Fencing = "none"
	}
	for _, l := range s.locks {
		m.Locks = append(m.Locks, history.LockMeta{Name: l.name, Leader: l.leader})
	}
	return m
}

// began is when rounds begin: 0 is no time.
const began = driver.Instant(time.Hour)
