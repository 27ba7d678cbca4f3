package redlockmodel

// What happens to one node.

// loseMemory is a restart without data. What is on its way may still arrive.
func (m *Model) loseMemory(s *State, i int) bool {
	if !s.spend(losses) {
		return false
	}
	m.restart(s, i, record{taken: m.floor()})
	return true
}

func (m *Model) save(s *State, i int) bool {
	n := &s.nodes[i]
	if n.record == n.saved || !s.spend(saves) {
		return false
	}
	n.saved = n.record
	return true
}

// goBack is a restart with what was saved.
func (m *Model) goBack(s *State, i int) bool {
	n := &s.nodes[i]
	if n.saved == (record{}) || !s.spend(older) {
		return false
	}
	m.restart(s, i, n.saved)
	return true
}

// restart begins with some data, and without tombstones: whose release was carried out before is not known any more.
func (m *Model) restart(s *State, i int, r record) {
	n := &s.nodes[i]
	n.record, n.guard = r, m.guard()
	for k := range n.links {
		n.links[k].dead, n.links[k].undone = 0, 0
	}
}

// jump sets the node's clock far forward.
func (m *Model) jump(s *State, i int) bool {
	n := &s.nodes[i]
	if n.clock == far || !s.spend(jumps) {
		return false
	}
	n.key, n.clock = nobody, far
	return true
}

// loseEarly loses a key whose owner is in its first round, or in the second and without this node's word.
func (m *Model) loseEarly(s *State, i int) bool {
	n := &s.nodes[i]
	if n.key == nobody {
		return false
	}
	k := n.key.client()
	a := &s.attempts[k]
	if early := a.doing == voting || a.doing == taking && n.links[k].heard&accepted == 0; !early || !s.spend(earlyLoss) {
		return false
	}
	n.key = nobody
	return true
}

// forget lets a tombstone run out.
func (m *Model) forget(s *State, i int, k int8) bool {
	l := &s.nodes[i].links[k]
	if l.dead == 0 || !s.spend(forgotten) {
		return false
	}
	l.dead = 0
	return true
}
