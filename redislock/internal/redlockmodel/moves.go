package redlockmodel

import "strings"

// A Move is something that can happen: a tick, a decision of a client, a request that arrives at a node, a fault. A state and a move make
// the next state, always the same.
type Move struct {
	deed   uint8 // an index of deeds
	node   int8
	client int8
	try    int8
}

// A deed is a kind of move.
type deed struct {
	text    string // with {node}, {client} and {try}
	about   string // which of those differ: n, c, t
	kind    kind
	request func(try int8) requests // arrival, or its answer is lost: what arrives; nil: nothing does
	does    func(m *Model, s *State, v Move) bool
	may     func(m *Model) bool // whether it can happen at all; nil: yes
}

// A kind is who does it.
type kind uint8

const (
	decision kind = iota // a client, whenever it likes
	arrival              // a node, when a request arrives
	mishap               // the network: an answer is lost, a request is late
	passing              // time
	fault
)

func byClient(text string, does func(*Model, *State, int8) bool, may func(*Model) bool) deed {
	return deed{text, "c", decision, nil, func(m *Model, s *State, v Move) bool { return does(m, s, v.client) }, may}
}

func onNode(text string, does func(*Model, *State, int) bool, may func(*Model) bool) deed {
	return deed{text, "n", fault, nil, func(m *Model, s *State, v Move) bool { return does(m, s, int(v.node)) }, may}
}

// onArrival is what a node does with a request. Renewals and repairs are always of the attempt's try of now.
func onArrival(text string, request func(int8) requests, does func(*Model, *State, int, int8, int8) bool, may func(*Model) bool) deed {
	about := "nct"
	if request(1) == request(2) {
		about = "nc"
	}
	return deed{text, about, arrival, request, func(m *Model, s *State, v Move) bool { return does(m, s, int(v.node), v.client, v.try) }, may}
}

// unheard is the same when the client does not hear of it.
func unheard(d deed, does func(*Model, *State, int, int8, int8) bool) deed {
	may := d.may
	d.text += ", and the answer is lost"
	d.kind = mishap
	d.does = func(m *Model, s *State, v Move) bool { return does(m, s, int(v.node), v.client, v.try) }
	d.may = func(m *Model) bool { return m.Faults.Lost > 0 && (may == nil || may(m)) }
	return d
}

var (
	voteArrives    = onArrival("{node} votes for {try}", voteOf, (*Model).vote, nil)
	takeArrives    = onArrival("{node} accepts the token of {try}", takeOf, (*Model).take, tokens)
	renewalArrives = onArrival("{node} renews the hold of {client}", renewalOf, (*Model).prolong, renewing)
)

// deeds are what can happen. The order is the order of the search, so it decides which of the shortest counterexamples is found.
var deeds = []deed{
	byClient("{client} asks all nodes", (*Model).ask, nil),
	voteArrives,
	unheard(voteArrives, (*Model).voteUnheard),
	onArrival("{node} refuses {try}", voteOf, (*Model).refuse, nil),
	takeArrives,
	unheard(takeArrives, (*Model).takeUnheard),
	onArrival("{node} refuses the token of {try}", takeOf, (*Model).refuseToken, tokens),
	byClient("{client} gives its try up, and releases it everywhere", (*Model).giveUp, nil),
	byClient("{client} tries again: it asks all nodes", (*Model).again, func(m *Model) bool { return m.Setup.Tries > 1 }),
	byClient("{client} lets go, and releases its hold everywhere", (*Model).letGo, nil),
	onArrival("{node} carries out the release of {try}", releaseOf, (*Model).release, nil),

	byClient("{client} asks all nodes to renew its hold", (*Model).renew, renewing),
	renewalArrives,
	unheard(renewalArrives, (*Model).prolongUnheard),
	onArrival("{node} has nothing of {client} to renew", renewalOf, (*Model).miss, renewing),
	onArrival("{node} carries out a late renewal of {client}", lateOf, (*Model).prolongLate, renewing),
	onArrival("{node} is repaired: it is given the hold of {client}", repairOf, (*Model).mend, renewing),
	onArrival("{node} refuses to be repaired for {client}", repairOf, (*Model).refuseRepair, renewing),

	{"a tick passes", "", passing, nil, func(m *Model, s *State, _ Move) bool { return m.tick(s) }, nil},

	onNode("{node} restarts without its memory", (*Model).loseMemory, budgeted(losses)),
	onNode("{node} saves its data", (*Model).save, budgeted(saves)),
	onNode("{node} restarts with what it had saved", (*Model).goBack, budgeted(older)),
	onNode("the clock of {node} jumps far forward: what it has runs out", (*Model).jump, budgeted(jumps)),
	onNode("{node} loses a key that was voted for", (*Model).loseEarly, budgeted(earlyLoss)),
	{"a request of {try} to {node} is late, and not waited for any longer", "nct", mishap, nil,
		func(m *Model, s *State, v Move) bool { return m.abandon(s, int(v.node), v.client, v.try) }, budgeted(late)},
	{"the tombstone of {client} at {node} runs out", "nc", fault, nil,
		func(m *Model, s *State, v Move) bool { return m.forget(s, int(v.node), v.client) }, budgeted(forgotten)},
}

func tokens(m *Model) bool { return !m.Setup.Untoken && m.Rules.SecondRound }

func renewing(m *Model) bool { return m.Setup.Renewals > 0 }

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
		variants := []Move{{deed: uint8(d), try: 1}}
		for _, about := range deeds[d].about {
			variants = m.vary(variants, about)
		}
		all = append(all, variants...)
	}
	return all
}

// vary returns each move once for every value of one of its arguments.
func (m *Model) vary(moves []Move, about rune) []Move {
	values := map[rune]int{'n': m.Setup.Nodes, 'c': m.Setup.Clients, 't': int(m.Setup.Tries)}[about]
	var varied []Move
	for _, v := range moves {
		for value := range int8(values) {
			switch about {
			case 'n':
				v.node = value
			case 'c':
				v.client = value
			case 't':
				v.try = value + 1
			}
			varied = append(varied, v)
		}
	}
	return varied
}

// step makes t the state after a move. It reports false if the move cannot happen, or changes nothing.
func (m *Model) step(s *State, v Move, t *State) bool {
	d := &deeds[v.deed]
	if d.request == nil {
		*t = *s
	} else {
		sent := s.nodes[v.node].links[v.client].sent
		if sent&d.request(v.try) == 0 {
			return false // nothing is on its way
		}
		*t = *s
		t.nodes[v.node].links[v.client].sent = sent.minus(d.request(v.try))
	}
	if !d.does(m, t, v) {
		return false
	}
	m.settle(t)
	return *t != *s
}

func (v Move) String() string {
	client := name(v.client)
	try := client
	if v.try > 1 {
		try += "'s retry"
	}
	return strings.NewReplacer("{node}", string('A'+rune(v.node)), "{client}", client, "{try}", try).Replace(deeds[v.deed].text)
}

func name(client int8) string { return string('X' + rune(client)) }
