// Package contender puts lock libraries behind one small interface, so that all are measured by the same code.
//
// Each library comes as its own documentation shows it first ("redsync"), and at the best settings that its documentation offers
// ("redsync-best"); the files say which these are, and why. The limits are no library, but what a lock on one Redis costs at
// least: a request to take it and a request to give it back.
//
// What the interface adds is the same for all: a closure for each hold. What a library leaves to its caller, such as trying again
// after it gave up, is done by the measuring code, in the same way for all.
package contender

import (
	"context"
	"time"

	"holdfast.dev/bench/internal/choose"
)

// A Role says what a contender is compared as.
type Role string

// The roles.
const (
	Limit     Role = "limit"     // what the round trips allow
	Reference Role = "reference" // no lock, and not what bars are held against: shown beside the limit
	Ours      Role = "ours"
	Guarded   Role = "guarded"   // ours with the guard on, compared with ours
	Untokened Role = "untokened" // ours without tokens, as the peers are
	Plain     Role = "plain"     // ours on servers without functions: without a guard either, as the peers are
	Peer      Role = "peer"
)

// A Contender is a lock library with its settings.
type Contender struct {
	Name     string
	Role     Role
	Module   string // the Go module that it comes from
	Settings string // for people
	// Direct are the commands, in lower case, that it sends itself; all others that the server counts were called by its scripts.
	// Scripts and functions themselves need not be named.
	Direct []string
	// Open connects one client, which will be used by so many goroutines at once. addr is host:port of the server; where locks are kept in
	// a majority of several, it is all of theirs, with commas between them.
	Open func(ctx context.Context, addr string, goroutines int) (Client, error)
}

// A Client is one process's way to the locks.
type Client interface {
	// Lock waits for the lock. An error before the end of ctx means that the library gave up, and may be asked again. The end of ctx
	// may end the hold too: whoever gets a lock when ctx has ended does not rely on it.
	Lock(ctx context.Context, name string) (unlock func() error, err error)
	// Close ends the client.
	Close() error
}

// TTL is given to the libraries that have no default of their own: it is Holdfast's.
const TTL = 10 * time.Second

// All returns every contender: the limits, ours, the peers. pause is how long the polling ones wait between two tries at their best
// settings; 0 means the best one that is known. guard is that of the one of ours that has one.
func All(pause, guard time.Duration) []Contender {
	return []Contender{
		limit(), limitBest(),
		ours(), guarded(guard),
		redsyncDefault(), redsyncBest(pause),
		bsmDefault(), bsmBest(pause), bsmPipeline(pause),
		rueidislockDefault(), rueidislockBest(),
	}
}

// Select returns those of the names, in the order of all; no names are all of them.
func Select(all []Contender, names []string) ([]Contender, error) {
	return choose.Named("contender", all, func(each Contender) string { return each.Name }, names)
}
