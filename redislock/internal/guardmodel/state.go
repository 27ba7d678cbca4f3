package guardmodel

// Everything is small and comparable. Only what can still matter is kept, so that states which nobody can
// tell apart are one: ids are not numbered, since all that matters is whether one is this node's own id of now; ages stop where they
// have no further effect; and what nobody can read any more is cleared (settle).

const (
	maxNodes = 4
	slots    = 3 // clients at a time: one that ends makes room for the next
)

// Whose a record is: 0 nobody's, 1 to slots a client's, ghost a client's that has given up and neither renews nor releases it.
const ghost = slots + 1

// What a name of a reign, in memory or in the data, is to the node that reads it.
type name uint8

const (
	none name = iota
	other
	own // the node's id of now
)

// data is what is in the node's keys, and goes to its replicas.
type data struct {
	owner     int8
	left      int8 // of the record's time; a tick later than 1 it is gone
	unclaimed bool // granted by a push, and not claimed yet
	marker    name // the reign that is trusted
	need      int8 // how many proofs a grant needs, as the clients wrote it; for OwnNeed switched off
	longest   int8 // the longest TTL granted; for the shortcut only
	sealed    int8 // the reign that was sealed, numbered; for the shortcut only
}

// memory is what the library remembers in the server's process.
type memory struct {
	known   name           // the reign that the rest is about
	left    int8           // of the guard; 0: open
	heard   int8           // ticks since the last call that counted, up to what a call may credit; asleep: the clock has not started
	contact [maxNodes]int8 // the age of the newest proof of contact with each node; beyond Lag: none
	lapsed  bool           // since the last proved call there was a moment without enough proofs; for Unbroken only
	resync  bool           // since then a replica has come, or come back
}

const asleep = -1

type node struct {
	up, paused bool
	follows    int8 // the node it replicates, or primary
	data       data
	saved      data // what a restart may come back with
	memory     memory
	secondID   bool  // not zeros: it was a replica before
	moved      bool  // the replication offset is not 0
	newLink    bool  // a replica: it has not acknowledged since it was told whom to follow, or started
	uptime     int8  // up to the guard
	stray      int8  // for how long it has been a primary beside a newer one; without Proofs only
	alone      int8  // for how long it has been a primary without replicas, up to the guard; for Backlogs only
	acks       uint8 // of replicas, one bit each: sent while it was paused, and not read yet; by lag only
	reign, was int8  // numbers of this reign and the one before; for the shortcut Seal only
}

const primary = -1

// What a client is doing.
type doing uint8

const (
	idle      doing = iota // it may ask, or wait somewhere to be handed the lock
	told                   // it was granted the lock, and does not know yet: a push or an answer is on its way
	holding                // it believes that it holds
	releasing              // it has let go; its release is under way, and may be carried out anywhere, more than once
)

type client struct {
	doing doing
	left  int8 // holding: of its validity, which is what must not overlap; told: what it will be if the message arrives now
}

// A State is one moment of a deployment.
type State struct {
	nodes   [maxNodes]node
	clients [slots]client
	faults  [faultKinds]int8 // that may still happen
	newest  int8             // the node that was promoted last
	reigns  int8             // numbers given; for the shortcut Seal only
}

// Initial is a deployment at rest: A is the primary, open, and has been for long; nobody holds anything.
func (m *Model) Initial() State {
	s := State{faults: m.Faults.budget(), reigns: 1}
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		*n = node{up: true, uptime: m.guard(), moved: m.Setup.Nodes > 1 && !m.Setup.Fresh, reign: 1}
		n.data.marker = other
		n.data.need = m.setting(i)
		if m.Setup.LateNeed && i > 0 {
			n.data.need = 0
		}
		n.memory = m.blank()
	}
	a := &s.nodes[0]
	a.follows, a.data.marker = primary, own
	a.memory.known = own
	m.settle(&s)
	return s
}

// violated reports whether two clients believe at the same time that they hold the lock.
func (s *State) violated() bool {
	believing := 0
	for _, c := range s.clients {
		if c.doing == holding {
			believing++
		}
	}
	return believing > 1
}

// blank is a library that has just been loaded.
func (m *Model) blank() memory {
	b := memory{heard: asleep}
	for j := range b.contact {
		b.contact[j] = m.noContact()
	}
	return b
}

// noContact is the age of a proof that is of no use, nor will be: a clock that is set back can make one younger by a tick.
func (m *Model) noContact() int8 {
	if m.Faults.BackSteps > 0 {
		return m.Setup.Lag + 2
	}
	return m.Setup.Lag + 1
}

// free returns the first client that has nothing to do with the lock.
func (s *State) free() (int8, bool) {
	for k, c := range s.clients {
		if c.doing == idle {
			return int8(k), true
		}
	}
	return 0, false
}

// serves reports whether clients that reach node i find a primary there.
func (s *State) serves(i int) bool {
	n := &s.nodes[i]
	return n.up && !n.paused && n.follows == primary
}

// followed reports whether a living node replicates node i.
func (s *State) followed(i int) bool {
	for j := range s.nodes {
		if s.nodes[j].up && s.nodes[j].follows == int8(i) && j != i {
			return true
		}
	}
	return false
}
