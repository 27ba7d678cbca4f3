// Package line lets a test drive lock libraries in other processes and other languages, by lines of text.
//
// A peer is a small program around one library. Its arguments are the addresses of the servers, "host:port". It says
//
//	ready WHAT IT IS
//
// when it can be used, and then answers each line on its standard input by one on its standard output, one after the other:
//
//	lock NAME TTL WAIT     waits for the lock, by the library's own means, for WAIT at most: ok, held
//	try NAME TTL           asks for it once: ok, held
//	extend NAME TTL        lets the hold of that name last for TTL from now on: ok, gone
//	unlock NAME            gives it back: ok, gone
//	quit                   ok, and it ends
//
// Times are in milliseconds; a TTL of 0 is a lock that never runs out, for libraries that have such. Names are percent-encoded, so that
// they contain no spaces. Everything else is answered by "error" and the reason, in one line.
//
// Held and gone are what the library was told by the servers. A server that cannot be reached is an error: were it taken for held, a
// test of exclusion would pass without a lock.
//
// A program ends at the end of its input, also while it waits for a lock: so it does not outlive the test that has started it. It gives
// nothing back then, as after kill −9.
package line

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrHeld: somebody else has it.
	ErrHeld = errors.New("held")

	// ErrGone: the library no longer has what it is to extend or to give back.
	ErrGone = errors.New("gone")
)

// Locks is what a peer can do. A name is held by one [Locks] once at most.
type Locks interface {
	// Lock waits for wait at most: nil, ErrHeld, or what went wrong.
	Lock(ctx context.Context, name string, ttl, wait time.Duration) error
	// Try asks once: nil, ErrHeld, or what went wrong.
	Try(ctx context.Context, name string, ttl time.Duration) error
	// Extend lets the hold last for ttl from now on: nil, ErrGone, or what went wrong.
	Extend(ctx context.Context, name string, ttl time.Duration) error
	// Unlock gives it back: nil, ErrGone, or what went wrong.
	Unlock(ctx context.Context, name string) error
}

// request makes the line of a request.
func request(verb, name string, times ...time.Duration) string {
	words := []string{verb, url.PathEscape(name)}
	for _, t := range times {
		words = append(words, strconv.FormatInt(t.Milliseconds(), 10))
	}
	return strings.Join(words, " ")
}

// perform does what a line asks for.
func perform(ctx context.Context, locks Locks, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Split(rest, " ")
	name, err := url.PathUnescape(words[0])
	if err != nil || name == "" {
		return fmt.Errorf("%q has no name, or one that is not percent-encoded", line)
	}
	times := make([]time.Duration, 0, 2)
	for _, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%q in %q is no number of milliseconds", word, line)
		}
		times = append(times, time.Duration(n)*time.Millisecond)
	}
	switch {
	case verb == "lock" && len(times) == 2:
		return locks.Lock(ctx, name, times[0], times[1])
	case verb == "try" && len(times) == 1:
		return locks.Try(ctx, name, times[0])
	case verb == "extend" && len(times) == 1:
		return locks.Extend(ctx, name, times[0])
	case verb == "unlock" && len(times) == 0:
		return locks.Unlock(ctx, name)
	}
	return fmt.Errorf("%q is none of: lock NAME TTL WAIT, try NAME TTL, extend NAME TTL, unlock NAME, quit", line)
}

// answer makes a line of what came of a request.
func answer(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrHeld):
		return "held"
	case errors.Is(err, ErrGone):
		return "gone"
	}
	return "error " + strings.Join(strings.Fields(err.Error()), " ")
}

// understand is the other way round.
func understand(line string) error {
	switch line {
	case "ok":
		return nil
	case "held":
		return ErrHeld
	case "gone":
		return ErrGone
	}
	if why, failed := strings.CutPrefix(line, "error "); failed {
		return errors.New(why)
	}
	return fmt.Errorf("it answered %q, which is no answer", line)
}
