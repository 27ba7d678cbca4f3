package bars

import (
	"strings"
	"testing"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
)

// world makes a document in which limit and peer have 100 of everything, and ours has what is given; in three repetitions, one of which
// is terrible, so that it is the median that counts. With the guard on ours has guardCosts times as much throughput as without.
func world(ours map[figure.ID]float64, commands map[int]float64, guardCosts float64) *result.Document {
	d := new(result.Document)
	hundred := figure.None()
	for _, id := range figure.All() {
		hundred[id] = 100
	}
	for number := 1; number <= 3; number++ {
		for _, s := range scenario.All() {
			own := hundred
			for id, v := range ours {
				own[id] = v
			}
			if n, ok := commands[s.Goroutines]; ok {
				own[figure.Commands] = n
			}
			if number == 2 {
				own[figure.Throughput], own[figure.WaitP99], own[figure.ShareRatio] = 1, 1e6, 0
			}
			d.Add(s, contender.Contender{Name: "holdfast", Role: contender.Ours}, number, 1, &measure.Result{Figures: own})
			if s.Guard {
				on := own
				on[figure.Throughput] *= guardCosts
				d.Add(s, contender.Contender{Name: "holdfast-guard", Role: contender.Guarded}, number, 4, &measure.Result{Figures: on})
			}
			d.Add(s, contender.Contender{Name: "peer", Role: contender.Peer}, number, 2, &measure.Result{Figures: hundred})
			if !s.Contended() {
				d.Add(s, contender.Contender{Name: "limit", Role: contender.Limit}, number, 3, &measure.Result{Figures: hundred})
			}
		}
	}
	d.Summarise([]string{"limit", "holdfast", "holdfast-guard", "peer"})
	return d
}

// missed returns the bars that were not met.
func missed(d *result.Document) string {
	var names []string
	for _, v := range Judge(d) {
		if !v.Measured {
			names = append(names, "? "+v.Bar)
		} else if !v.Met {
			names = append(names, v.Bar)
		}
	}
	return strings.Join(names, "; ")
}

func TestBars(t *testing.T) {
	good := map[figure.ID]float64{figure.Throughput: 101, figure.WaitP99: 20, figure.ShareRatio: 0.9}
	but := func(id figure.ID, v float64) map[figure.ID]float64 {
		changed := map[figure.ID]float64{id: v}
		for k, value := range good {
			if k != id {
				changed[k] = value
			}
		}
		return changed
	}
	for _, tt := range []struct {
		what     string
		ours     map[figure.ID]float64
		commands map[int]float64
		want     string
	}{
		{"everything good", good, nil, ""},
		{"as fast as the best peer", but(figure.Throughput, 100), nil,
			"apart: holds/s by the best peer's; crowd-256: holds/s by the best peer's; crowd-256-1ms: holds/s by the best peer's"},
		{"0.85 of the limit", but(figure.Throughput, 85), nil,
			"apart: holds/s by the best peer's; crowd-256: holds/s by the best peer's; crowd-256-1ms: holds/s by the best peer's"},
		{"0.84 of the limit", but(figure.Throughput, 84), nil, "solo: holds/s by the limit's; " +
			"apart: holds/s by the best peer's; crowd-256: holds/s by the best peer's; crowd-256-1ms: holds/s by the best peer's"},
		{"0.64 of the limit", but(figure.Throughput, 64), nil, "solo: holds/s by the limit's; apart: holds/s by the limit's; " +
			"apart: holds/s by the best peer's; crowd-256: holds/s by the best peer's; crowd-256-1ms: holds/s by the best peer's"},
		{"waits above a fifth", but(figure.WaitP99, 20.1), nil,
			"crowd-256: wait p99 by the best peer's; crowd-256-1ms: wait p99 by the best peer's"},
		{"shares below 0.9", but(figure.ShareRatio, 0.89), nil,
			"crowd-256: shares of holds, min/max; crowd-256-1ms: shares of holds, min/max"},
		{"a tenth more commands", good, map[int]float64{8: 20, 1024: 22, 64: 21, 256: 20}, ""},
		{"more than that, and not at the end", good, map[int]float64{8: 20, 64: 23, 256: 20, 1024: 20},
			"strangers-8 … strangers-1024: commands per hold, largest by smallest; " +
				"crowd-8 … crowd-1024: commands per hold, largest by smallest; crowd-8-1ms … crowd-1024-1ms: commands per hold, largest by smallest"},
	} {
		if got := missed(world(tt.ours, tt.commands, 1)); got != tt.want {
			t.Errorf("%s: missed\n%q, want\n%q", tt.what, got, tt.want)
		}
	}
}

// TestGuardBars: each scenario about the guard has its own.
func TestGuardBars(t *testing.T) {
	good := map[figure.ID]float64{figure.Throughput: 200, figure.WaitP99: 20, figure.ShareRatio: 0.9}
	if got := missed(world(good, nil, 0.97)); got != "" {
		t.Errorf("at 0.97 of the throughput: missed %q", got)
	}
	var want []string
	for _, name := range []string{"solo", "crowd", "strangers", "solo-replica", "crowd-replica", "strangers-replica"} {
		want = append(want, "guard-"+name+": holds/s by that without the guard")
	}
	if got := missed(world(good, nil, 0.96)); got != strings.Join(want, "; ") {
		t.Errorf("at 0.96 of the throughput: missed\n%q, want\n%q", got, want)
	}
}

// TestBarsNotMeasured: a bar without figures is not met, whatever is missing.
func TestBarsNotMeasured(t *testing.T) {
	for what, d := range map[string]*result.Document{"nothing": {}, "ours": onlyPeers()} {
		for _, v := range Judge(d) {
			if v.Measured || v.Met {
				t.Errorf("without %s: %+v", what, v)
			}
		}
	}
}

func onlyPeers() *result.Document {
	d := new(result.Document)
	for _, s := range scenario.All() {
		d.Add(s, contender.Contender{Name: "peer", Role: contender.Peer}, 1, 1, &measure.Result{Figures: figure.None()})
	}
	d.Summarise([]string{"peer"})
	return d
}
