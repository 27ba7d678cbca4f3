// Package round runs torture: a store, worker processes that use its locks, and a schedule of faults, all of it from a seed, for some
// seconds. What happened is in the files of the round's directory, and nowhere else: whoever judges a round reads them.
//
//	meta.json        what is known about the round
//	controller.hist  faults, stops, kills, the round itself
//	registers.hist   what was read and written, in the order in which it took place
//	process-N.hist   what a worker process did and saw
//	log.txt          what the worker processes said, and the end of the server's log
//
// # A round
//
//  1. The store is started, and the worker processes. A process that is killed, or kills itself, is replaced by a new one with a
//     number of its own.
//  2. Faults come one after the other, now and then two at once, chosen by the seed. Half of the times there is a pause after one that is long enough to see that
//     somebody acquires again, and that nobody is overtaken; half of the times the next one comes soon.
//  3. At the end the workers drain: they begin nothing new, and whoever waits must be served. If they have not ended in time
//     they never would have: the record Drained is missing.
//  4. Two TTLs later the store must be empty.
package round

import (
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
	"holdfast.dev/torture/internal/worker"
)

// A Plan is what a round is to be.
type Plan struct {
	Number   int    // in its bundle
	Run      uint64 // the seed of the whole run
	Turn     int    // of the run
	Seed     uint64
	Kind     arena.Kind
	Class    string         // of the faults; "none" without any
	Faults   []driver.Fault // in the order in which they come first; then by chance
	TTL      time.Duration
	Duration time.Duration
	Workers  int
	PerEach  int // how many workers share a process, unless the store is inside one
	Locks    []history.LockMeta
	Mix      worker.Mix
	Gate     resource.Gate
	Patience time.Duration // how long draining may take; 0: as long as any store may
	Command  []string      // starts a worker process
	Watch    func(State)   // is told how it goes, from time to time; may be nil
}

// A State is how a round goes.
type State struct {
	Fault      string // that is going on; "" for none
	Operations int
	Elapsed    time.Duration
	Phase      string // starting, running, draining, settling
}

// Locks are those of the plan: a hot one, eight warm ones, and an election.
func Locks() []history.LockMeta {
	locks := []history.LockMeta{{Name: "hot"}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		locks = append(locks, history.LockMeta{Name: "warm/" + name})
	}
	return append(locks, history.LockMeta{Name: "leader", Leader: true})
}
