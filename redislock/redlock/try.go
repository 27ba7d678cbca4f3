package redlock

import (
	"context"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A phase is how far a try has come: see "One try" in the package comment.
type phase uint8

const (
	voting phase = iota
	taking
	holding
	over
)

// A try is one round of votes for an attempt, and, if a majority granted, its hold. All of its requests go through its seats.
type try struct {
	s      *Store
	q      question
	asked  driver.Instant // the clock before the first request
	ttl    time.Duration  // that was asked for
	waits  *waits         // nil: it does not wait
	splits int            // tries before it, in a row, that nobody has won

	mu      sync.Mutex
	phase   phase
	form    form
	seats   []seat
	votes   tally
	takes   tally
	token   uint64
	quiet   bool // once it is over nobody need be told: its owner tries again
	wasHeld bool // it has had a majority
	ended   bool // its attempt is released: what is left at a seat is released with it

	done  chan struct{} // closed when it holds, or is over
	lost  error         // over: why, if no majority could be had
	split bool          // over: several tried at once, and nobody has a majority
}

// A seat is what a try has at one node. Requests at it are sent one after the other.
type seat struct {
	node    *node
	vote    answer
	took    answer
	counted bool // its vote is in the token
	busy    bool
	asked   bool     // something was sent
	doubt   bool     // something that was sent has had no answer, and may be carried out later
	freeing bool     // and that was a release
	queue   []func() // what is to be sent next; called with the mutex held
}

// has reports whether the node may have something of the try.
func (s *seat) has() bool { return s.doubt || s.vote.word == done }

func (s *Store) newTry(a *attempt, ttl time.Duration, number uint32, w *waits) *try {
	t := &try{
		s: s, q: a.question, ttl: ttl, waits: w, form: s.form(),
		seats: make([]seat, len(s.nodes)), done: make(chan struct{}),
		votes: tally{n: len(s.nodes)}, takes: tally{n: len(s.nodes)},
	}
	t.q.id = idOf(a.question.attempt, number)
	for i, n := range s.nodes {
		t.seats[i].node = n
	}
	return t
}

// A round is one question to all nodes: they share its time.
type round struct {
	ctx      context.Context
	cancel   context.CancelFunc
	patience time.Duration

	mu   sync.Mutex
	open int
}

func (s *Store) newRound(patience time.Duration) *round {
	r := &round{patience: patience, open: 1}
	r.ctx, r.cancel = context.WithTimeout(s.work, patience)
	return r
}

func (r *round) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
}

// end is called for each begin, and once for the round itself.
func (r *round) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open--; r.open == 0 {
		r.cancel()
	}
}

// send sends a request at a seat, when those before it have been answered or given up. then is called with the mutex held, as send is.
func (t *try) send(i int, r *round, request func(ctx context.Context, p primitive) answer, then func(answer)) {
	seat := &t.seats[i]
	r.begin()
	if seat.busy {
		seat.queue = append(seat.queue, func() { t.begin(seat, r, request, then) })
		return
	}
	t.begin(seat, r, request, then)
}

func (t *try) begin(seat *seat, r *round, request func(ctx context.Context, p primitive) answer, then func(answer)) {
	seat.busy = true
	t.s.background.begin()
	t.s.hands.do(func() { t.run(seat, r, request, then) }, t.s.work.Done())
}

func (t *try) run(seat *seat, r *round, request func(ctx context.Context, p primitive) answer, then func(answer)) {
	defer t.s.background.end()
	a := seat.node.ask(r.ctx, t.form, r.patience, request)
	r.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	seat.busy = false
	seat.asked = seat.asked || !a.unsent
	seat.doubt = seat.doubt || a.lingers()
	then(a)
	for len(seat.queue) > 0 && !seat.busy {
		next := seat.queue[0]
		seat.queue = seat.queue[1:]
		next()
	}
}

