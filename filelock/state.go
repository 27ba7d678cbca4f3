package filelock

import (
	"fmt"
	"time"

	"holdfast.dev/driver"
)

// A stamp is a moment that all processes of this machine agree on, in nanoseconds: see clock.go.
type stamp int64

func (s stamp) add(d time.Duration) stamp    { return stamp(driver.Instant(s).Add(d)) }
func (s stamp) sub(from stamp) time.Duration { return driver.Instant(s).Sub(driver.Instant(from)) }
func (s stamp) before(other stamp) bool      { return s < other }

// A phase is where an entry stands.
//
//	waiting ──▶ holding ──▶ kept ──▶ (out)
//	   │           ├──▶ ghost ──▶ (out)
//	   └───────────┴──▶ (out)
type phase byte

const (
	waiting phase = 'w'
	holding phase = 'h'
	kept    phase = 'k' // held, and its minimum hold is not over: taken by nobody
	ghost   phase = 'g' // freed by Break at once; stays until its owner has seen it, or has ended
)

// An entry is one attempt, as a lock's file knows it.
type entry struct {
	phase   phase
	client  string // whose; "" if kept
	attempt string // a hash of the attempt's secret id; "" if kept
	label   string
	mode    driver.Mode
	n       int           // permits
	since   stamp         // when it began to wait
	keep    time.Duration // its minimum hold

	token   uint64 // once it holds
	granted stamp
	until   stamp // when its minimum hold is over; 0: none
	wall    int64 // the same by the wall clock, in nanoseconds, for who has another clock, and for a restart of the machine
	broken  bool  // told to end
	by      string

	line string // as encoded; "": to be encoded anew
	was  mark   // before a change: see plan.go
}

// A state is what a lock's file says. Its methods are the rules of serving; they touch no file and no clock.
type state struct {
	name    string
	permits bool
	limit   int

	next, end uint64 // tokens next … end-1 are this lock's to give away

	clock string // by which all stamps are
	epoch int64  // when that was zero, by the wall clock, when this was written

	holders []*entry // holding or kept, in the order of their grants
	queue   []*entry // waiting, in the order of service
	ghosts  []*entry
}

// maxEntries bounds what one lock's file may grow to.
const maxEntries = 16384

func (s *state) entries() int { return len(s.holders) + len(s.queue) + len(s.ghosts) }

func (s *state) empty() bool { return s.entries() == 0 }

// check refuses a request that contradicts the state.
func (s *state) check(r *driver.Request) error {
	if s.permits && s.limit != r.Limit && s.limit > 0 && !s.empty() {
		return &driver.LimitError{N: r.N, Want: r.Limit, Have: s.limit}
	}
	if s.entries() >= maxEntries {
		return &driver.Refused{Err: fmt.Errorf("%d attempts hold %q or wait for it, and no more are allowed: wait with fewer at a time", s.entries(), s.name)}
	}
	return nil
}

// find returns the entry of a client's attempt, or nil.
func (s *state) find(client, attempt string) *entry {
	for _, list := range [][]*entry{s.holders, s.queue, s.ghosts} {
		for _, e := range list {
			if e.client == client && e.attempt == attempt {
				return e
			}
		}
	}
	return nil
}

// mode is Permits for a semaphore, and Exclusive for a lock.
func (s *state) mode() driver.Mode {
	if s.permits {
		return driver.Permits
	}
	return driver.Exclusive
}

// clients returns whose entries there are.
func (s *state) clients() []string {
	var clients []string
	known := make(map[string]bool)
	for _, list := range [][]*entry{s.holders, s.queue, s.ghosts} {
		for _, e := range list {
			if e.client != "" && !known[e.client] {
				known[e.client] = true
				clients = append(clients, e.client)
			}
		}
	}
	return clients
}
