package guardmodel

// What happens between nodes. Acknowledgements and data travel apart: a replica may be in contact and still lack the newest writes,
// which is harsher than Redis, and spares the model the offsets' arithmetic.

// acknowledge is a replica's message to its primary, which proves that they were in contact. How the message is delayed does not
// matter by offsets: it proves contact at the time of the note that it answers, so an immediate one proves the most. By lag it does: what
// waits at a paused primary is taken for fresh when it is read.
func (m *Model) acknowledge(s *State, j int) bool {
	n := &s.nodes[j]
	i := n.follows
	if !n.up || n.paused || i == primary || !s.nodes[i].up || s.nodes[i].follows != primary || m.need(s, int(i)) == 0 {
		return false
	}
	p := &s.nodes[i]
	if !p.paused {
		p.memory.contact[j] = 0
		p.memory.resync = p.memory.resync || n.newLink
		n.newLink = false
		return true
	}
	p.acks |= 1 << j
	return !m.Rules.ByOffsets
}

// replicate brings a replica all its primary's data. With a clock that is behind, holds last longer there.
func (m *Model) replicate(s *State, j int, behind int8) bool {
	n := &s.nodes[j]
	if !n.up || n.paused || n.follows == primary || !s.serves(int(n.follows)) {
		return false
	}
	p := &s.nodes[n.follows]
	n.data, n.moved, n.reign = p.data, p.moved, p.reign
	n.data.marker = min(p.data.marker, other)
	if n.data.owner != 0 {
		n.data.left += behind
	}
	return true
}

// promote makes a replica the newest primary, under a new id.
func (m *Model) promote(s *State, j int) bool {
	n := &s.nodes[j]
	if !n.up || n.paused || n.follows == primary || !s.spend(promotions) {
		return false
	}
	m.crown(s, j)
	return m.bearable(s)
}

func (m *Model) crown(s *State, j int) {
	n := &s.nodes[j]
	n.follows, n.secondID, n.newLink = primary, true, false
	s.newest = int8(j)
	m.newID(s, j)
}

// newID gives a node another id: what was its own name is another's now.
func (m *Model) newID(s *State, j int) {
	n := &s.nodes[j]
	n.data.marker = min(n.data.marker, other)
	n.saved.marker = min(n.saved.marker, other)
	n.memory.known = min(n.memory.known, other)
	if m.Shortcuts.Seal {
		s.reigns++
		n.was, n.reign = n.reign, s.reigns
	}
}

// repoint makes node j follow another: the newest primary, or, by hand, one that is not. Its data stays until it has been replicated.
func (m *Model) repoint(s *State, j, to int, full bool) bool {
	n := &s.nodes[j]
	if j == to || !n.up || n.paused || n.follows == int8(to) || !s.serves(to) {
		return false
	}
	if s.newest != int8(to) && !s.spend(backwards) || s.newest == int8(to) && !s.spend(repoints) {
		return false
	}
	m.demote(s, j, to)
	if full {
		n.memory = m.blank()
	}
	return true
}

func (m *Model) demote(s *State, j, to int) {
	n := &s.nodes[j]
	n.follows, n.newLink = int8(to), m.Rules.Unbroken
	n.data.marker = min(n.data.marker, other)
	n.saved.marker = min(n.saved.marker, other)
	n.memory.known = min(n.memory.known, other)
}

// failover is the command of that name: the primary stands still until the replica has everything, and they change places.
func (m *Model) failover(s *State, j int) bool {
	n := &s.nodes[j]
	i := int(n.follows)
	if i == primary || s.newest != int8(i) || !s.spend(failovers) || !m.replicate(s, j, 0) {
		return false
	}
	m.crown(s, j)
	m.demote(s, i, j)
	return true
}

// bearable reports whether there are no more primaries than is assumed: without proofs one, or two if they may overlap for a while.
func (m *Model) bearable(s *State) bool {
	if m.Setup.Proofs {
		return true
	}
	var count int8
	for i := range s.nodes {
		if s.nodes[i].up && s.nodes[i].follows == primary {
			count++
		}
	}
	return count <= 1+min(1, m.Setup.Overlap)
}

// spend uses up one fault of a kind, if there is one left.
func (s *State) spend(kind int) bool {
	if s.faults[kind] == 0 {
		return false
	}
	s.faults[kind]--
	return true
}
