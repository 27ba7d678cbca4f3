// Package worker is a process of a torture run that uses locks: so that it can be stopped, killed and cut off for real, and for its
// own sake alone.
//
// The controller writes a Config to its standard input, one line of JSON, and commands later, one line each. When that input ends
// the controller has gone, and the process ends at once, with all it holds.
//
//	drain      begin nothing new; end what was begun, close the clients, say what is left of goroutines and descriptors, end with code 0
//	arm        die at the next point that Reached is called from
//	break N    break whoever holds lock N, at once: an administrator's hand
//
// # Work
//
// Each worker is a goroutine that does one thing after the other, chosen by the Mix and the seed:
//
//	use       Lock, read both registers, think, write both, Unlock
//	try       TryLock, and the same if it got it
//	long      the same, but it keeps the lock for a whole TTL, over three renewals, before it writes
//	give up   Lock with a deadline that is probably too short
//	die       Lock, read, and kill −9 to itself before it has written
//	inspect   who holds it?
//	lead      Campaign, and the same as use
//
// What fails is recorded, and why is said on standard error, in one line: process, attempt, lock and the error's text.
//
// A worker writes only if its hold is still good as far as it knows: its context has not ended. What it cannot know the fence must.
package worker

import (
	"time"

	"holdfast.dev/torture/internal/history"
)

// A Config is what the controller tells a process.
type Config struct {
	Process   uint32        // its number
	Workers   []uint16      // the numbers of its workers
	PerClient int           // how many workers share a client
	Seed      uint64        // of this process
	History   string        // the file to append to
	Resource  string        // the socket of the registers
	Store     string        // what to open: an URL, or what the Opener knows
	TTL       time.Duration // of all locks
	Locks     []history.LockMeta
	Mix       Mix
	Alone     bool // the store is inside this process: it says at the end what is left there
}

// A Mix says how often each thing is done: weights, of any sum.
type Mix struct {
	Use, Try, Long, GiveUp, Die, Inspect, Lead int

	Hot   int           // of a hundred, how many go to the first lock; the others share the rest
	Pause time.Duration // at most, between two things
	Think time.Duration // at most, between reading and writing
}

// Plan is the mix of the plan: 60 % use, 15 % try, 10 % hold over three renewals, 5 % each give up, die and inspect. A twentieth of
// the uses is done as a leader.
var Plan = Mix{Use: 57, Lead: 3, Try: 15, Long: 10, GiveUp: 5, Die: 5, Inspect: 5, Hot: 30,
	Pause: 2 * time.Millisecond, Think: 2 * time.Millisecond}

// Variable is the environment variable that makes a program a worker process, if it has asked Invoked.
const Variable = "HOLDFAST_TORTURE_WORKER"

// What Variable can say.
const (
	ModeWork = "work" // Main
	ModeBurn = "burn" // use all the time there is, until standard input ends
)
