// Package arena is where locks are tortured: a store, real and private, the ways to it, and all that can be done to both.
//
// # Another store
//
// It is one file: a Kind with a name, the driver's own Assumptions, and a Start that returns an Arena. An Arena says what a worker
// process opens, and which Causes it has: what Network and Server know how to do to any proxy and any server, what Workers can
// do to any process, and what only this store has. Every fault that the driver lists must have a Cause, and every Cause must be listed
// by the driver: a test compares them. To which class a fault belongs only the driver says.
//
// # Causes
//
// A Cause brings a fault about, lets it last, and mends it: when Do returns everything works again, and the server answers. All chance
// comes from Scene.Random, so that a seed gives the same schedule again.
package arena

import (
	"context"
	"math/rand/v2"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A Kind of store.
type Kind struct {
	Name        string
	Assumptions func() []driver.Assumption

	// Needs are programs that must be in PATH, each with the Debian package that has it.
	Needs map[string]string

	// TTLs are those that its rounds choose from, if not the usual ones: where a failover takes a second or two, what a shorter hold would
	// have met is over by itself.
	TTLs []time.Duration

	// Votes: a majority of servers decides, so that two who ask at the same time can refuse each other while nobody has the lock.
	Votes bool

	// OneProcess: all workers are goroutines of one process, because the store is inside it.
	OneProcess bool

	Start func(ctx context.Context, o Options) (Arena, error)
}

// Kinds are the stores that there are.
func Kinds() []Kind {
	return []Kind{memory(), file(), redis(), replicas(), sentinel(), redlockOf(3), redlockOf(5)}
}

// Find returns the kind of that name.
func Find(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Options is how an arena is wanted.
type Options struct {
	Dir       string // of its own, empty; removed by whoever made it
	TTL       time.Duration
	Processes int            // how many worker processes there will be
	Faults    []driver.Fault // that it must be able to cause
}

// An Arena is a store that was started.
type Arena interface {
	Store(process int) string // what the n-th process opens: an URL
	Causes() map[driver.Fault]Cause

	// Settle makes good what faults have left behind for good, such as a clock that goes wrong. Nobody holds anything any more.
	Settle(ctx context.Context) error

	Left(ctx context.Context) ([]string, error) // what is in the store and should not, two TTLs after all have ended
	Versions() []string                         // of programs: "redis 7.0.15"
	Close() error
}

// An arena that must be Warm has a store that serves nobody at first. Warm returns when it does.
type Warm interface {
	Warm(ctx context.Context) error
}

// An arena with a Pulse has a server that can be asked something, so that it is known when it had no time to answer.
type Pulse interface {
	Pulse(ctx context.Context) error
}

// An arena with Logs has a server that says what it does.
type Logs interface{ Logs() string }

// A Scripted arena has its faults at fixed times, instead of by chance.
type Scripted interface{ Script() []Step }

// A Step of a script is a fault at its time.
type Step struct {
	After time.Duration // since the beginning of the round, at the earliest
	Name  string
	Cause Cause
}

// A Cause brings a fault about.
type Cause struct {
	Do    func(ctx context.Context, s *Scene) error
	Heals time.Duration // what must pass after it, beyond a TTL, before somebody can acquire: a guard
	Loses bool          // the store forgets holds, at once

	Forgets bool // it also forgets tokens, if they are volatile
}

// A Scene is what causes can reach.
type Scene struct {
	TTL     time.Duration
	Locks   []string
	Random  *rand.Rand
	Workers Workers

	pass func(ctx context.Context, d time.Duration) error // instead of time that passes, for tests that look what is there meanwhile; or nil
}

// Workers are the processes that use the locks.
type Workers interface {
	Count() int
	Stop(process int) (goOn func()) // it stands still until goOn
	StopInside(ctx context.Context) (goOn func(), err error)
	Kill(process int)

	// Inside calls do when the next worker has read the fenced register, before it is answered, with the place of its process.
	Inside(ctx context.Context, do func(process int)) error
	Retire(process int) // Kill, and nobody takes its place

	// StopWriting stops the process whose write to the fenced register is the next, and keeps that write until another process has
	// done the same to the register (history.Read or Write), or ctx ends.
	StopWriting(ctx context.Context, until history.Op) error

	Tell(process int, line string)
	Burn(ctx context.Context, processes int) (end func(), err error) // so many processes use all the time they get
}

// Pass lets time pass.
func (s *Scene) Pass(ctx context.Context, d time.Duration) error {
	if s.pass != nil {
		return s.pass(ctx, d)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Between returns a duration between two multiples of the TTL.
func (s *Scene) Between(least, most float64) time.Duration {
	return time.Duration((least + (most-least)*s.Random.Float64()) * float64(s.TTL))
}

// Process returns one of the processes.
func (s *Scene) Process() int { return s.Random.IntN(s.Workers.Count()) }
