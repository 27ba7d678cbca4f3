package guard

import (
	"fmt"
	"time"
)

// Bounds, and what applies if nobody says.
const (
	MinTTL       = 10 * time.Millisecond
	MaxTTL       = 24 * time.Hour // or the guard, if that is less; and the longest guard
	MinGuard     = coreMinTTL     // unless it is off
	DefaultGuard = 30 * time.Second
)

// What the core has: drivers do not depend on it.
const (
	coreTTL    = 10 * time.Second       // its default
	coreMinTTL = 100 * time.Millisecond // its least
)

// CheckGuard reports a guard that no store can have. The error says what it must be, and nothing else: "must be 0 (off), or …".
func CheckGuard(d time.Duration) error {
	if d != 0 && (d < MinGuard || d > MaxTTL) {
		return fmt.Errorf("must be 0 (off), or from %v to %v, such as 30s", MinGuard, MaxTTL)
	}
	return nil
}

// Opened is what the clients of a store agree on.
type Opened struct {
	ID    string // a random text that was written when the store was used for the first time
	Guard time.Duration
	List  string // "": nobody has said one
	Contact
}

// TTL is what the server is asked for, by who wishes so much.
func (st *Opened) TTL(wish time.Duration) time.Duration { return min(max(wish, MinTTL), st.MaxTTL()) }

// MaxTTL leaves room for the fence: what an old primary still grants while the guard of the new one has begun is over before that is.
func (st *Opened) MaxTTL() time.Duration {
	if st.Guard > 0 {
		return min(MaxTTL, st.Guard-st.Fence())
	}
	return MaxTTL
}

// A Contact is what must be proved of the replicas.
type Contact struct {
	Lag      time.Duration // how old the proof may be; 0: the server has no replicas
	Replicas int           // how many must have followed; 0: nothing is proved
}

// Fence is how long a new primary renews nothing: as long as an old one may not know yet that it is none, and more.
func (c Contact) Fence() time.Duration {
	if c.Lag == 0 {
		return 0
	}
	return c.Lag + fenceSlack
}

// atLeast is c, or what was needed before if that is more: a server that has forgotten the store may have forgotten its settings too.
func (c Contact) atLeast(before Contact) Contact {
	return Contact{Lag: max(c.Lag, before.Lag), Replicas: max(c.Replicas, before.Replicas)}
}

// fits reports a guard that has no room for any TTL.
func (st *Opened) fits() *ShortGuardError {
	if st.Guard > 0 && st.Guard-st.Fence() < coreMinTTL {
		return &ShortGuardError{Guard: st.Guard, Fence: st.Fence()}
	}
	return nil
}
