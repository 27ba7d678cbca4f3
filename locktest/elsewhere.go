package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Multi takes locks of several stores, but a Run has just one. So here is a second: the store under test, under another identity, with
// names that nobody else has there.

// An elsewhere is a client of the store under test that looks like one of another store, and that can refuse.
type elsewhere struct {
	driver.Store
	identity string // "": the store's own
	prefix   string // of its names
	journal  *journal
	refuses  string // the name that it refuses; "": none
}

func (e *elsewhere) Identity(ctx context.Context) (string, error) {
	if e.identity == "" {
		return e.Store.Identity(ctx)
	}
	return e.identity, nil
}

// there is r as the store under test gets it.
func (e *elsewhere) there(r *driver.Request) *driver.Request {
	moved := *r
	moved.Name = e.prefix + r.Name
	return &moved
}

func (e *elsewhere) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	if e.refuses != "" && e.refuses == r.Name {
		return nil, &driver.Refused{Err: errRefused}
	}
	g, err := e.Store.Acquire(ctx, e.there(r))
	if err == nil {
		e.journal.note("took", e.prefix+r.Name)
	}
	return g, err
}

func (e *elsewhere) Release(ctx context.Context, r *driver.Request) error {
	err := e.Store.Release(ctx, e.there(r))
	if err == nil {
		e.journal.note("released", e.prefix+r.Name)
	}
	return err
}

var errRefused = errors.New("this store refuses")

// A journal is what a store was asked for, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(verb, name string) {
	if j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lines = append(j.lines, verb+" "+name)
	}
}

// says ends the case unless exactly that was asked for, in that order: then all is forgotten.
func (j *journal) says(t *trial, verb string, names ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var want []string
	for _, name := range names {
		want = append(want, verb+" "+name)
	}
	if !slices.Equal(j.lines, want) {
		t.Errorf("what happened in the store, in order: %q; it must be %q", j.lines, want)
	}
	j.lines = nil
}

// patienceForPart is how long Unlock of a Multi waits for one part, at least, before it begins with the next.
const patienceForPart = 100 * time.Millisecond

// releases unlocks a Multi, and ends the case unless its parts, written in the order in which they were taken, are released in
// reverse. On a machine too busy to answer in time only that all of them are.
func (j *journal) releases(t *trial, hold *holdfast.Hold, taken ...string) {
	t.Helper()
	begun := time.Now()
	t.unlock(hold)
	released := slices.Clone(taken)
	slices.Reverse(released)
	if time.Since(begun) >= patienceForPart {
		j.mu.Lock()
		slices.Sort(j.lines)
		j.mu.Unlock()
		slices.Sort(released)
	}
	j.says(t, "released", released...)
}

// elsewhere returns a client of another store: identity and prefix are what makes it one.
func (t *trial) elsewhere(e *elsewhere) *holdfast.Client {
	t.Helper()
	store, err := t.h.Open(t.ctx, t.address)
	if err != nil {
		t.Fatalf("Harness.Open: %v", err)
	}
	e.Store = store
	return t.over(e)
}

// Identities of stores that sort before and after any real one.
const firstIdentity, lastIdentity = "\x00 the first", "\U0010ffff the last"
