package driver

import (
	"context"
	"iter"
	"os"
	"time"
)

// What a Store may also be. The core asks by type assertion; absent means ErrUnsupported. A name that is none is ErrName here too.

// An Inspector shows who holds and who waits. It never changes anything, and never shows an attempt's id.
type Inspector interface {
	// Inspect shows the lock, or with Permits the semaphore, of that name. One that nobody holds or waits for is no error: its
	// Info has neither holders nor waiters.
	Inspect(ctx context.Context, name string, mode Mode) (*Info, error)

	// List shows everything whose name begins with prefix, which is "" or as CheckName allows, and that somebody holds or waits
	// for, in no particular order; what changes meanwhile may be missing or be shown as it was. It ends after the first error.
	List(ctx context.Context, prefix string) iter.Seq2[*Info, error]
}

// Info is what can be seen of a lock or a semaphore. Times are durations: clocks differ between machines.
type Info struct {
	Name    string
	Mode    Mode // Permits for a semaphore; otherwise the mode of its holders, or Exclusive
	Limit   int  // Permits
	Holders []Holder
	Waiters []Waiter      // in the order in which they will be served; with Guarantees.FIFO all of them, else as far as known
	Guard   time.Duration // > 0: nothing is granted for so long
	Why     string        // with Guard, for people: "this Redis started 2s ago"
}

// A Holder is somebody who holds. Kept is a hold that has ended but whose MinHold has not: taken by nobody, until Left is over.
type Holder struct {
	Label  string
	Token  uint64
	Mode   Mode
	N      int           // Permits
	Held   time.Duration // since the grant
	Left   time.Duration // until the store lets go unless renewed; Forever: nothing runs out
	Kept   bool
	Broken bool // told to end by Break
}

// A Waiter is somebody who waits.
type Waiter struct {
	Label  string
	Mode   Mode
	N      int // Permits
	Waited time.Duration
}

// Forever is Holder.Left of a hold that never runs out.
const Forever time.Duration = 1<<63 - 1

// A Breaker ends other people's holds.
type Breaker interface {
	// Break ends exactly the hold with that token (of a reader: all readers of its generation): nil, or ErrGone when there is
	// none. Later tokens are greater.
	//
	//  B1. Its holder is told *Broken by Lost, where the store can push, and by its next Renew. Where one lease is for many holds
	//      Renew cannot tell which, and where there is none nobody asks: there Lost must, and before
	//      a Renew of that lease succeeds again: else the broken hold would seem renewed with the others.
	//  B2. Without Now it is not renewed again, and moves on when its holder releases it or when its TTL is over: exclusion is kept,
	//      and so is its Keep. Once it has ended, Renew says *Broken and ErrGone both.
	//  B3. With Now it is freed at once, Keep included: the holder may still be at work, and only the fence helps.
	Break(ctx context.Context, b *BreakRequest) error
}

// A BreakRequest names the hold to end, and who ends it.
type BreakRequest struct {
	Name  string
	Mode  Mode // Permits: the semaphore of that name
	Token uint64
	Now   bool
	By    string // the label of whoever breaks it, told to the holder
}

// A Keeper is a store whose holds end with this process because the kernel then closes files of it: a lock's file, a connection.
// Nothing runs out there, and nothing is renewed: files that are open are all that keeps a hold.
//
// It is for a program that has its work done by other processes. If that program is killed its locks are free at once, while the
// work goes on. So it gives copies of those files to a guard, a small process that ends the work should the program die, and then
// ends itself: the locks are not free before the work has ended.
type Keeper interface {
	// Files returns copies of the open files by which the others see that this client is alive. They are the caller's to close. No
	// process inherits them unless it is given them (exec.Cmd.ExtraFiles does that). ErrUnsupported: not on this system.
	//
	//  K1. As long as copies of all of them are open, in whatever process, the client is taken for alive, also when its own process
	//      has been killed: what it held then stays held. Waits are not served by it: those that the client had keep their places,
	//      and when their turn comes the lock is theirs, with nobody to use it. Nothing is renewed by it.
	//  K2. When the last copy is closed, by whatever process, and the client's own process has ended, its holds end as after a kill,
	//      at once; a Keep runs on.
	//  K3. For a client that lives a copy changes nothing: Release, Break and Close do what they do without it, and what was released,
	//      or ended by Close, is not kept by a copy.
	//  K4. When its process has been killed, Break works as for a process that hangs: gently, the hold stays until the copies are
	//      closed; with Now it is freed at once.
	//  K5. The copies stand for all that the client holds, also for what it gets later, until it is told ErrSession; then they stand
	//      for nothing, and new ones are asked for.
	//
	// Whoever has a copy leaves it open, and closes it: nothing else. One that is forgotten in a process that lives on keeps the locks
	// of a dead client for as long.
	Files() ([]*os.File, error)
}

// A Defaulter is a store that was opened with defaults for what its clients do not say.
type Defaulter interface {
	// DefaultTTL is the TTL of requests for which the program names none; 0: the core's own.
	DefaultTTL() time.Duration
}

// A Warner is a store that works, but that its user may have set up otherwise than was meant. What is wrong is refused, and what is not
// promised stands in Guarantees; this is for what is neither. Absent means that there is nothing to say.
type Warner interface {
	// Warnings says what is odd about how the store was opened, and what to do about it, for people: each is a part of a sentence, on one line,
	// without secrets. It goes by what is known and asks nobody, so that it can be called at any time, after Close too.
	Warnings() []string
}

// A Counter shows re-entry on the wire, for stores whose format has a count (Redisson). The store's hold still begins with
// Acquire and ends with Release.
type Counter interface {
	// Count says that r's hold is now entered n times, n ≥ 1: nil, ErrGone, or unknown.
	Count(ctx context.Context, r *Request, n int) error
}

// Periods is a durable record of work that must be done at most once per period. It is apart from the locks of the same names.
type Periods interface {
	// Period returns the newest period recorded for name with its token and outcome; ErrGone when there is none.
	Period(ctx context.Context, name string) (*Period, error)

	// Record writes p for name unless a period that is not older, or a greater token, is recorded: then it returns that one and
	// ErrStale. It is atomic, and idempotent for equal p.
	Record(ctx context.Context, name string, p Period) (*Period, error)
}

// A Period is one recorded period.
type Period struct {
	Period  string // compared as text: "2026-11-15", "2026-W46"
	Token   uint64 // of the hold under which it was recorded
	Outcome string // short, for people and for the caller
}

// A Doctor looks for what is wrong with the deployment.
type Doctor interface {
	Diagnose(ctx context.Context) iter.Seq2[Finding, error]
}

// A Finding is one thing that a Doctor saw.
type Finding struct {
	Severity Severity
	What     string // what was found
	Risk     string // what can go wrong
	Mend     string // the exact setting that mends it
}

// Severity of a Finding.
type Severity uint8

const (
	Good    Severity = iota // looked at, and well
	Notice                  // worth knowing
	Warning                 // can delay or lose a hold under a fault
	Danger                  // can let two hold at once
)
