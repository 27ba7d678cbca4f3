package redlockmodel

import "testing"

// resolve finds out how long a lock that nobody holds cannot be had: all who ask give up, everything that is on its way arrives, and then
// one asks alone. It returns the ticks that must pass until that one holds, or -1.
func resolve(m *Model, s State) int {
	if s.isHeld() {
		return 0
	}
	for k := range int8(m.Setup.Clients) {
		m.giveUp(&s, k)
	}
	m.settle(&s)
	m.deliver(&s)
	for passed := range int(m.Setup.TTL + m.Setup.Guard + 1) {
		if t := s; m.alone(&t) {
			return passed
		}
		m.tick(&s)
		m.settle(&s)
	}
	return -1
}

func (s *State) isHeld() bool {
	for k := range s.attempts {
		if s.attempts[k].doing == holding {
			return true
		}
	}
	return false
}

// deliver carries out all requests that are on their way, and those that follow from them.
func (m *Model) deliver(s *State) {
	for again := true; again; {
		again = false
		for _, v := range m.moves() {
			var t State
			if deeds[v.deed].kind == arrival && m.step(s, v, &t) {
				*s, again = t, true
			}
		}
	}
}

// alone lets one client ask, and reports whether it holds.
func (m *Model) alone(s *State) bool {
	s.begin = 1
	for k := range int8(m.Setup.Clients) {
		if m.again(s, k) || m.ask(s, k) {
			m.deliver(s)
			return s.attempts[k].doing == holding
		}
	}
	return false
}

// TestSplitVotesAreResolved looks at every state of clients that have asked at once: whoever has votes without a majority gives them back, so
// that the next one who asks alone holds, and no time need pass. If an answer was lost, too: a try is also released where nothing was heard.
func TestSplitVotesAreResolved(t *testing.T) {
	for _, c := range []struct {
		name   string
		setup  Setup
		faults Faults
		rules  func(*Rules)
		most   int // ticks that may have to pass
		size   size
	}{
		{"three clients, three nodes", trio.crowd().untokened().ttl(1), Faults{}, nil, 0, medium},
		{"two clients, four nodes", quartet.untokened().ttl(1), Faults{}, nil, 0, tiny},
		{"an answer is lost", trio.ttl(1), Faults{Lost: 1}, nil, 0, small},
		{"a request is late", trio.ttl(1), Faults{Late: 1}, nil, 0, small},
		{"a node forgets", trio.untokened(), Faults{Losses: 2}, nil, int(trio.Guard), small},
		{"an answer is lost, without the rule Everywhere", trio.ttl(1), Faults{Lost: 2}, func(r *Rules) { r.Everywhere = false }, -1, tiny},
	} {
		if skips(t, c.size, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults}
			if c.rules != nil {
				c.rules(&m.Rules)
			}
			r := m.search(limit, func(s *State) bool { n := resolve(&m, *s); return n < 0 || n > max(0, c.most) })
			if broken := r.Trace != nil; broken != (c.most < 0) {
				t.Fatalf("%v%s", r, list(&m, r.Trace))
			}
			t.Logf("%v%s", r, list(&m, r.Trace))
		})
	}
}
