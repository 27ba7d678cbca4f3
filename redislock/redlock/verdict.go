package redlock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// verdict is why a try could not have a majority: what to tell the caller, by the answers that are there. The mutex is held.
func (t *try) verdict() error {
	if why := t.s.vetoed(); why != nil {
		return why
	}
	n, q := len(t.seats), majority(len(t.seats))
	var taken []time.Duration
	var guards []time.Duration
	var holders []answer
	granted, refused := 0, false
	for i := range t.seats {
		if t.seats[i].counts() {
			granted++
		}
		refused = refused || t.seats[i].vote.word == failed && driver.Answered(t.seats[i].vote.err)
		switch a := t.seats[i].vote; a.word {
		case held, already, gone, undone:
			taken = append(taken, a.left)
			holders = append(holders, a)
		case guarded:
			guards = append(guards, a.left)
		case done:
			if took := t.seats[i].took; took.word == guarded {
				guards = append(guards, took.left)
			}
		}
	}
	switch {
	case len(taken) > n-q:
		return t.heldBy(holders, taken)
	case t.phase == voting && len(taken) > 0 && len(taken)+granted >= q && !refused: // a majority has answered, and somebody is in the way
		return t.heldBy(holders, taken)
	case len(taken)+len(guards) > n-q:
		slices.Sort(guards)
		needed := len(taken) + len(guards) - (n - q) // so many of them must vote
		return &driver.Guarded{Left: guards[min(needed, len(guards))-1], Why: t.guardReason()}
	}
	answers := make([]answer, n)
	for i := range t.seats {
		answers[i] = t.seats[i].vote
		answers[i].late = t.phase == taking && !t.seats[i].counted
		if took := t.seats[i].took; took.word != done && (took.word != failed || took.err != nil) {
			answers[i] = took
		}
	}
	return t.nodesError(answers)
}

// heldBy is the answer that somebody else has a majority, or that nobody can have one because several have tried at once.
func (t *try) heldBy(holders []answer, taken []time.Duration) error {
	n, q := len(t.seats), majority(len(t.seats))
	h := &driver.Held{RetryIn: freeIn(n, taken, driver.Forever)}
	if h.RetryIn == driver.Forever {
		h.RetryIn = 0
	}
	for _, same := range byMark(holders) {
		if len(same) > n-q && isHold(same) { // those that have not answered may have voted for it too
			h.Holders = append(h.Holders, combined(same))
		}
	}
	if len(h.Holders) == 0 {
		t.split = true
		switch {
		case t.isTold():
			h.RetryIn = 0 // what was voted for it is released, and who has waited longest told
		case t.splits < mostSplits: // else it is no race: it lasts, and is waited for as any hold
			h.RetryIn = t.elapsed() + rand.N(2*t.elapsed()+2*time.Millisecond)<<t.splits
		}
	}
	return h
}

// mostSplits is how often in a row a vote that nobody has won is repeated soon, each time after a longer while.
const mostSplits = 6

// isHold reports whether what nodes say of one and the same is a hold, and not somebody's votes only.
func isHold(same []answer) bool {
	return slices.ContainsFunc(same, func(a answer) bool { return !a.voting })
}

// byMark sorts what nodes say of holders by who it is.
func byMark(holders []answer) map[string][]answer {
	marks := make(map[string][]answer)
	for _, a := range holders {
		if a.word == held {
			marks[a.mark] = append(marks[a.mark], a)
		}
	}
	return marks
}

// combined is one holder, as several nodes tell of it: as long as the most patient of them says.
func combined(same []answer) driver.Holder {
	h := *same[0].holder
	for _, a := range same {
		h.Left, h.Held, h.Token = max(h.Left, a.holder.Left), max(h.Held, a.holder.Held), max(h.Token, a.holder.Token)
		h.Broken = h.Broken || a.holder.Broken
	}
	return h
}

// elapsed is how long the try has taken.
func (t *try) elapsed() time.Duration { return max(0, t.s.clock.Now().Sub(t.asked)) }

// guardReason says which nodes do not vote yet, for people.
func (t *try) guardReason() string {
	var each []string
	for i := range t.seats {
		if seat := &t.seats[i]; seat.vote.word == guarded {
			each = append(each, seat.node.name)
		}
	}
	if len(t.seats) == 1 {
		return "the node does not vote yet, because it has started, or taken over, lately"
	}
	return fmt.Sprintf("%d of %d nodes do not vote yet, because they have started, taken over or been set up lately (%s)",
		len(each), len(t.seats), strings.Join(each, ", "))
}

// tooLate is a majority that came when too little of the TTL was left.
func (t *try) tooLate() error {
	return fmt.Errorf("a majority was there after %v, when less than a tenth of the TTL of %v was left: a longer TTL, or faster nodes, would help", t.elapsed(), t.ttl)
}

// nodesError says what every node said.
func (t *try) nodesError(answers []answer) error {
	e := &NodesError{Need: majority(len(answers))}
	for i, a := range answers {
		n := NodeState{Node: t.seats[i].node.name, Err: a.err, yes: a.word == done && a.err == nil && !a.late}
		switch {
		case a.err != nil:
			n.Says = a.err.Error()
		case a.word == done && a.late:
			n.Says = "granted, after the token was decided on"
		case a.word == done:
			n.Says = "granted"
		case a.word == held && a.voting:
			n.Says = "has its vote for somebody else"
		case a.word == held:
			n.Says = (&driver.Held{Holders: []driver.Holder{*a.holder}}).Error()
		case a.word == already:
			n.Says = "an earlier try is not released yet"
		case a.word == guarded:
			n.Says = fmt.Sprintf("guarded for another %v", a.left.Round(time.Millisecond))
		case a.word == gone, a.word == broken:
			n.Says = "does not have it"
		case a.word == undone:
			n.Says = "was released before"
		default:
			n.Says, n.Err = "no answer yet", errPending
		}
		e.Nodes = append(e.Nodes, n)
	}
	return e
}
