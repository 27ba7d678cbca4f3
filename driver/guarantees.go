package driver

import "time"

// Fencing says how far tokens can be relied on.
type Fencing uint8

const (
	FencingNone     Fencing = iota // tokens are zero
	FencingVolatile                // tokens rise for as long as the store keeps its memory
	FencingDurable                 // tokens rise across restarts and failovers too
)

func (f Fencing) String() string {
	switch f {
	case FencingNone:
		return "none"
	case FencingVolatile:
		return "volatile"
	case FencingDurable:
		return "durable"
	}
	return "unknown"
}

// Guarantees is what a store promises, as deployed, as found. A promise that it denies is answered by ErrUnsupported when
// somebody asks for it, never by a silent no-op.
type Guarantees struct {
	Fencing          Fencing
	SurvivesRestart  bool // no lock is given twice when a server restarts: what it has forgotten has run out before it grants again
	SurvivesFailover bool // nor when another server takes over, or none can

	FIFO    bool // waiters are served first come first served
	Shared  bool // Mode Shared
	Permits bool // Mode Permits
	Keep    bool // Request.Keep
	Reserve bool // Request.Reserve

	// Session > 0: holds live as long as the client's session, whose TTL this is. A lock's own TTL then moves only the local end.
	Session time.Duration

	// MinTTL and MaxTTL bound Request.TTL. MaxTTL 0, without Session: nothing runs out; a hold ends with its process or connection.
	MinTTL, MaxTTL time.Duration

	// Missing says, for people, why a restart or a failover is not survived, and what to do about it.
	Missing []string

	// Beyond lists, for people, the faults that are beyond the store's assumptions: under these two may hold at once.
	Beyond []string
}