// start asks all nodes for their votes.
func (t *try) start() {
	r := t.s.newRound(t.s.nodeTimeout(t.ttl))
	defer r.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase != voting {
		return // its attempt was released since it was made: nothing more is sent (R1)
	}
	t.asked = t.s.clock.Now()
	ttl := t.ttl
	for i := range t.seats {
		before := t.seats[i].node.frees.underWay(t.q.keys[0])
		t.send(i, r, func(ctx context.Context, p primitive) answer {
			if err := await(ctx, before); err != nil {
				return answer{err: err, unsent: true}
			}
			return p.vote(ctx, &t.q, ttl, t.waitsAt(i))
		}, func(a answer) { t.voted(i, a) })
	}
}

// waitsAt is how the node can tell this try's owner; nil if it cannot.
func (t *try) waitsAt(i int) *waits {
	if t.waits == nil || !t.s.hears(t.seats[i].node) {
		return nil
	}
	return t.waits
}

// isTold reports whether so many nodes can tell this try's owner that it need not ask by itself.
func (t *try) isTold() bool {
	n := 0
	for i := range t.seats {
		if t.waitsAt(i) != nil {
			n++
		}
	}
	return t.form == fullForm && n >= majority(len(t.seats))
}

// voted takes in a vote. The mutex is held, here and below.
func (t *try) voted(i int, a answer) {
	seat := &t.seats[i]
	a = t.s.heard(seat.node, a)
	seat.vote = a
	if seat.counts() {
		t.votes.yes++
	} else {
		t.votes.no++
	}
	switch t.phase {
	case voting:
		switch {
		case t.votes.won():
			t.elect()
		case t.votes.lost():
			// A majority is out of reach. If that is because nodes do not answer, the others may know why: they are waited for.
			if why := t.verdict(); t.votes.yes+t.votes.no == t.votes.n || driver.Answered(why) {
				t.fail(why)
			}
		}
	case taking, holding:
		if seat.counts() {
			t.sendToken(i)
		}
	case over:
		t.free(i)
	}
}

// elect: a majority has granted.
func (t *try) elect() {
	if why := t.s.vetoed(); why != nil {
		t.fail(why)
		return
	}
	if t.form == plainForm || t.q.tokens != later {
		t.token = t.seats[0].vote.token // 0 but of a node that is the only one
		t.hold()
		return
	}
	token, err := t.s.tokenFor(t)
	if err != nil {
		t.fail(err)
		return
	}
	t.phase, t.token = taking, token
	r := t.s.newRound(t.s.nodeTimeout(t.ttl))
	defer r.end()
	for i := range t.seats {
		seat := &t.seats[i]
		if seat.counted = seat.counts(); seat.counted {
			t.sendTokenIn(i, r)
		} else {
			t.takes.no++
		}
	}
}

// counts reports whether the seat's vote is one for the try.
func (s *seat) counts() bool { return s.vote.word == done && s.vote.err == nil }

// voted reports whether the seat's vote is there.
func (s *seat) voted() bool { return s.vote.word != failed || s.vote.err != nil }

// sendToken tells the token to a node that has granted late. That does not count: its own tokens and its clock are not in it.
func (t *try) sendToken(i int) {
	if t.token == 0 {
		return
	}
	r := t.s.newRound(t.s.nodeTimeout(t.ttl))
	defer r.end()
	t.sendTokenIn(i, r)
}

func (t *try) sendTokenIn(i int, r *round) {
	token, counts := t.token, t.seats[i].counted
	t.send(i, r, func(ctx context.Context, p primitive) answer { return p.take(ctx, &t.q, token, counts) },
		func(a answer) { t.tookIt(i, a) })
}

// tookIt takes in what a node says to the token.
func (t *try) tookIt(i int, a answer) {
	seat := &t.seats[i]
	seat.took = a
	switch {
	case !seat.counted:
		return
	case a.word == done:
		t.takes.yes++
	default:
		t.takes.no++
	}
	switch {
	case t.phase == taking && t.takes.won():
		t.hold()
	case t.phase == taking && t.takes.lost():
		t.fail(t.verdict())
	}
}

