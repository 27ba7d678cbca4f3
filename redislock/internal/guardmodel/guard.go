package guardmodel

// phase is how far a reign has come.
type phase uint8

const (
	muted   phase = iota // neither grants nor renewals
	guarded              // holds that are known are renewed
	open
)

// A call is what the library knows while it carries out a function.
type call struct {
	phase  phase
	proved bool // enough replicas were in contact lately
}

// enter is what every function that can write begins with: it notices a new reign, and credits the guard's clock.
func (m *Model) enter(s *State, i int) call {
	n := &s.nodes[i]
	if n.memory.known != own {
		m.begin(s, i)
	}
	proved := m.proved(s, i)
	if m.Rules.Unbroken && proved && n.memory.lapsed && n.memory.resync {
		n.memory.known, n.data.marker = none, min(n.data.marker, other)
		m.begin(s, i)
		proved = m.proved(s, i)
	}
	if proved {
		n.memory.lapsed, n.memory.resync = false, false
	}
	m.credit(&n.memory, proved)
	if n.memory.left == 0 {
		n.data.marker = own
	}
	if s.followed(i) {
		n.moved = true
	}
	return call{phase: m.phaseOf(n), proved: proved}
}

// inspect is a read, which min-replicas never refuses. It matters only where the rule against it is switched off.
func (m *Model) inspect(s *State, i int) {
	n := &s.nodes[i]
	if n.memory.known != own {
		m.begin(s, i)
	}
	m.credit(&n.memory, true)
}

// begin is the first call of a reign, or the first one since the library lost its memory.
func (m *Model) begin(s *State, i int) {
	n := &s.nodes[i]
	forgot := n.memory.known == none
	if !forgot && !m.Rules.NewID {
		n.memory.known = own
		return
	}
	fresh := m.blank()
	if !m.Rules.FreshProofs && !forgot {
		fresh.contact = n.memory.contact
	}
	fresh.known = own
	if !m.trusted(s, i, forgot) {
		fresh.left = m.length(n)
	}
	n.memory = fresh
}

// trusted reports whether a node may be open although its library does not know this reign.
func (m *Model) trusted(s *State, i int, forgot bool) bool {
	n := &s.nodes[i]
	switch {
	case forgot && !m.Rules.LostMemory,
		n.data.marker == own,
		n.data.marker == other && !m.Rules.ExactMarker,
		m.neverReplicated(s, i),
		m.Shortcuts.UptimeAlone && n.uptime >= m.guard(),
		m.Shortcuts.ZeroSecondID && !n.secondID && n.uptime >= m.guard(),
		m.Shortcuts.Seal && n.data.sealed != 0 && n.data.sealed == n.was:
		return true
	}
	return false
}

// neverReplicated reports whether everything that this server ever granted was granted by this process. Each condition can be off.
func (m *Model) neverReplicated(s *State, i int) bool {
	n, r := &s.nodes[i], &m.Rules
	return (!r.NeverOffset || !n.moved) &&
		(!r.NeverSecondID || !n.secondID) &&
		(!r.NeverUptime || n.uptime >= m.guard()) &&
		(!r.NeverAlone || m.need(s, i) == 0) &&
		(!r.NeverConnected || !s.followed(i))
}

// length is how long a reign that begins is guarded.
func (m *Model) length(n *node) int8 {
	if m.Shortcuts.LongestTTL {
		return n.data.longest + m.fence()
	}
	return m.guard()
}

// credit lets the guard's time pass, as far as this call can vouch for it.
func (m *Model) credit(g *memory, proved bool) {
	if g.left == 0 {
		return
	}
	if g.heard == asleep {
		if proved || !m.Rules.StartProven {
			g.heard = 0
		}
		return
	}
	if proved || !m.Rules.CreditProven {
		g.left = max(0, g.left-g.heard)
		g.heard = 0
	}
}

// mostCredit is how much of the guard one call can let pass.
func (m *Model) mostCredit() int8 {
	if m.Rules.BoundedCredit {
		return 1
	}
	return m.guard()
}

func (m *Model) phaseOf(n *node) phase {
	switch {
	case n.memory.left == 0:
		return open
	case m.Rules.Muted && (n.memory.heard == asleep || n.memory.left > m.length(n)-m.fence()):
		return muted
	default:
		return guarded
	}
}

// need is how many replicas must have been in contact lately for node i to grant or renew.
func (m *Model) need(s *State, i int) int8 {
	if m.Rules.OwnNeed {
		return m.setting(i)
	}
	return s.nodes[i].data.need
}

func (m *Model) proved(s *State, i int) bool {
	var replicas int8
	for j, age := range s.nodes[i].memory.contact[:m.Setup.Nodes] {
		if j != i && age <= m.Setup.Lag {
			replicas++
		}
	}
	return replicas >= m.need(s, i)
}
