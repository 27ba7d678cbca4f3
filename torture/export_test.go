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

// Turns are the first n of a run.
func Turns(o Options, n int) ([]Turn, error) {
	fields, err := o.fields()
	if err != nil {
		return nil, err
	}
	r := &running{Options: o, fields: fields}
	var turns []Turn
	for i := range n {
		f := r.turn(i + 1)
		turns = append(turns, Turn{f.kind.Name, f.class.String(), r.lasts()})
	}
	return turns, nil
}

// Plans are those of the first rounds of a run.
func Plans(o Options, n int) ([]round.Plan, error) {
	fields, err := o.fields()
	if err != nil {
		return nil, err
	}
	r := &running{Options: o, fields: fields}
	var plans []round.Plan
	for number := range n {
		plans = append(plans, r.plan(r.turn(number+1), number+1, number+1))
	}
	return plans, nil
}

// Instead lets other locks be tried than those that are meant: the broken one, or the twin.
func (o ControlOptions) Instead(broken func(meant bool) bool) ControlOptions {
	o.kind = func(c control.Control, meant bool) arena.Kind { return arena.Control(c, broken(meant)) }
	return o
}
