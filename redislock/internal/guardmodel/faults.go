package guardmodel

// What happens to one node.

func (m *Model) crash(s *State, i int) bool {
	n := &s.nodes[i]
	if !n.up || !s.spend(crashes) {
		return false
	}
	n.up, n.paused, n.acks = false, false, 0
	n.memory = m.blank()
	return true
}

// What a node finds when it starts again.
const (
	empty int8 = iota
	kept
	older
)

// restart brings back a node that crashed, as a new process with a new id. It knows by its configuration that it was made a replica, but
// not that another was promoted: only who was a primary comes back as one, empty and writable for all the world. As a replica of the newest primary it begins with its own
// data too, until that has been replicated.
func (m *Model) restart(s *State, i int, found int8, replica bool) bool {
	n := &s.nodes[i]
	if i >= m.Setup.Nodes || n.up || replica && int(s.newest) == i || found == older && n.saved == (data{}) || !s.spend(restarts) {
		return false
	}
	if !replica && n.follows != primary && !s.spend(deserters) {
		return false
	}
	if !replica { // a replica takes its id from its data, and has another as soon as it is promoted
		m.newID(s, i)
	}
	switch found {
	case empty:
		n.data = data{need: m.setting(i)} // clients open the store anew, and read the settings
		n.reign, n.was = s.reigns, 0
	case older:
		n.data = n.saved
	}
	n.data.marker = min(n.data.marker, other)
	n.up, n.uptime, n.alone, n.moved, n.secondID = true, 0, 0, false, false
	n.memory = m.blank()
	n.follows, n.newLink = primary, false
	if replica {
		n.follows, n.newLink = s.newest, m.Rules.Unbroken
	}
	return m.bearable(s)
}

// save writes the data to disk, where it grows old.
func (m *Model) save(s *State, i int) bool {
	n := &s.nodes[i]
	if !n.up || !s.spend(snapshots) {
		return false
	}
	n.saved = n.data
	return true
}

func (m *Model) pause(s *State, i int) bool {
	n := &s.nodes[i]
	if !s.serves(i) || !s.spend(pauses) {
		return false
	}
	n.paused = true
	return true
}

// resume lets a primary go on. It reads at once what its replicas sent meanwhile; by lag that is contact of now.
func (m *Model) resume(s *State, i int) bool {
	n := &s.nodes[i]
	if !n.up || !n.paused {
		return false
	}
	n.paused = false
	for j := range m.Setup.Nodes {
		if n.acks&(1<<j) != 0 {
			n.memory.contact[j] = 0
		}
	}
	n.acks = 0
	return true
}

// flush is FUNCTION FLUSH, an upgrade or LOAD REPLACE: the library starts afresh, everything else stays.
func (m *Model) flush(s *State, i int) bool {
	n := &s.nodes[i]
	if !n.up || n.follows != primary || !s.spend(flushes) {
		return false
	}
	n.memory = m.blank()
	return true
}

// freeBacklog happens to a primary that has had no replica for repl-backlog-ttl.
func (m *Model) freeBacklog(s *State, i int, soon bool) bool {
	n := &s.nodes[i]
	if !s.serves(i) || s.followed(i) || soon && !s.spend(soonFreed) || !soon && (n.alone < m.guard() || !s.spend(backlogs)) {
		return false
	}
	m.newID(s, i)
	n.secondID = false
	return true
}

// step sets a node's clock forward: everything that counts by it has run out. onlyEmpty: there was nothing.
func (m *Model) step(s *State, i int, onlyEmpty bool) bool {
	n := &s.nodes[i]
	if !n.up || onlyEmpty && (n.data.owner != 0 || !s.spend(emptySteps)) || !onlyEmpty && !s.spend(steps) {
		return false
	}
	n.data.owner, n.saved.owner = 0, 0
	n.uptime = m.guard()
	if n.memory.heard != asleep {
		n.memory.heard = m.mostCredit()
	}
	for j := range n.memory.contact {
		n.memory.contact[j] = m.noContact()
	}
	return true
}

// stepBack sets a node's clock back by a tick: what it counted as past is yet to come.
func (m *Model) stepBack(s *State, i int) bool {
	n := &s.nodes[i]
	if !n.up || !s.spend(backSteps) {
		return false
	}
	for _, d := range []*data{&n.data, &n.saved} {
		if d.owner != 0 {
			d.left++
		}
	}
	n.uptime = max(0, n.uptime-1)
	if n.memory.heard != asleep {
		n.memory.heard = max(0, n.memory.heard-1)
	}
	for j, age := range n.memory.contact {
		if age < m.noContact() {
			n.memory.contact[j] = max(0, age-1)
		}
	}
	return true
}

// evict loses a hold's key, for whatever reason.
func (m *Model) evict(s *State, i int) bool {
	n := &s.nodes[i]
	if !s.serves(i) || n.data.owner == 0 || !s.spend(evictions) {
		return false
	}
	n.data.owner = 0
	return true
}

// seal is a primary's last word in the shortcut of that name: this reign grants and renews nothing any more.
func (m *Model) seal(s *State, i int) bool {
	n := &s.nodes[i]
	if !m.Shortcuts.Seal || !s.serves(i) || m.sealed(n) {
		return false
	}
	if c := m.enter(s, i); c.phase != open || !c.proved {
		return false
	}
	n.data.sealed = n.reign
	return true
}
