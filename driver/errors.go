package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors with which a store decides. Wrap them to add detail.
var (
	// ErrGone: the attempt neither waits nor holds (Release, Renew, Count); it was undone by a Release (Acquire); there is no
	// such hold (Break). After Lost(ErrGone) the hold may be somebody else's.
	ErrGone = errors.New("the store has no such hold")

	// ErrSession: the session or connection that kept the hold alive has ended, and the hold with it.
	ErrSession = errors.New("the session that kept the hold has ended")

	// ErrBroken: somebody ended the hold by Break. See *Broken.
	ErrBroken = errors.New("the hold was broken")

	// ErrDeadlock: the store found that waiting would never end.
	ErrDeadlock = errors.New("waiting would be a deadlock")

	// ErrUnsupported: this store cannot do that, at all or as it is deployed.
	ErrUnsupported = errors.New("not supported by this store")

	// ErrStale: something newer is already there.
	ErrStale = errors.New("something newer is recorded")

	// ErrRequest: the request is malformed; a program's mistake, not the store's.
	ErrRequest = errors.New("malformed request")

	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the client or its store is closed")
)

// Held is the answer "somebody else has it".
type Held struct {
	Holders []Holder      // as far as known
	RetryIn time.Duration // when it is worth asking again; 0: not known
}

func (h *Held) Error() string {
	var b strings.Builder
	b.WriteString("held")
	for i, holder := range h.Holders {
		b.WriteString([]string{" by ", ", "}[min(i, 1)])
		if i == 3 {
			fmt.Fprintf(&b, "%d more", len(h.Holders)-i)
			break
		}
		b.WriteString(holder.describe())
	}
	if h.RetryIn > 0 {
		fmt.Fprintf(&b, h.retry(), round(h.RetryIn))
	}
	return b.String()
}

// retry words RetryIn. A hold that nobody has any more is not renewed, and one that never runs out is not free by then.
func (h *Held) retry() string {
	kept := 0
	for _, holder := range h.Holders {
		switch {
		case holder.Kept:
			kept++
		case holder.Left == Forever:
			return "; ask again in %v"
		}
	}
	if kept > 0 && kept == len(h.Holders) {
		return "; free in %v"
	}
	return "; free in %v unless it is renewed"
}

func (h Holder) describe() string {
	if h.Kept {
		return fmt.Sprintf("nobody, but kept by a minimum hold for another %v", round(h.Left))
	}
	label := h.Label
	if label == "" {
		label = "someone without a label"
	}
	how := fmt.Sprintf("token %d", h.Token)
	if h.Token == 0 {
		how = "without a token"
	}
	switch {
	case h.Mode == Shared:
		how = "reading, " + how
	case h.Mode == Permits:
		how = countPermits(h.N) + ", " + how
	case h.Token == 0 && h.Left == Forever: // of a kernel's lock there is a token
		how = "it never expires"
	}
	if h.Broken {
		how += ", told to end, not released yet"
	}
	if h.Held == 0 && h.Token == 0 { // nobody knows since when
		return fmt.Sprintf("%q (%s)", label, how)
	}
	return fmt.Sprintf("%q for %v (%s)", label, round(h.Held), how)
}

func countPermits(n int) string {
	if n == 1 {
		return "1 permit"
	}
	return fmt.Sprintf("%d permits", n)
}

// Guarded is the answer "the store grants nothing yet": locks granted before a restart or a failover may still be valid.
type Guarded struct {
	Left time.Duration
	Why  string // for people, as far as known: "this Redis started 2s ago"
}

func (g *Guarded) Error() string {
	why := g.Why
	if why == "" {
		why = "the store grants nothing yet"
	}
	return fmt.Sprintf("%s; locks granted before may still be valid: %v left; guard= sets it", why, round(g.Left))
}

// Broken tells a holder that its hold was ended by Break. It is ErrBroken; with Now it is also ErrGone.
type Broken struct {
	By  string // the label of whoever broke it
	Now bool   // freed at once: it may be somebody else's already
}

func (b *Broken) Error() string {
	if b.By == "" {
		return ErrBroken.Error()
	}
	return fmt.Sprintf("%v by %q", ErrBroken, b.By)
}

// Is makes a Broken ErrBroken, and ErrGone if it was freed at once.
func (b *Broken) Is(target error) bool {
	return target == ErrBroken || (b.Now && target == ErrGone)
}

// LimitError is the answer to a request for permits whose limit differs from the one in use, or that asks for more than the limit.
type LimitError struct {
	N    int // permits asked for
	Want int // the limit that the request names
	Have int // the limit in use; 0: the request contradicts itself
}

func (e *LimitError) Error() string {
	switch {
	case e.Want < 1:
		return fmt.Sprintf("the limit is %d: name at least 1", e.Want)
	case e.Have == 0:
		return fmt.Sprintf("%s of a limit of %d: ask for at least one and at most the limit", countPermits(e.N), e.Want)
	}
	return fmt.Sprintf("the limit is %d here but %d where the semaphore is in use: everybody who uses it must name the same", e.Want, e.Have)
}

// Is makes a LimitError ErrRequest.
func (e *LimitError) Is(target error) bool { return target == ErrRequest }

func requestError(problem string) error { return fmt.Errorf("%w: %s", ErrRequest, problem) }

// Answered reports whether err is the store's decision, so that nothing is left to undo. An error that carries the end of a
// context is never an answer: the request may still be under way. Of errors that are joined, those of several nodes for instance,
// each must be one: where a single node is unknown, something may be left there.
func Answered(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return answered(err)
}

func answered(err error) bool {
	switch err.(type) {
	case *Held, *Guarded, *Broken, *LimitError, *Refused:
		return true
	}
	for _, answer := range []error{ErrGone, ErrBroken, ErrDeadlock, ErrUnsupported, ErrStale, ErrRequest, ErrName} {
		if err == answer {
			return true
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return answered(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if !answered(part) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	}
	return false
}

// Refused wraps an error of the store's own with which it certainly declined the request: no permission, out of memory, read-only.
// It is an answer, and final: the core reports it instead of asking again. Of a renewal it says only that this one failed (L3).
type Refused struct{ Err error }

func (r *Refused) Error() string { return "refused: " + r.Err.Error() }

// Unwrap returns the store's own error.
func (r *Refused) Unwrap() error { return r.Err }

// NodeError names the server that an error came from, where a store has several. It is no answer by itself.
type NodeError struct {
	Node string // without secrets
	Err  error
}

func (e *NodeError) Error() string { return e.Node + ": " + e.Err.Error() }

// Unwrap returns the node's own error.
func (e *NodeError) Unwrap() error { return e.Err }

// round shortens a duration for people. What is left of a time is not shown as nothing.
func round(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	}
	if d > 0 && d < time.Millisecond {
		return time.Millisecond
	}
	return d.Round(time.Millisecond)
}
