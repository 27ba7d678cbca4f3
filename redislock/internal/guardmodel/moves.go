package guardmodel

import "strings"

// A Move is something that can happen: a tick, a call of a client, a message between nodes, a fault. A state and a move make the next
// state, always the same.
type Move struct {
	deed   uint8 // an index of deeds
	node   int8
	to     int8 // another node
	client int8
	next   int8 // another client
	option int8
}

// A deed is a kind of move.
type deed struct {
	text  string   // with {node}, {to}, {client}, {next} and {option}
	about []string // which of those differ
	does  func(m *Model, s *State, v Move) bool
	may   func(m *Model) bool // whether it can happen at all; nil: yes
}

func onNode(text string, does func(*Model, *State, int) bool, may func(*Model) bool) deed {
	return deed{text, []string{"node"}, func(m *Model, s *State, v Move) bool { return does(m, s, int(v.node)) }, may}
}

func onNodeForClient(text string, does func(*Model, *State, int, int8) bool, may func(*Model) bool) deed {
	return deed{text, []string{"node", "client"}, func(m *Model, s *State, v Move) bool { return does(m, s, int(v.node), v.client) }, may}
}

func byClient(text string, does func(*Model, *State, int8) bool, may func(*Model) bool) deed {
	return deed{text, []string{"client"}, func(m *Model, s *State, v Move) bool { return does(m, s, v.client) }, may}
}

// deeds are what can happen. The order is the order of the search, so it decides which of the shortest counterexamples is found.
var deeds = []deed{
	{"a tick passes", nil, func(m *Model, s *State, _ Move) bool { return m.tick(s) }, nil},

	onNodeForClient("{client} acquires at {node}",
		func(m *Model, s *State, i int, k int8) bool { return m.acquire(s, i, k, false) }, nil),
	onNodeForClient("{client} acquires at {node}, and the answer is late",
		func(m *Model, s *State, i int, k int8) bool { return m.acquire(s, i, k, true) }, budgeted(lost)),
	onNodeForClient("{client} renews at {node}", (*Model).renew, nil),
	byClient("{client} lets go, and sends its release", (*Model).letGo, nil),
	onNodeForClient("the release of {client} is carried out at {node}", (*Model).release, nil),
	{"the release of {client} is carried out at {node}, and the lock handed to {next}", []string{"node", "client", "next"},
		func(m *Model, s *State, v Move) bool { return m.handOver(s, int(v.node), v.client, v.next) }, waiters},
	onNodeForClient("{node} hands the lock, which is free, to {client}, who waits", (*Model).takeOver, waiters),
	onNodeForClient("{client} has not heard of its grant, asks at {node}, and is told", (*Model).claim,
		func(m *Model) bool { return waiters(m) || m.Faults.Lost > 0 }),
	byClient("{client} hears of its grant", (*Model).arrive,
		func(m *Model) bool { return waiters(m) || m.Faults.Lost > 0 }),
	onNode("somebody asks at {node}, and gets nothing", (*Model).ask, nil),
	onNode("somebody inspects {node}", (*Model).look, func(m *Model) bool { return !m.Rules.StartAtWrite }),
	onNode("a client writes down how many proofs {node} needs", (*Model).writeNeed, func(m *Model) bool { return !m.Rules.OwnNeed }),

	onNode("{node} acknowledges to its primary", (*Model).acknowledge, func(m *Model) bool { return m.Setup.Proofs }),
	{"{node} gets its primary's data{option}", []string{"node", "behind"},
		func(m *Model, s *State, v Move) bool { return m.replicate(s, int(v.node), v.option) },
		func(m *Model) bool { return m.Setup.Nodes > 1 }},
	onNode("{node} is promoted", (*Model).promote, budgeted(promotions)),
	{"{node} follows {to} from now on, by a partial sync", []string{"node", "to"},
		func(m *Model, s *State, v Move) bool { return m.repoint(s, int(v.node), int(v.to), false) }, moving},
	{"{node} follows {to} from now on, by a full sync", []string{"node", "to"},
		func(m *Model, s *State, v Move) bool { return m.repoint(s, int(v.node), int(v.to), true) }, moving},
	onNode("FAILOVER: {node} changes places with its primary", (*Model).failover, budgeted(failovers)),

	onNode("{node} dies", (*Model).crash, budgeted(crashes)),
	{"{node} starts again as a primary, {option}", []string{"node", "found"},
		func(m *Model, s *State, v Move) bool { return m.restart(s, int(v.node), v.option, false) }, budgeted(restarts)},
	{"{node} starts again as a replica of the newest primary, {option}", []string{"node", "found"},
		func(m *Model, s *State, v Move) bool { return m.restart(s, int(v.node), v.option, true) },
		func(m *Model) bool { return m.Setup.Nodes > 1 && m.Faults.Restarts > 0 }},
	onNode("{node} saves its data", (*Model).save, budgeted(snapshots)),
	onNode("{node} stands still", (*Model).pause, budgeted(pauses)),
	onNode("{node} goes on", (*Model).resume, budgeted(pauses)),
	onNode("FUNCTION FLUSH at {node}: its library has forgotten everything", (*Model).flush, budgeted(flushes)),
	onNode("{node}'s backlog is freed: a new id, and a second one of zeros",
		func(m *Model, s *State, i int) bool { return m.freeBacklog(s, i, false) }, budgeted(backlogs)),
	onNode("{node}'s backlog is freed before the guard has passed: a new id, and a second one of zeros",
		func(m *Model, s *State, i int) bool { return m.freeBacklog(s, i, true) }, budgeted(soonFreed)),
	onNode("{node}'s clock is set far forward", func(m *Model, s *State, i int) bool { return m.step(s, i, false) }, budgeted(steps)),
	onNode("{node}, which knows of no hold, has its clock set far forward",
		func(m *Model, s *State, i int) bool { return m.step(s, i, true) }, budgeted(emptySteps)),
	onNode("{node}'s clock is set back by a tick", (*Model).stepBack, budgeted(backSteps)),
	onNode("{node} loses the lock's key", (*Model).evict, budgeted(evictions)),
	onNode("{node} seals its reign", (*Model).seal, func(m *Model) bool { return m.Shortcuts.Seal }),
}

