package guardmodel

// tick lets a unit of time pass, everywhere at once.
func (m *Model) tick(s *State) bool {
	for i := range m.Setup.Nodes {
		if !m.tickNode(s, i) {
			return false
		}
	}
	for k := range s.clients {
		c := &s.clients[k]
		c.left = max(0, c.left-1)
		if c.doing == holding && c.left == 0 {
			c.doing = idle
			s.forget(int8(k))
		}
	}
	return true
}

// tickNode returns false where time must not pass: a primary beside a newer one must be gone before Overlap is over.
func (m *Model) tickNode(s *State, i int) bool {
	n := &s.nodes[i]
	n.data.left = max(0, n.data.left-1)
	n.saved.left = max(0, n.saved.left-1)
	if n.up {
		n.uptime = min(n.uptime+1, m.guard())
	}
	if n.memory.heard != asleep {
		n.memory.heard = min(n.memory.heard+1, m.mostCredit())
	}
	for j := range n.memory.contact {
		n.memory.contact[j] = min(n.memory.contact[j]+1, m.noContact())
	}
	if m.Rules.Unbroken && n.memory.known == own && !m.proved(s, i) {
		n.memory.lapsed = true
	}
	if m.Faults.Backlogs > 0 {
		n.alone = min(n.alone+1, m.guard())
		if !n.up || n.follows != primary || s.followed(i) {
			n.alone = 0
		}
	}
	newest := &s.nodes[s.newest]
	if m.Setup.Proofs || !n.up || n.follows != primary || n == newest || !newest.up || newest.follows != primary {
		n.stray = 0
		return true
	}
	n.stray++
	return n.stray < m.Setup.Overlap
}

// forget makes the records of a client that has given up a ghost's: nobody will renew or release them.
func (s *State) forget(k int8) {
	for i := range s.nodes {
		for _, d := range []*data{&s.nodes[i].data, &s.nodes[i].saved} {
			if d.owner == k+1 {
				d.owner, d.unclaimed = ghost, false
			}
		}
	}
}

// settle clears what nothing can depend on any more.
func (m *Model) settle(s *State) {
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		n.data.settle()
		n.saved.settle()
		if !n.up && s.faults[restarts] == 0 {
			*n = node{}
			continue
		}
		m.settleMemory(s, i)
		if m.Setup.Proofs && m.Rules.NeverAlone {
			n.uptime = 0 // only "never replicated" reads it
		}
	}
	for k := range s.clients {
		c := &s.clients[k]
		ends := c.doing == releasing || c.doing == told && c.left == 0
		if ends && !s.recorded(int8(k)) {
			*c = client{}
		}
	}
}

func (d *data) settle() {
	if d.left == 0 || d.owner == 0 {
		d.owner, d.left, d.unclaimed = 0, 0, false
	}
}

// settleMemory clears what the next look at another id clears anyway.
func (m *Model) settleMemory(s *State, i int) {
	n := &s.nodes[i]
	blank := m.blank()
	if m.Rules.ByOffsets && m.Rules.OwnNeed && m.need(s, i) == 0 {
		n.memory.contact = blank.contact
	}
	if n.memory.known != own || n.follows != primary {
		n.memory.lapsed, n.memory.resync = false, false
	}
	if n.memory.known == own && n.follows == primary {
		if n.memory.left == 0 {
			n.memory.heard = asleep
		}
		return
	}
	if m.Rules.NewID {
		n.memory.left, n.memory.heard = 0, asleep
		if m.Rules.FreshProofs && m.Rules.LostMemory {
			n.memory.known, n.memory.contact = none, blank.contact
		}
	}
}

// recorded reports whether any node has, or may come back with, a record of client k.
func (s *State) recorded(k int8) bool {
	for i := range s.nodes {
		if s.nodes[i].data.owner == k+1 || s.nodes[i].saved.owner == k+1 {
			return true
		}
	}
	return false
}