// hold: the majority is there. If it came too late the try has failed.
func (t *try) hold() {
	if _, ok := validity(t.ttl, t.s.clock.Now().Sub(t.asked)); !ok {
		t.fail(t.tooLate())
		return
	}
	if why := t.s.vetoed(); why != nil { // a node has told so since the votes
		t.fail(why)
		return
	}
	t.phase, t.wasHeld = holding, true
	close(t.done)
}

// fail ends the try, and frees what it has.
func (t *try) fail(why error) {
	t.lost = why
	t.end()
}

// end frees what the try has at every node, each when it has answered.
func (t *try) end() {
	if t.phase == over {
		return
	}
	if t.phase != holding {
		defer close(t.done)
	}
	t.phase = over
	for i := range t.seats {
		switch seat := &t.seats[i]; {
		case !seat.busy:
			t.free(i)
		case seat.voted(): // else it is freed when it votes
			seat.queue = append(seat.queue, func() { t.free(i) })
		}
	}
}

// mayHave reports for each node whether it may still have something of the try.
func (t *try) mayHave() (at []bool, any bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at = make([]bool, len(t.seats))
	for i := range t.seats {
		at[i] = t.seats[i].has() || t.seats[i].busy
		any = any || at[i]
	}
	return at, any
}

// lingers reports whether a node may still have something of the try: what it has runs out.
func (t *try) lingers(now driver.Instant) bool {
	_, any := t.mayHave()
	t.mu.Lock()
	defer t.mu.Unlock()
	return any && now.Sub(t.asked) <= t.ttl+releasePatience
}

// inherits takes over what nodes may still have of tries before it: who releases the attempt releases that, too.
func (t *try) inherits(earlier []*try) {
	for _, other := range earlier {
		at, _ := other.mayHave()
		t.mu.Lock()
		for i := range t.seats {
			t.seats[i].doubt = t.seats[i].doubt || at[i]
		}
		t.mu.Unlock()
	}
}

// free releases the try at a node, if that may have something of it.
func (t *try) free(i int) {
	seat := &t.seats[i]
	if !seat.has() || t.ended {
		return
	}
	r := t.s.newRound(releasePatience)
	defer r.end()
	// Its owner waits on, and whoever has waited longest is told: the same one by every node, so that the next vote is not split again.
	t.release(i, r, undoing{quiet: t.quiet && !t.split, ttl: t.ttl, next: t.waitsAt(i)}, func(answer) {})
}

// release sends a release at a seat. If it has no answer it is repeated in the background.
func (t *try) release(i int, r *round, u undoing, then func(answer)) {
	seat := &t.seats[i]
	freeing := seat.node.frees.begin(t.q.keys[0])
	t.send(i, r, func(ctx context.Context, p primitive) answer { return p.release(ctx, &t.q, t.doubted(seat, u)) },
		func(a answer) {
			seat.node.frees.end(t.q.keys[0], freeing)
			if a.word == failed && !driver.Answered(a.err) {
				seat.node.undo(t.s, &t.q, u)
				seat.doubt, seat.freeing = true, true // whoever releases it again must ask again
			} else {
				if a.word == gone && seat.freeing {
					a.word = done // by the one that was not answered
				}
				seat.vote, seat.doubt = answer{word: gone}, false
			}
			then(a)
		})
}

// doubted is u, and whether something may still be on its way to the seat: that is known when it is sent, not before.
func (t *try) doubted(seat *seat, u undoing) undoing {
	t.mu.Lock()
	defer t.mu.Unlock()
	u.doubt = seat.doubt
	return u
}

// releasePatience is how long a node has to answer a release, before it is repeated in the background.
const releasePatience = time.Second
