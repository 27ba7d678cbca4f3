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
	n, q := len(t.seats), majority(len(t.seats))
	var taken []time.Duration
	var guards []time.Duration
	var holders []answer
	for i := range t.seats {
		switch a := t.seats[i].vote; a.word {
		case held, already, gone:
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
	case len(taken)+len(guards) > n-q:
		slices.Sort(guards)
		needed := len(taken) + len(guards) - (n - q) // so many of them must vote
		return &driver.Guarded{Left: guards[min(needed, len(guards))-1], Why: t.guardReason()}
	}
	answers := make([]answer, n)
	for i := range t.seats {
		answers[i] = t.seats[i].vote
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
	for len(holders) > 0 {
		first := holders[0].holder
		same := func(a answer) bool {
			return a.holder.Label == first.Label && a.holder.Token == first.Token && a.word == holders[0].word
		}
		some := slices.Clone(holders)
		some = slices.DeleteFunc(some, func(a answer) bool { return !same(a) })
		holders = slices.DeleteFunc(holders, same)
		if len(some) > n-q && some[0].word == held { // of those that have not answered the rest may have it too
			for _, a := range some {
				first.Left, first.Held = max(first.Left, a.holder.Left), max(first.Held, a.holder.Held)
			}
			h.Holders = append(h.Holders, first)
		}
	}
	if len(h.Holders) == 0 || h.Holders[0].Token == 0 && h.Holders[0].Label != foreign { // a split vote, or one that is not decided yet
		t.s.splits.Add(1)
		h.RetryIn = t.elapsed() + rand.N(2*t.elapsed()+2*time.Millisecond)
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
	return fmt.Sprintf("%d of %d nodes do not vote yet, because they have started, or taken over, lately (%s)", len(each), len(t.seats), strings.Join(each, ", "))
}

// tooLate is a majority that came when too little of the TTL was left.
func (t *try) tooLate() error {
	return fmt.Errorf("a majority was there after %v, when less than a tenth of the TTL of %v was left: a longer TTL, or faster nodes, would help", t.elapsed(), t.ttl)
}

// nodesError says what every node said.
func (t *try) nodesError(answers []answer) error {
	e := &NodesError{Need: majority(len(answers))}
	for i, a := range answers {
		n := NodeState{Node: t.seats[i].node.name, Err: a.err, yes: a.word == done && a.err == nil}
		switch {
		case a.err != nil:
			n.Says = a.err.Error()
		case a.word == done:
			n.Says = "granted"
		case a.word == held:
			n.Says = (&driver.Held{Holders: []driver.Holder{a.holder}}).Error()
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
