package redlockmodel

import "testing"

type assumption struct {
	name   string
	setup  Setup
	faults Faults
	wrong  Wrong
	size   size
}

// assumptions are what Redlock cannot do without, each with a deployment where it is broken.
var assumptions = []assumption{
	{"no node's clock is set forward while a hold is on a bare majority", trio.held(2, 1), Faults{Jumps: 1}, TwoHolders, tiny},
	{"of five nodes: a hold on three survives no jump", five.held(3, 1), Faults{Jumps: 1}, TwoHolders, tiny},
	{"of five nodes: a hold on four survives not two", five.held(4, 1), Faults{Jumps: 2}, TwoHolders, tiny},
	{"of five nodes: a hold on five survives not three", five.held(5, 1), Faults{Jumps: 3}, TwoHolders, tiny},
	{"a hold on five whose last renewal has reached three is on three", five.held(5, 1).renewals(1), Faults{Jumps: 1}, TwoHolders, small},
	{"who ignores the guard asks no node that has forgotten something", trio.peers(1), Faults{Losses: 1}, TwoHolders, tiny},
	{"the clocks of a majority of the nodes, and the clients' own, are not far apart", trio.skewed(-far, -far), Faults{Losses: 1}, TokenFell, medium},
	{"they differ by less than the guard", trio.skewed(-perTick, -perTick, perTick), Faults{Losses: 1}, TokenFell, medium},
	{"no request arrives after the tombstone that is for it has run out", trio, Faults{Late: 1, Forgotten: 1}, Revived, tiny},
}

// TestEveryAssumptionIsNeeded breaks what is assumed, one by one: all rules hold, and something is wrong.
func TestEveryAssumptionIsNeeded(t *testing.T) {
	for _, c := range assumptions {
		if skips(t, c.size, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustBreak(t, Model{Setup: c.setup, Rules: AllRules(), Faults: c.faults}, c.wrong)
		})
	}
}

// TestJumpsThatAreSurvived is the other side of it: a hold on g nodes survives g − majority jumps.
func TestJumpsThatAreSurvived(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup Setup
		jumps int8
		size  size
	}{
		{"a hold on three of three survives one", trio.held(3, 1), 1, tiny},
		{"a hold on four of five survives one", five.held(4, 1), 1, small},
		{"a hold on five of five survives one", five.held(5, 1), 1, small},
		{"a hold on five of five survives two", five.held(5, 1), 2, small},
	} {
		if skips(t, c.size, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Model{Setup: c.setup, Rules: AllRules(), Faults: Faults{Jumps: c.jumps}}
			r := m.Explore(limit)
			t.Log(r)
			if !r.Complete {
				t.Errorf("%v:%s", r, list(&m, r.Trace))
			}
		})
	}
}
