package torture

import (
	"time"

	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/control"
	"holdfast.dev/torture/internal/round"
)

// A Turn is one that a run gives to a store.
type Turn struct {
	Store, Class string
	Lasts        time.Duration
}

// Turns are those of a run whose rounds take a bit longer than they are meant to: as long as took says; at most n.
func Turns(o Options, n int, took func(Turn) time.Duration) ([]Turn, error) {
	fields, err := o.fields()
	if err != nil {
		return nil, err
	}
	r := &running{Options: o, fields: fields, spent: make(map[string]time.Duration), rounds: make(map[string]int)}
	var turns []Turn
	for f, lasts := r.next(); f != nil && len(turns) < n; f, lasts = r.next() {
		turn := Turn{f.kind.Name, f.class.String(), lasts}
		r.spent[turn.Store] += took(turn)
		r.rounds[turn.Store]++
		turns = append(turns, turn)
	}
	return turns, nil
}

// Plans are those of the first rounds of a run, if all were of its first store and class.
func Plans(o Options, n int) ([]round.Plan, error) {
	fields, err := o.fields()
	if err != nil {
		return nil, err
	}
	r := &running{Options: o, fields: fields}
	var plans []round.Plan
	for number := range n {
		plans = append(plans, r.plan(fields[0], number+1, time.Second))
	}
	return plans, nil
}

// Instead lets other locks be tried than those that are meant: the broken one, or the twin.
func (o ControlOptions) Instead(broken func(meant bool) bool) ControlOptions {
	o.kind = func(c control.Control, meant bool) arena.Kind { return arena.Control(c, broken(meant)) }
	return o
}
