package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// Errors to compare with errors.Is. Taken, unreachable, cancelled, guarded and lost are never confused: an error is ErrHeld only
// if somebody was seen to hold the lock, a *StoreError only if the store gave no usable answer, or refused for another reason.
var (
	// ErrHeld: somebody else holds the lock. See *HeldError for who. After a wait that its context cut off, the error is also
	// ctx.Err().
	ErrHeld = errors.New("the lock is held")

	// ErrGuarded: nobody can get the lock yet, because the store restarted or failed over. See *GuardedError.
	ErrGuarded = errors.New("the store is guarded")

	// ErrLost: the hold ended before it was unlocked, so the work done under it was not protected to its end. See *LostError for
	// why. Undo or re-check the work, or rely on the fence.
	ErrLost = errors.New("the lock was lost")

	// ErrNotHeld: there is no such hold (Break).
	ErrNotHeld = errors.New("no such hold")

	// ErrReleased: the hold was unlocked before. Harmless after Unlock; anywhere else a sign of use after Unlock.
	ErrReleased = errors.New("it was unlocked before; Lock again to go on")

	// ErrClosed: the client was closed. Open a new one.
	ErrClosed = driver.ErrClosed

	// ErrName: the name is not 1 to 512 bytes of valid UTF-8 without control characters.
	ErrName = driver.ErrName

	// ErrTTL: a duration is out of the bounds that the message names.
	ErrTTL = errors.New("duration out of bounds")

	// ErrArgument: a function, locker or store is nil, or an option contradicts itself: a mistake in the calling program.
	ErrArgument = errors.New("bad argument")

	// ErrURL: the store's URL is malformed, its scheme has no driver, or a parameter is unknown.
	ErrURL = driver.ErrURL

	// ErrUnsupported: the store cannot do that. Guarantees tells what it can.
	ErrUnsupported = driver.ErrUnsupported

	// ErrUpgrade: the context holds the lock for reading, and Lock for writing would wait for that reader for ever. Unlock it
	// first, or lock for writing from the start.
	ErrUpgrade = errors.New("it is held for reading by the same context: a writer would wait for itself; unlock the reader first, or lock for writing from the start")

	// ErrDeadlock: waiting would never end, or might not: the store found it, or Multi, because the context already holds a lock
	// that everybody else takes later.
	ErrDeadlock = driver.ErrDeadlock
)

// A HeldError says who holds a lock that could not be had. It is ErrHeld.
type HeldError struct {
	Name    string
	Holders []Holder      // as last seen
	RetryIn time.Duration // when it is worth asking again; 0: not known
	Own     bool          // this client itself holds it
	Err     error         // ctx.Err() after a wait that was cut off; else nil
}

