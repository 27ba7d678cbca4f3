package redlockmodel

// Everything is small and comparable. Only what can still matter is kept, so that states which nobody can tell apart are one: tokens are
// counted from the time of now, ages stop where they have no further effect, nodes are in no order, and what nobody can read any more is
// cleared (settle).

const (
	maxNodes   = 5
	maxClients = 3
	maxTries   = 2
)

// A value is whose a key is: nobody's, or that of a client's try.
type value int8

const nobody value = 0

func valueOf(k, try int8) value { return value(1 + k*maxTries + try - 1) }

func (v value) client() int8 { return int8(v-1) / maxTries }
func (v value) try() int8    { return int8(v-1)%maxTries + 1 }

// record is what a node has of the lock.
type record struct {
	key   value
	left  int8 // of its TTL
	part  bool // the node had part in the key's token, and has accepted it; kept where there are claims
	taken int8 // the greatest token that the node has accepted
}

type node struct {
	record
	saved record // what a restart may come back with
	guard int8   // how long it is guarded
	clock int8   // how far it is ahead, in units of tokens
	links [maxClients]link
}

// A link is what is between a node and a client's attempt.
type link struct {
	sent   requests // on their way to the node
	heard  answers  // what the client knows
	dead   tries    // the tombstone: these get nothing here
	undone tries    // whose release was carried out here; not part of any program: they must not be granted any more
	doubt  tries    // of which the client has given up waiting for an answer
}

// requests is a set, but for repairs, of which two may be on their way.
type requests uint16

const (
	renewal requests = 1 << (3*maxTries + iota)
	repair
	secondRepair
	lateRenewal // of which the answer does not count any more
)

func voteOf(try int8) requests    { return 1 << (try - 1) }
func takeOf(try int8) requests    { return 1 << (maxTries + try - 1) }
func releaseOf(try int8) requests { return 1 << (2*maxTries + try - 1) }
func renewalOf(int8) requests     { return renewal }
func repairOf(int8) requests      { return repair }
func lateOf(int8) requests        { return lateRenewal }

func (q requests) plusRepair() requests {
	if q&repair != 0 {
		return q | secondRepair
	}
	return q | repair
}

func (q requests) minus(r requests) requests {
	if r == repair && q&secondRepair != 0 {
		return q &^ secondRepair
	}
	return q &^ r
}

// belated is the set when the renewal in it is one whose answer does not count any more.
func (q requests) belated() requests {
	if q&renewal == 0 {
		return q
	}
	return q&^renewal | lateRenewal
}

// granting are the requests on their way that can take the key for a try. current: the attempt's try of now, which alone can have repairs.
func (l *link) granting(try, current int8) requests {
	if try == current {
		return l.sent & (voteOf(try) | repair | secondRepair)
	}
	return l.sent & voteOf(try)
}

// outstanding are all requests of a try that are on their way, but its release.
func (l *link) outstanding(try, current int8) requests {
	r := l.granting(try, current) | l.sent&takeOf(try)
	if try == current {
		r |= l.sent & (renewal | lateRenewal)
	}
	return r
}

type answers uint8

const (
	granted  answers = 1 << iota // to this try's vote, in time for its token
	accepted                     // its token
	renewed                      // by the renewal that is under way
	missing                      // the renewal found nothing there
)

// tries is a set of tries.
type tries uint8

func one(try int8) tries          { return 1 << (try - 1) }
func upTo(try int8) tries         { return 1<<try - 1 }
func (t tries) has(try int8) bool { return t&one(try) != 0 }

// What a client's attempt is doing.
type doing uint8

const (
	idle    doing = iota
	voting        // it has asked for votes
	taking        // it has a majority of votes, and has sent its token
	holding       // it believes that it holds
	lapsed        // its time is over, and it may claim the hold
	waiting       // its try has failed, and it may try again
	over          // what is left of it is on its way
)

type attempt struct {
	doing    doing
	try      int8
	age      int8 // voting, taking: since the first request, up to the TTL
	most     int8 // voting: the greatest token heard
	token    int8 // taking, holding
	left     int8 // holding: of its validity, which is what must not overlap
	asked    int8 // holding: since the renewal that is under way was sent; calm: there is none
	claims   bool // the renewal that is under way was sent when its time was over
	renewals int8 // that it may still send
}

const calm = -1

// Wrong is what must never be.
type Wrong uint8

// What must never be.
const (
	Nothing    Wrong = iota
	TwoHolders       // two clients believe at the same time that they hold the lock
	TokenFell        // a hold begins, and its token is not greater than that of every hold before
	Overtaken        // a hold is renewed although a later one has begun
	Revived          // a node gives the key to a try whose release it has carried out
)

func (w Wrong) String() string {
	return [...]string{"nothing is wrong", "two holders", "a token that is not greater than those before", "a hold is renewed after a later one", "a released try has a key again"}[w]
}

// A State is one moment of a deployment.
type State struct {
	nodes    [maxNodes]node
	attempts [maxClients]attempt
	faults   [faultKinds]int8 // that may still happen
	begin    int8             // attempts that may still begin
	last     int8             // the greatest token of a hold so far
	wrong    Wrong
}

// Initial is a deployment at rest, or with one hold.
func (m *Model) Initial() State {
	s := State{faults: m.Faults.budget(), begin: m.Setup.Attempts, last: m.floor()}
	for i := range m.Setup.Nodes {
		s.nodes[i].clock = m.Setup.Skew[i]
		s.nodes[i].taken = m.floor()
	}
	for k := range m.Setup.Clients {
		s.attempts[k] = m.nothing()
	}
	if m.Setup.Held > 0 {
		s.last = m.most() + 1
		for i := range m.Setup.Held {
			s.nodes[i].record = record{key: valueOf(0, 1), left: m.Setup.TTL, part: m.Setup.Claims, taken: s.last}
		}
		s.attempts[0] = attempt{doing: holding, try: 1, token: s.last, left: m.Setup.TTL, asked: calm, renewals: m.Setup.Renewals}
	}
	m.settle(&s)
	return s
}

// violated says what is wrong in a state.
func (s *State) violated() Wrong {
	believing := 0
	for k := range s.attempts {
		if s.attempts[k].doing == holding {
			believing++
		}
	}
	if believing > 1 {
		return TwoHolders
	}
	return s.wrong
}

// heard counts the nodes that have answered so to client k.
func (s *State) heard(k int8, a answers) int {
	n := 0
	for i := range s.nodes {
		if s.nodes[i].links[k].heard&a != 0 {
			n++
		}
	}
	return n
}

// spend uses up one fault of a kind, if there is one left.
func (s *State) spend(kind int) bool {
	if s.faults[kind] == 0 {
		return false
	}
	s.faults[kind]--
	return true
}

// nothing is an attempt that has not begun.
func (m *Model) nothing() attempt { return attempt{asked: calm, most: m.floor(), token: m.floor()} }
