package redlockmodel

// What a node does with a request that has arrived. Each is carried out as a whole, as Redis does. A function reports false where something
// else is done with it. Unheard: the client is not told, because the answer is lost; false where it would not have listened.

// has reports whether the key is that of a try.
func (m *Model) has(n *node, k, try int8) bool {
	return n.key != nobody && n.key.client() == k && (n.key.try() == try || !m.Rules.Fresh)
}

// mayVote decides over a vote. Others' programs ask whether the key is free, and nothing else.
func (m *Model) mayVote(n *node, k, try int8) bool {
	return n.key == nobody && (m.isPeer(k) || n.guard == 0 && !n.links[k].dead.has(try))
}

func (m *Model) vote(s *State, i int, k, try int8) bool {
	if !m.mayVote(&s.nodes[i], k, try) {
		return false
	}
	m.give(s, i, k, try)
	if m.listens(s, k, try) {
		m.granted(s, i, k)
	}
	return true
}

func (m *Model) voteUnheard(s *State, i int, k, try int8) bool {
	if !m.mayVote(&s.nodes[i], k, try) || !m.listens(s, k, try) || !s.spend(lost) {
		return false
	}
	m.give(s, i, k, try)
	return true
}

// listens reports whether client k still wants to know of votes for a try.
func (m *Model) listens(s *State, k, try int8) bool {
	a := &s.attempts[k]
	return a.try == try && (a.doing == voting || a.doing == taking || a.doing == holding)
}

// give sets the key. It must not be that of a try which was released here.
func (m *Model) give(s *State, i int, k, try int8) {
	n := &s.nodes[i]
	n.key, n.left, n.part = valueOf(k, try), m.Setup.TTL, m.Setup.Claims && !m.Rules.Accepted
	if n.links[k].undone.has(try) && !m.isPeer(k) {
		s.wrong = Revived
	}
}

func (m *Model) refuse(s *State, i int, k, try int8) bool { return !m.mayVote(&s.nodes[i], k, try) }

// mayTake decides over a token.
func (m *Model) mayTake(s *State, i int, k, try int8) bool {
	n := &s.nodes[i]
	return !(m.Rules.GuardTakes && n.guard > 0) && (!m.Rules.Owned || m.has(n, k, try))
}

func (m *Model) take(s *State, i int, k, try int8) bool {
	if !m.mayTake(s, i, k, try) {
		return false
	}
	a := &s.attempts[k]
	if a.try == try { // else nobody will hold by it, and nobody remembers it
		m.accept(s, i, k)
	}
	if a.try == try && a.doing == taking {
		m.accepted(s, i, k)
	}
	return true
}

func (m *Model) takeUnheard(s *State, i int, k, try int8) bool {
	a := &s.attempts[k]
	if !m.mayTake(s, i, k, try) || a.try != try || a.doing != taking || !s.spend(lost) {
		return false
	}
	m.accept(s, i, k)
	return true
}

func (m *Model) accept(s *State, i int, k int8) {
	n := &s.nodes[i]
	n.taken = max(n.taken, s.attempts[k].token)
	n.part = m.Setup.Claims && n.links[k].heard&granted != 0
}

func (m *Model) refuseToken(s *State, i int, k, try int8) bool { return !m.mayTake(s, i, k, try) }

// extend is what a renewal does. done is false if there is nothing to renew. A claim comes from a client that does not believe in its hold any more, so
// that somebody else may have held since: it counts only where the node had part in the token. The key lasts longer all the same.
func (m *Model) extend(s *State, i int, k int8) (done, counts bool) {
	n, a := &s.nodes[i], &s.attempts[k]
	switch {
	case m.has(n, k, a.try):
		if a.claims && m.Rules.GuardClaims && n.guard > 0 {
			return false, false
		}
		n.left = m.Setup.TTL
		return true, !a.claims || n.part || !m.Rules.HadPart || m.Setup.Untoken
	case !m.Rules.RepairApart && m.mayMend(n, k, a.try):
		m.give(s, i, k, a.try)
		m.accept(s, i, k)
		return true, true
	}
	return false, false
}

func (m *Model) prolong(s *State, i int, k, _ int8) bool {
	done, counts := m.extend(s, i, k)
	if counts && s.attempts[k].asked != calm {
		m.renewed(s, i, k)
	}
	return done
}

func (m *Model) prolongUnheard(s *State, i int, k, _ int8) bool {
	if s.attempts[k].asked == calm {
		return false
	}
	_, counts := m.extend(s, i, k)
	return counts && s.spend(lost)
}

// miss is a renewal that finds nothing, or somebody else's key.
func (m *Model) miss(s *State, i int, k, _ int8) bool {
	if done, _ := m.extend(s, i, k); done {
		return false
	}
	if s.nodes[i].key == nobody {
		m.missing(s, i, k)
	}
	return true
}

// prolongLate is a renewal that is not waited for any longer. It was no claim, or a node might refuse it.
func (m *Model) prolongLate(s *State, i int, k, _ int8) bool {
	n, a := &s.nodes[i], &s.attempts[k]
	switch {
	case m.has(n, k, a.try):
		n.left = m.Setup.TTL
	case n.key == nobody && !m.Rules.RepairAfter:
		m.missing(s, i, k)
	}
	return true
}

// mayMend decides over a repair.
func (m *Model) mayMend(n *node, k, try int8) bool {
	return n.key == nobody && !(m.Rules.GuardRepairs && n.guard > 0) && !(m.Rules.Heeded && n.links[k].dead.has(try))
}

// mend is a repair that finds the key free. That its answer is lost makes no difference.
func (m *Model) mend(s *State, i int, k, _ int8) bool {
	try := s.attempts[k].try
	if !m.mayMend(&s.nodes[i], k, try) {
		return false
	}
	m.give(s, i, k, try)
	if m.Rules.RepairToken {
		m.accept(s, i, k)
	}
	return true
}

func (m *Model) refuseRepair(s *State, i int, k, _ int8) bool {
	return !m.mayMend(&s.nodes[i], k, s.attempts[k].try)
}

// release frees the key of a try. It is sent when the other requests of the try have been answered, or given up: then it leaves a tombstone.
func (m *Model) release(s *State, i int, k, try int8) bool {
	n := &s.nodes[i]
	l := &n.links[k]
	if m.Rules.Order && !l.doubt.has(try) && l.outstanding(try, s.attempts[k].try) != 0 {
		return false
	}
	found := m.has(n, k, try)
	if found {
		n.key = nobody
	}
	l.undone |= one(try)
	if m.Rules.Tombstone && l.doubt.has(try) && (m.Rules.Always || !found) {
		if m.Rules.UpTo {
			l.dead |= upTo(try)
		} else {
			l.dead = one(try)
		}
	}
	return true
}