func (e *HeldError) Error() string {
	what := "lock"
	if len(e.Holders) > 0 {
		what = kind(e.Holders[0].Mode)
	}
	text := fmt.Sprintf("holdfast: %s %q is %v", what, e.Name, &driver.Held{Holders: e.Holders, RetryIn: e.RetryIn})
	if e.Err != nil {
		text = fmt.Sprintf("holdfast: %s %q: gave up waiting, it is %v", what, e.Name, &driver.Held{Holders: e.Holders})
	}
	if e.Own && what == "lock" {
		text += "; that is this client itself: to enter it again, Lock with a context of that hold (Hold.Context, Do)"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is makes a HeldError ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// Unwrap returns ctx.Err() after a wait that was cut off.
func (e *HeldError) Unwrap() error { return e.Err }

// A LimitError says that a semaphore is used with different limits, and names both; or that more permits than the limit are asked
// for, which is ErrArgument too.
type LimitError = driver.LimitError

// A GuardedError says for how long the store grants nothing to anybody. It is ErrGuarded.
type GuardedError struct {
	Name string
	Left time.Duration
	Why  string // for people, as far as known: "this Redis started 2s ago"
	Err  error  // ctx.Err() after a wait that was cut off; else nil
}

func (e *GuardedError) Error() string {
	text := fmt.Sprintf("holdfast: lock %q: %v", e.Name, &driver.Guarded{Left: e.Left, Why: e.Why})
	if e.Err != nil {
		text += ": gave up waiting: " + e.Err.Error()
	}
	return text
}

// Is makes a GuardedError ErrGuarded.
func (e *GuardedError) Is(target error) bool { return target == ErrGuarded }

// Unwrap returns ctx.Err() after a wait that was cut off.
func (e *GuardedError) Unwrap() error { return e.Err }

// A Reason says why a hold was lost.
type Reason string

const (
	ReasonExpired Reason = "expired" // it could not be renewed in time: it may be somebody else's from now on
	ReasonTaken   Reason = "taken"   // the store no longer knows it: it may be somebody else's already
	ReasonSession Reason = "session" // the session or connection that kept it has ended
	ReasonBroken  Reason = "broken"  // somebody ended it by Break
	ReasonMaxHold Reason = "maxhold" // it reached its MaxHold
)

// A LostError says which hold was lost, and why. It is ErrLost, and the cause of the hold's contexts.
type LostError struct {
	Name   string
	Mode   Mode // Permits: of the semaphore of that name
	Token  uint64
	Reason Reason
	Err    error // what the store said, if it said something; of an expired hold, why the last renewal failed
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("holdfast: %s %q (token %d) was lost: ", kind(e.Mode), e.Name, e.Token)
	switch e.Reason {
	case ReasonExpired:
		text += "its time was over, and it was not renewed"
	case ReasonTaken:
		text += "the store no longer has it"
	case ReasonSession:
		text += "the session that kept it ended"
	case ReasonBroken:
		if text += "it was broken"; e.Err != nil {
			return strings.TrimSuffix(text, "it was broken") + e.Err.Error()
		}
	case ReasonMaxHold:
		text += "it was held for as long as MaxHold allows"
	default:
		text += string(e.Reason)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is makes a LostError ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns what the store said.
func (e *LostError) Unwrap() error { return e.Err }

// A StoreError says that the store could not be asked, did not answer, or refused: which operation, on which store.
type StoreError struct {
	Op    string // lock, unlock, check, inspect, …
	Name  string // of the lock, if it is about one
	Store string // without secrets
	Node  string // of a store with several, if known
	Err   error
}

func (e *StoreError) Error() string {
	where := e.Store
	if e.Node != "" {
		where += " (" + e.Node + ")"
	}
	op := e.Op
	if e.Name != "" {
		op = fmt.Sprintf("%s %q", op, e.Name)
	}
	return fmt.Sprintf("holdfast: %s: store %s: %v", op, where, e.Err)
}

// Unwrap returns the error of the store or of the way to it.
func (e *StoreError) Unwrap() error { return e.Err }

// A RequirementError says what a store lacks of what Require asked for. It is ErrUnsupported.
type RequirementError struct {
	Store   string
	Missing []string
}

func (e *RequirementError) Error() string {
	text := "holdfast: store " + e.Store + " does not meet Require(Correctness):"
	for i, missing := range e.Missing {
		text += []string{" ", "; "}[min(i, 1)] + missing
	}
	return text + ". Use another store, or deploy it otherwise, or drop the requirement and rely on it for efficiency only"
}

// Is makes a RequirementError ErrUnsupported.
func (e *RequirementError) Is(target error) bool { return target == ErrUnsupported }

// An unsupported says why something is ErrUnsupported on whatever store.
type unsupported string

func (u unsupported) Error() string { return string(u) }

func (u unsupported) Is(target error) bool { return target == ErrUnsupported }

// kind is what people call something that is held in that mode.
func kind(m Mode) string {
	if m == Permits {
		return "semaphore"
	}
	return "lock"
}

func argumentError(format string, args ...any) error {
	return fmt.Errorf("holdfast: %w: %s", ErrArgument, fmt.Sprintf(format, args...))
}
