package history

import (
	"fmt"
	"time"

	"holdfast.dev/driver"
)

// Meta is what is known about a round without its records. It is JSON in a bundle.
type Meta struct {
	Number   int           `json:"number"`   // of the round, in its bundle
	Run      uint64        `json:"run"`      // the seed of the whole run
	Turn     int           `json:"turn"`     // which round of such a run it is: with the seed it makes the same round again
	Seed     uint64        `json:"seed"`     // of this round, made of both
	Began    time.Time     `json:"began"`    // for people; records have a clock of their own
	Store    string        `json:"store"`    // memory, redis-sentinel and so on; or the name of a control
	Class    string        `json:"class"`    // of its faults: within, beyond; none if there are none
	TTL      time.Duration `json:"ttl"`      // of every lock
	Duration time.Duration `json:"duration"` // until workers begin nothing new
	Workers  int           `json:"workers"`
	Locks    []LockMeta    `json:"locks"`
	Faults   []FaultMeta   `json:"faults"`          // that this round can have
	FIFO     bool          `json:"fifo"`            // as the store's Guarantees say
	Fencing  string        `json:"fencing"`         // none, volatile, durable
	Votes    bool          `json:"votes,omitempty"` // a majority of servers decides: two who ask at the same time can refuse each other
	Versions []string      `json:"versions"`
	Left     []string      `json:"left"`             // what Round Leak found: keys, files
	Broken   string        `json:"broken,omitempty"` // why the round came to no proper end: a process crashed, a server did not come back
}

// LockMeta is one lock of a round.
type LockMeta struct {
	Name   string `json:"name"`
	Leader bool   `json:"leader"` // an election's
}

// FaultMeta is a fault that a round can have.
type FaultMeta struct {
	Name  string        `json:"name"`
	Class string        `json:"class"`
	Heals time.Duration `json:"heals"` // how much longer than TTL + 1 s it may take until somebody acquires after it: a guard
	// Forgets: it makes the store forget its tokens, if those are volatile: they may fall.
	Forgets bool `json:"forgets,omitempty"`

	Loses bool `json:"loses"` // the store forgets holds at its beginning: their holders must be told within a renewal interval
}

// valid reports a record that does not fit: a checker must not guess.
func (m *Meta) valid(r Record) error {
	switch {
	case r.At <= 0:
		return fmt.Errorf("it has no time: %+v", r)
	case r.Op == Fault && int(r.Lock) >= len(m.Faults):
		return fmt.Errorf("there is no fault %d: %+v", r.Lock, r)
	case r.Op >= Acquire && r.Op <= Inspect && int(r.Lock) >= len(m.Locks):
		return fmt.Errorf("there is no lock %d: %+v", r.Lock, r)
	case r.Op < Acquire || r.Op > Round || r.Phase < Asked || r.Phase > Starved || r.Outcome > MaxHold:
		return fmt.Errorf("it is of no kind that is known: %+v", r)
	}
	return nil
}

// Renewal is how often a hold is renewed, at the latest.
func (m *Meta) Renewal() time.Duration { return m.TTL / 3 }

// Never is the Value of a hold that does not run out.
const Never = int64(driver.Never)
