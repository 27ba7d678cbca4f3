package redlockmodel

// Story tells a trace for people: what happens, and what follows from it for the clients.
func (m *Model) Story(trace []Move) []string {
	var lines []string
	for k := range m.Setup.Clients {
		if m.isPeer(int8(k)) {
			lines = append(lines, name(int8(k))+" is another program: it knows no guard and no token")
		}
	}
	if m.Setup.Held > 0 {
		lines = append(lines, "X holds on "+[...]string{"no", "one", "two", "three", "four", "five"}[m.Setup.Held]+" nodes")
	}
	s := m.Initial()
	for _, v := range trace {
		var t State
		if !m.step(&s, v, &t) {
			return append(lines, v.String()+": this cannot happen")
		}
		lines = append(lines, v.String())
		for k := range m.Setup.Clients {
			if text := consequence(deeds[v.deed].kind, &s.attempts[k], &t.attempts[k]); text != "" {
				lines = append(lines, "    "+name(int8(k))+" "+text)
			}
		}
		s = t
	}
	if wrong := s.violated(); wrong != Nothing {
		lines = append(lines, "⇒ "+wrong.String())
	}
	return lines
}

// consequence is what a move has changed for one client, other than by its own decision.
func consequence(by kind, before, after *attempt) string {
	switch {
	case after.doing == taking && before.doing == voting:
		return "has a majority of votes, and tells them its token"
	case after.doing == holding && before.doing != holding:
		return "HOLDS"
	case after.doing == holding && before.asked != calm && after.asked == calm:
		return "has a majority: its hold is renewed"
	case by == passing && before.doing == holding && after.doing != holding:
		return "holds no longer: its time is over"
	case by == passing && before.doing != after.doing:
		return "gives up: its time is over"
	}
	return ""
}
