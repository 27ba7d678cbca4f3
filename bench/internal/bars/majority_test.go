package bars

import (
	"maps"
	"strings"
	"testing"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
)

// fleet makes a document in which the peer has 100 of everything. What ours has is given, with tokens, without, and without functions, in trouble and without; in three
// repetitions, one of which is terrible.
func fleet(tokens, without, simple, stopped map[figure.ID]float64) *result.Document {
	hundred := figure.None()
	for _, id := range figure.All() {
		hundred[id] = 100
	}
	d := new(result.Document)
	for number := 1; number <= 3; number++ {
		for _, s := range scenario.Majorities() {
			add := func(name string, role contender.Role, changes map[figure.ID]float64) {
				own := hundred
				for id, v := range changes {
					own[id] = v
				}
				if s.Stopped && role != contender.Peer {
					for id, v := range stopped {
						own[id] *= v
					}
				}
				if number == 2 && role != contender.Peer && role != contender.Limit {
					for id := range own {
						own[id] = 1 - float64(figure.ID(id).Kind().Better)*1e6
					}
				}
				d.Add(s, contender.Contender{Name: name, Role: role}, number, 1, &measure.Result{Figures: own})
			}
			add(ours, contender.Ours, tokens)
			add(untokened, contender.Untokened, without)
			if !s.Contended() && !s.Stopped {
				add(plain, contender.Plain, simple)
			}
			add("peer", contender.Peer, nil)
			if !s.Contended() && !s.Stopped {
				add("limit", contender.Limit, map[figure.ID]float64{figure.WaitP50: 40})
			}
		}
	}
	d.Summarise([]string{"limit", ours, untokened, plain, "peer"})
	return d
}

// TestMajorityBars: each bar is met at its value, and missed beyond it, where it is about that.
func TestMajorityBars(t *testing.T) {
	good := map[figure.ID]float64{figure.Throughput: 101, figure.WaitP99: 50, figure.WaitP50: 60, figure.PairP50: 100, figure.Calls: 10}
	but := func(id figure.ID, v float64) map[figure.ID]float64 {
		changed := maps.Clone(good)
		changed[id] = v
		return changed
	}
	for _, tt := range []struct {
		what                     string
		tokens, without, stopped map[figure.ID]float64
		kinds, says, not         string
		count                    int
	}{
		{"everything good", but(figure.WaitP50, 100), good, nil, "", "", "", 0},
		{"slower than the peer with tokens", but(figure.PairP50, 200), good, nil, "", "", "", 0},
		{"slower than the peer without", good, but(figure.PairP50, 101), nil, "solo", "tokens off: lock+unlock p50 by the best peer's", "", 4},
		{"one round more", but(figure.Calls, 13), good, nil, "", "", "", 0},
		{"more than that, on 3 nodes", but(figure.Calls, 13.1), good, nil, "solo-of-3", "calls to each node, less those without tokens", "", 2},
		{"more than a round trip of the limit's", but(figure.WaitP50, 101), good, nil, "solo", "in round trips", "", 2},
		{"as fast as the peer", but(figure.Throughput, 100), good, nil, "apart", "holds/s by the best peer's", "tokens off", 4},
		{"as fast as it without tokens", good, but(figure.Throughput, 100), nil, "apart", "tokens off: holds/s by the best peer's", "", 4},
		{"waits above a half", but(figure.WaitP99, 50.1), good, nil, "crowd strangers", "wait p99 by the best peer's", "tokens off", 8},
		{"one stopped", good, good, map[figure.ID]float64{figure.WaitP99: 1.5, figure.UnlockP99: 1.5}, "", "", "", 0},
		{"lock late", good, good, map[figure.ID]float64{figure.WaitP99: 1.51}, "stopped-of-5", "wait p99 by its own with all nodes", "", 4},
		{"unlock late", good, good, map[figure.ID]float64{figure.UnlockP99: 1.51}, "stopped-of-5", "unlock p99 by its own with all nodes", "", 4},
	} {
		var missed []string
		for _, v := range JudgeMajorities(fleet(tt.tokens, tt.without, good, tt.stopped)) {
			if !v.Measured {
				t.Errorf("%s: %s was not measured", tt.what, v.Bar)
			} else if !v.Met {
				missed = append(missed, v.Bar)
			}
		}
		if len(missed) != tt.count {
			t.Errorf("%s: missed %d, want %d: %q", tt.what, len(missed), tt.count, missed)
		}
		for _, bar := range missed {
			begins := false
			for kind := range strings.FieldsSeq(tt.kinds) {
				begins = begins || strings.Contains(bar, kind)
			}
			if !begins || !strings.Contains(bar, tt.says) || tt.not != "" && strings.Contains(bar, tt.not) {
				t.Errorf("%s: missed %q", tt.what, bar)
			}
		}
	}
}

// TestPlainBars: on servers without functions, too.
func TestPlainBars(t *testing.T) {
	good := map[figure.ID]float64{figure.Throughput: 101, figure.WaitP99: 50, figure.WaitP50: 60, figure.PairP50: 100, figure.Calls: 10}
	slow := maps.Clone(good)
	slow[figure.PairP50], slow[figure.Throughput] = 101, 100
	missed := 0
	for _, v := range JudgeMajorities(fleet(good, good, slow, nil)) {
		if !v.Met && !strings.Contains(v.Bar, ", without functions: ") {
			t.Errorf("missed %q", v.Bar)
		} else if !v.Met {
			missed++
		}
	}
	if missed != 8 {
		t.Errorf("missed %d, want 8: one goroutine and 64, on 5 and 3 nodes, near and far", missed)
	}
}

// TestMajorityBarsNotMeasured: a bar without figures is not met, whatever is missing.
func TestMajorityBarsNotMeasured(t *testing.T) {
	only := new(result.Document)
	for _, s := range scenario.Majorities() {
		only.Add(s, contender.Contender{Name: ours, Role: contender.Ours}, 1, 1, &measure.Result{Figures: figure.None()})
	}
	only.Summarise([]string{ours})
	for what, d := range map[string]*result.Document{"anything": {}, "the others": only} {
		for _, v := range JudgeMajorities(d) {
			if v.Measured || v.Met {
				t.Errorf("without %s: %+v", what, v)
			}
		}
	}
}
