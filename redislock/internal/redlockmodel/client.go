package redlockmodel

// What clients do. What follows from an answer follows at once: a client that is slow to see it is one whose next requests are slow, and one
// that believes later believes until the same moment. What it may do at any time is a move: to ask, to give up, to renew, to let go.

// ask begins an attempt.
func (m *Model) ask(s *State, k int8) bool {
	a := &s.attempts[k]
	if a.doing != idle || s.begin == 0 || !m.isNext(s, k) {
		return false
	}
	s.begin--
	a.doing = waiting
	return m.again(s, k)
}

// isNext reports whether client k is the first of its kind that is idle: clients are alike, so one of them is enough.
func (m *Model) isNext(s *State, k int8) bool {
	for j := range k {
		if s.attempts[j].doing == idle && m.isPeer(j) == m.isPeer(k) {
			return false
		}
	}
	return true
}

// again begins the next try of an attempt: it asks all nodes for their votes.
func (m *Model) again(s *State, k int8) bool {
	a := &s.attempts[k]
	if a.doing != waiting || a.try == m.tries(k) {
		return false
	}
	a.doing, a.age, a.renewals = voting, 0, m.Setup.Renewals
	a.try++
	m.send(s, k, voteOf(a.try))
	return true
}

func (m *Model) send(s *State, k int8, r requests) {
	for i := range m.Setup.Nodes {
		s.nodes[i].links[k].sent |= r
	}
}

// giveUp ends a try that has not succeeded: it is released everywhere.
func (m *Model) giveUp(s *State, k int8) bool {
	a := &s.attempts[k]
	if a.doing != voting && a.doing != taking {
		return false
	}
	for i := range m.Setup.Nodes {
		l := &s.nodes[i].links[k]
		if m.Rules.Everywhere || l.heard != 0 {
			l.sent |= releaseOf(a.try)
		}
		l.heard = 0
	}
	a.doing = waiting
	if a.try == m.tries(k) {
		a.doing = over
	}
	return true
}

// granted is a vote that client k hears of.
func (m *Model) granted(s *State, i int, k int8) {
	a, l := &s.attempts[k], &s.nodes[i].links[k]
	switch a.doing {
	case voting:
		l.heard |= granted
		a.most = max(a.most, s.nodes[i].taken)
		if s.heard(k, granted) >= m.quorum() {
			m.elect(s, k)
		}
	case taking, holding: // a late vote is told the token
		if m.hasTokens(k) {
			l.sent |= takeOf(a.try)
		}
	}
}

// hasTokens reports whether client k tells nodes tokens.
func (m *Model) hasTokens(k int8) bool {
	return !m.Setup.Untoken && !m.isPeer(k) && m.Rules.SecondRound
}

// elect is a majority of votes.
func (m *Model) elect(s *State, k int8) {
	a := &s.attempts[k]
	token, ok := m.nextToken(s, k)
	a.token = token
	switch {
	case !m.hasTokens(k):
		m.hold(s, k)
		return
	case !ok && m.Rules.SomeClock:
		m.giveUp(s, k)
		return
	}
	a.doing = taking
	for i := range m.Setup.Nodes {
		if l := &s.nodes[i].links[k]; l.heard&granted != 0 {
			l.sent |= takeOf(a.try)
		}
	}
	if !m.Rules.Awaited {
		m.hold(s, k)
	}
}

// accepted is a node that tells client k that it has its token.
func (m *Model) accepted(s *State, i int, k int8) {
	if s.attempts[k].doing != taking {
		return
	}
	l := &s.nodes[i].links[k]
	if m.Rules.Counted && l.heard&granted == 0 {
		return
	}
	l.heard |= accepted
	if s.heard(k, accepted) >= m.quorum() {
		m.hold(s, k)
	}
}

// hold is a client that has its majority. Its token must be greater than those before.
func (m *Model) hold(s *State, k int8) {
	a := &s.attempts[k]
	a.doing, a.left = holding, m.Setup.TTL
	if m.Rules.Elapsed {
		a.left -= a.age
	}
	m.compare(s, k)
	m.unhear(s, k, accepted)
}

// compare looks at the token of a hold that begins. One that is too old to be told apart is not looked at: it is one that is held too late.
func (m *Model) compare(s *State, k int8) {
	a := &s.attempts[k]
	if m.Setup.Untoken || m.isPeer(k) || a.token == m.floor() {
		return
	}
	if a.token <= s.last {
		s.wrong = TokenFell
	}
	s.last = max(s.last, a.token)
}

func (m *Model) unhear(s *State, k int8, a answers) {
	for i := range m.Setup.Nodes {
		s.nodes[i].links[k].heard &^= a
	}
}

// letGo ends a hold, by its owner or by time: it is released everywhere.
func (m *Model) letGo(s *State, k int8) bool {
	a := &s.attempts[k]
	if a.doing != holding && a.doing != lapsed {
		return false
	}
	a.doing, a.left, a.asked, a.claims = over, 0, calm, false
	m.unhear(s, k, renewed|missing)
	m.send(s, k, releaseOf(a.try))
	return true
}

// renew begins a renewal, or a claim. One that has no majority yet may be followed by another.
func (m *Model) renew(s *State, k int8) bool {
	a := &s.attempts[k]
	if a.doing != holding && a.doing != lapsed || a.renewals == 0 {
		return false
	}
	a.renewals--
	a.asked, a.claims = 0, a.doing == lapsed
	if m.Rules.OwnRound {
		m.unhear(s, k, renewed)
	}
	m.unhear(s, k, missing)
	m.belate(s, k)
	m.send(s, k, renewal)
	return true
}

// belate ends a renewal: what is on its way of it counts for nothing when it is answered.
func (m *Model) belate(s *State, k int8) {
	for i := range m.Setup.Nodes {
		l := &s.nodes[i].links[k]
		l.sent = l.sent.belated()
	}
}

// renewed is a node that tells client k that it has prolonged its hold.
func (m *Model) renewed(s *State, i int, k int8) {
	a := &s.attempts[k]
	if a.asked == calm {
		return
	}
	s.nodes[i].links[k].heard |= renewed
	if s.heard(k, renewed) < m.quorum() {
		return
	}
	left := m.Setup.TTL
	if m.Rules.Sent {
		left -= a.asked
	}
	a.doing, a.left, a.asked, a.claims = holding, max(a.left, left), calm, false
	if a.token < s.last && m.hasTokens(k) {
		s.wrong = Overtaken
	}
	for j := range m.Setup.Nodes {
		l := &s.nodes[j].links[k]
		if l.heard&missing != 0 {
			l.sent = l.sent.plusRepair()
		}
		l.heard &^= renewed | missing
	}
}

// missing is a node that tells client k that it has nothing of its hold, and nothing of anybody's. It is repaired when the renewal has its
// majority.
func (m *Model) missing(s *State, i int, k int8) {
	l, a := &s.nodes[i].links[k], &s.attempts[k]
	switch {
	case m.isPeer(k) || a.doing != holding && a.doing != lapsed:
	case a.asked == calm || !m.Rules.RepairAfter:
		l.sent = l.sent.plusRepair()
	default:
		l.heard |= missing
	}
}

// abandon is a client that does not wait for a node's answer to a try any longer: what was asked for may be done later.
func (m *Model) abandon(s *State, i int, k, try int8) bool {
	l, a := &s.nodes[i].links[k], &s.attempts[k]
	if l.doubt.has(try) || l.outstanding(try, a.try) == 0 || m.isPeer(k) || !s.spend(late) {
		return false
	}
	l.doubt |= one(try)
	return true
}
