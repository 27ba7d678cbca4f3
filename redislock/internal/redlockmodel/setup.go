package redlockmodel

// A Setup is a deployment and its clients. Times are in ticks.
type Setup struct {
	Nodes    int            // independent servers, five at most
	Clients  int            // at a time, three at most: one that is done makes room for the next
	Attempts int8           // in all
	Tries    int8           // of each attempt of the first client, two at most; of the others: 1, or with Retries the same
	Retries  bool           // also of the others
	Renewals int8           // of each hold
	Claims   bool           // a client whose hold has ended by time, unreleased, may ask for it again by a renewal
	Peers    int            // the last so many of the clients: they write keys without functions, so without guard, token and tombstone
	TTL      int8           // of every hold
	Guard    int8           // at least the longest TTL
	Untoken  bool           // tokens=off: one round
	Skew     [maxNodes]int8 // how far each node's clock is ahead, in units of tokens: there are perTick in a tick
	Timed    bool           // clients know all clocks; else those of the nodes that have just granted
	Held     int            // the first client begins with a hold on so many nodes; 0: nobody has anything
}

// Faults are how often each fault may happen, at any moment.
type Faults struct {
	Losses    int8 // a node restarts without its memory
	Saves     int8 // a node saves its data…
	Older     int8 // …and restarts with what was saved: it has forgotten what came later
	Lost      int8 // an answer is lost: what was asked for is done, and the client does not know
	Late      int8 // a client gives up waiting for a node's answer, and the request is carried out later
	Jumps     int8 // a node's clock jumps far forward: what it has runs out, and it is ahead from then on
	EarlyLoss int8 // a key that is voted for, and has no token yet, is lost: by such a jump, an eviction, a DEL
	Forgotten int8 // a tombstone runs out before what it is for arrives
}

// The faults, as indexes of what is left of each.
const (
	losses = iota
	saves
	older
	lost
	late
	jumps
	earlyLoss
	forgotten
	faultKinds
)

func (f Faults) budget() [faultKinds]int8 {
	return [faultKinds]int8{losses: f.Losses, saves: f.Saves, older: f.Older, lost: f.Lost, late: f.Late, jumps: f.Jumps,
		earlyLoss: f.EarlyLoss, forgotten: f.Forgotten}
}

// A Model is a deployment under rules, and what may happen to it.
type Model struct {
	Setup  Setup
	Rules  Rules
	Faults Faults
}

// quorum is how many nodes must grant.
func (m *Model) quorum() int {
	if m.Rules.Majority {
		return m.Setup.Nodes/2 + 1
	}
	return m.Setup.Nodes / 2
}

// guard is how long a node that has lost its memory is guarded.
func (m *Model) guard() int8 {
	switch {
	case !m.Rules.Guard:
		return 0
	case m.Rules.WholeGuard:
		return m.Setup.Guard
	default:
		return m.Setup.Guard - 1
	}
}

// isPeer reports whether client k is another program.
func (m *Model) isPeer(k int8) bool { return int(k) >= m.Setup.Clients-m.Setup.Peers }

// tries is how many tries an attempt of client k may have.
func (m *Model) tries(k int8) int8 {
	if k == 0 || m.Setup.Retries {
		return m.Setup.Tries
	}
	return 1
}