func waiters(m *Model) bool { return m.Setup.Claim > 0 }

func moving(m *Model) bool { return m.Faults.Repoints > 0 || m.Faults.Backwards > 0 }

func budgeted(fault int) func(*Model) bool {
	return func(m *Model) bool { return m.Faults.budget()[fault] > 0 }
}

// moves returns everything that can happen in this model at all.
func (m *Model) moves() []Move {
	var all []Move
	for d := range deeds {
		if deeds[d].may != nil && !deeds[d].may(m) {
			continue
		}
		variants := []Move{{deed: uint8(d)}}
		for _, about := range deeds[d].about {
			variants = m.vary(variants, about)
		}
		all = append(all, variants...)
	}
	return all
}

// vary returns each move once for every value of one of its arguments.
func (m *Model) vary(moves []Move, about string) []Move {
	values := map[string]int{"node": m.Setup.Nodes, "to": m.Setup.Nodes, "client": slots, "next": slots,
		"found": int(older) + 1, "behind": int(m.Faults.Skew) + 1}[about]
	var varied []Move
	for _, v := range moves {
		for value := range int8(values) {
			switch about {
			case "node":
				v.node = value
			case "to":
				v.to = value
			case "client":
				v.client = value
			case "next":
				v.next = value
			default:
				v.option = value
			}
			varied = append(varied, v)
		}
	}
	return varied
}

// next makes t the state after a move. It reports false if the move cannot happen, or changes nothing.
func (m *Model) next(s *State, v Move, t *State) bool {
	*t = *s
	if !deeds[v.deed].does(m, t, v) {
		return false
	}
	m.settle(t)
	return *t != *s
}

func (v Move) String() string {
	options := map[string][]string{"found": {"empty", "with all its data", "with older data"}, "behind": {"", ", with a clock behind"}}
	d := deeds[v.deed]
	option := ""
	if len(d.about) == 2 {
		if names := options[d.about[1]]; names != nil {
			option = names[min(int(v.option), len(names)-1)]
		}
	}
	return strings.NewReplacer("{node}", string('A'+rune(v.node)), "{to}", string('A'+rune(v.to)),
		"{client}", string('X'+rune(v.client)), "{next}", string('X'+rune(v.next)), "{option}", option).Replace(d.text)
}
