package memlock

import (
	"time"

	"holdfast.dev/driver"
)

// A key names a lock, or a semaphore: two name spaces.
type key struct {
	name    string
	permits bool
}

func keyOf(name string, mode driver.Mode) key { return key{name, mode == driver.Permits} }

// An id names an attempt to get a certain lock.
type id struct {
	key
	attempt driver.Attempt
}

func idOf(r *driver.Request) id { return id{keyOf(r.Name, r.Mode), r.Attempt} }

// A state is where a claim stands. It moves forward only.
//
//	waiting ──▶ holding ──▶ kept ──▶ ended
//	   └───────────┴─────────────────▲
type state uint8

const (
	waiting state = iota // in the queue, or absent
	holding
	kept  // ended for its owner, but its minimum hold is not over: taken by nobody
	ended // in no list, and unknown to the server
)

// A claim is one attempt, as a lock knows it. It is also the driver.Lease of its grant: see lease.go. All fields are guarded by
// the server's mutex.
type claim struct {
	id
	lock *lock

	// As asked.
	label   string
	mode    driver.Mode
	n       int
	ttl     time.Duration // within MinTTL and MaxTTL
	keep    time.Duration
	reserve uint64
	store   *Store      // the connection that asked last
	lost    func(error) // Request.Lost of that connection, if there is one that still wants to know

	state      state
	prev, next *claim   // in a list of its lock
	deadline   deadline // the next moment at which time alone changes something

	// While it waits.
	ticket  uint64 // rises with every claim: the order of service
	queued  driver.Instant
	away    bool          // absent: nobody is there to take the answer
	callers []*caller     // the calls of Acquire that wait for the decision
	decided chan struct{} // closed when it is granted or undone; nil if it never waited
	place   int           // in the queue, as last counted

	// Once it holds.
	token, spare uint64 // token 0: not granted yet
	granted      driver.Instant
	expires      driver.Instant // unless renewed
	keptUntil    driver.Instant // when its minimum hold is over
	broken       *driver.Broken // told to end
	told         bool           // lost has been called: never again
	undone       bool           // released by its owner
}

// newClaim makes a claim that waits, in no list yet.
func (s *Server) newClaim(l *lock, r *driver.Request, now driver.Instant) *claim {
	s.ticket++
	c := &claim{
		id: idOf(r), lock: l, label: r.Label, mode: r.Mode, n: r.N,
		ttl: clampTTL(r.TTL), keep: r.Keep, reserve: min(uint64(r.Reserve), MaxReserve),
		ticket: s.ticket, queued: now,
	}
	c.deadline.What = c
	s.claims[c.id] = c
	return c
}

// tell calls Lost once the mutex is free, and never a second time.
func (s *Server) tell(c *claim, err error) {
	if c.lost == nil || c.told {
		return
	}
	c.told = true
	s.losses = append(s.losses, loss{c.lost, err})
}

// grant describes c's grant to a caller for whom it counts from asked.
func (c *claim) grant(asked driver.Instant, ttl time.Duration) *driver.Grant {
	return &driver.Grant{Token: c.token, Spare: c.spare, Asked: asked, TTL: ttl, Lease: c}
}
