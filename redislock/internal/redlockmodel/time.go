package redlockmodel

// tick lets a unit of time pass, everywhere at once.
func (m *Model) tick(s *State) bool {
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		for _, r := range []*record{&n.record, &n.saved} {
			r.left = max(0, r.left-1)
			r.taken = m.older(r.taken)
		}
		n.guard = max(0, n.guard-1)
		if n.left == 0 {
			n.key = nobody
		}
	}
	s.last = m.older(s.last)
	for k := range m.Setup.Clients {
		m.tickAttempt(s, int8(k))
	}
	return true
}

func (m *Model) tickAttempt(s *State, k int8) {
	a := &s.attempts[k]
	a.most, a.token = m.older(a.most), m.older(a.token)
	if a.asked != calm {
		a.asked = min(a.asked+1, m.Setup.TTL)
	}
	switch a.doing {
	case voting, taking:
		a.age = min(a.age+1, m.Setup.TTL)
		if a.age == m.Setup.TTL && m.Rules.Elapsed {
			m.giveUp(s, k) // it cannot succeed any more
		}
	case holding:
		if a.left--; a.left > 0 {
			return
		}
		m.lapse(s, k)
	case lapsed:
		if a.asked == m.Setup.TTL {
			m.endRenewal(s, k)
		}
	}
}

// lapse is the end of a hold's time. It is released then, unless its owner may claim it later.
func (m *Model) lapse(s *State, k int8) {
	a := &s.attempts[k]
	if !m.Setup.Claims {
		m.letGo(s, k)
		return
	}
	a.doing = lapsed
	if m.Rules.EndIsEnd || a.asked == m.Setup.TTL {
		m.endRenewal(s, k)
	}
}

// endRenewal is a renewal whose answers do not count any more.
func (m *Model) endRenewal(s *State, k int8) {
	s.attempts[k].asked, s.attempts[k].claims = calm, false
	m.unhear(s, k, renewed|missing)
	m.belate(s, k)
}

// settle clears what nothing can depend on any more.
func (m *Model) settle(s *State) {
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		m.settleRecord(&n.record)
		m.settleRecord(&n.saved)
		if s.faults[older] == 0 {
			n.saved = record{}
		}
		for k := range m.Setup.Clients {
			m.settleLink(s, i, int8(k))
		}
	}
	for k := range m.Setup.Clients {
		m.settleAttempt(s, int8(k))
	}
}

func (m *Model) settleRecord(r *record) {
	if r.left == 0 || r.key == nobody {
		r.key, r.left, r.part = nobody, 0, false
	}
	r.taken = max(r.taken, m.least()) // below all clocks: whoever asks hears of a later time than that
}

// settleLink forgets requests that will change nothing whenever they arrive.
func (m *Model) settleLink(s *State, i int, k int8) {
	n, a := &s.nodes[i], &s.attempts[k]
	l := &n.links[k]
	if waits := a.doing == voting || a.doing == taking || m.Setup.Claims && l.sent&takeOf(a.try) != 0; !waits {
		l.heard &^= granted
	}
	if l.sent == 0 && l.dead|l.undone|l.doubt == 0 {
		return
	}
	for try := int8(1); try <= m.tries(k); try++ {
		if m.Rules.UpTo && s.faults[forgotten] == 0 && l.dead.has(try) { // the tombstone will refuse it
			l.sent &^= voteOf(try)
		}
		finished := try < a.try || try == a.try && (a.doing == waiting || a.doing == over)
		revivable := l.granting(try, a.try) != 0 || !m.Rules.Fresh && l.sent != 0
		if finished && !m.has(n, k, try) && n.saved.key != valueOf(k, try) && !revivable {
			l.sent &^= releaseOf(try)
			l.undone &^= one(try)
			if m.Rules.Owned {
				l.sent &^= takeOf(try)
			}
			if try == a.try && m.Rules.RepairApart {
				l.sent &^= renewal | lateRenewal
			}
		}
		if finished && l.outstanding(try, a.try) == 0 {
			l.doubt &^= one(try)
		}
		if finished && !revivable {
			l.dead &^= one(try)
		}
	}
}

// settleAttempt makes room for the next, when nothing of one is left.
func (m *Model) settleAttempt(s *State, k int8) {
	a := &s.attempts[k]
	if a.doing != voting {
		a.most = m.floor()
	}
	if a.doing == voting || a.doing == waiting || a.doing == over && !m.taking(s, k) {
		a.token = m.floor()
	}
	if a.doing == waiting || a.doing == over {
		a.age, a.left, a.renewals = 0, 0, 0
	}
	if a.doing != over {
		return
	}
	for i := range m.Setup.Nodes {
		n := &s.nodes[i]
		if n.links[k].sent != 0 || n.key != nobody && n.key.client() == k || n.saved.key != nobody && n.saved.key.client() == k {
			return
		}
	}
	*a = m.nothing()
	for i := range m.Setup.Nodes {
		s.nodes[i].links[k] = link{}
	}
}

// taking reports whether a token or a repair of client k is on its way.
func (m *Model) taking(s *State, k int8) bool {
	for i := range m.Setup.Nodes {
		if s.nodes[i].links[k].sent&(takeOf(s.attempts[k].try)|repair) != 0 {
			return true
		}
	}
	return false
}
