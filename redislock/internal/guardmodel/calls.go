package guardmodel

// What clients do. Each function reports false where it cannot happen. A call that is refused is ask: it changes nothing but what the
// library knows.

func (m *Model) ask(s *State, i int) bool {
	if !s.serves(i) {
		return false
	}
	m.enter(s, i)
	return true
}

// acquire gives a free lock to client k, which asks for it. If the answer is late the client is told only.
func (m *Model) acquire(s *State, i int, k int8, late bool) bool {
	if !s.serves(i) || !m.mayGrant(s, i, m.Rules.NoGrant) || !s.isFree(k) || late && !s.spend(lost) {
		return false
	}
	m.grant(s, i, k, m.Setup.TTL, false)
	if !late {
		s.clients[k].doing = holding
	}
	return true
}

// takeOver hands a lock that has run out to client k, which waits, by a message.
func (m *Model) takeOver(s *State, i int, k int8) bool {
	if m.Setup.Claim == 0 || !s.serves(i) || !m.mayGrant(s, i, m.Rules.NoTakeOver) || !s.isFree(k) {
		return false
	}
	m.grant(s, i, k, m.Setup.Claim, true)
	return true
}

// release carries out the release of client k. It may be carried out in every phase, proved or not: it frees, and nobody gets anything.
func (m *Model) release(s *State, i int, k int8) bool {
	n := &s.nodes[i]
	if !s.serves(i) || s.clients[k].doing != releasing || n.data.owner != k+1 {
		return false
	}
	m.enter(s, i)
	n.data.owner, n.data.left, n.data.unclaimed = 0, 0, false
	return true
}

// handOver carries out the release of client k, and hands the lock to the next, which waits, by a message.
func (m *Model) handOver(s *State, i int, k, next int8) bool {
	if m.Setup.Claim == 0 || !m.release(s, i, k) || !m.mayGrant(s, i, m.Rules.NoHandOver) || !s.isFree(next) {
		return false
	}
	m.grant(s, i, next, m.Setup.Claim, true)
	return true
}

// renew prolongs what client k knows that it holds. If it is unclaimed yet, this is the claim.
func (m *Model) renew(s *State, i int, k int8) bool {
	if !s.serves(i) || s.clients[k].doing != holding || s.nodes[i].data.owner != k+1 {
		return false
	}
	return m.prolong(s, i, k, m.Rules.NoClaim && s.nodes[i].data.unclaimed)
}

// claim is for a client that was granted the lock and has not heard of it: it asks again, and is told.
func (m *Model) claim(s *State, i int, k int8) bool {
	if !s.serves(i) || s.clients[k].doing != told || s.nodes[i].data.owner != k+1 {
		return false
	}
	if s.nodes[i].data.unclaimed {
		return m.prolong(s, i, k, m.Rules.NoClaim)
	}
	return m.prolong(s, i, k, m.Rules.NoRepeat)
}

// prolong is what a renewal, a claim and a repeated request have in common. onlyOpen: it is refused by a reign that is guarded.
func (m *Model) prolong(s *State, i int, k int8, onlyOpen bool) bool {
	n := &s.nodes[i]
	c := m.enter(s, i)
	if !c.proved || c.phase == muted || c.phase == guarded && onlyOpen || m.sealed(n) {
		return false
	}
	n.data.left = max(n.data.left, m.Setup.TTL) // never shorter
	n.data.unclaimed = false
	s.clients[k] = client{doing: holding, left: m.Setup.TTL}
	return true
}

// arrive is the message or the answer that tells client k of its grant, late. It counts from when it was sent.
func (m *Model) arrive(s *State, k int8) bool {
	if s.clients[k].doing != told || s.clients[k].left == 0 {
		return false
	}
	s.clients[k].doing = holding
	return true
}

// letGo ends a client's belief: a release is under way from now on.
func (m *Model) letGo(s *State, k int8) bool {
	if s.clients[k].doing != holding && s.clients[k].doing != told {
		return false
	}
	s.clients[k] = client{doing: releasing}
	return true
}

// mayGrant is the first half of every grant: the lock is free, and the library willing.
func (m *Model) mayGrant(s *State, i int, refuses bool) bool {
	n := &s.nodes[i]
	if n.data.owner != 0 {
		return false
	}
	c := m.enter(s, i)
	return c.proved && (c.phase == open || c.phase == guarded && !refuses) && !m.sealed(n)
}

func (m *Model) grant(s *State, i int, k, lasts int8, unclaimed bool) {
	d := &s.nodes[i].data
	d.owner, d.left, d.unclaimed = k+1, lasts, unclaimed
	if m.Shortcuts.LongestTTL {
		d.longest = m.Setup.TTL
	}
	s.clients[k] = client{doing: told, left: lasts}
}

// isFree reports whether client k is the first that is idle: clients are alike, so one of them is enough.
func (s *State) isFree(k int8) bool {
	first, ok := s.free()
	return ok && first == k
}

func (m *Model) sealed(n *node) bool {
	return m.Shortcuts.Seal && n.data.sealed == n.reign
}

// writeNeed is a client that has read the node's settings, and writes into the data how many proofs a grant needs.
func (m *Model) writeNeed(s *State, i int) bool {
	if m.Rules.OwnNeed || !s.serves(i) || s.nodes[i].data.need == m.setting(i) {
		return false
	}
	s.nodes[i].data.need = m.setting(i)
	return true
}

func (m *Model) look(s *State, i int) bool {
	if m.Rules.StartAtWrite || !s.serves(i) {
		return false
	}
	m.inspect(s, i)
	return true
}
