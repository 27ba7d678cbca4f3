package result

import (
	"math"
	"testing"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/scenario"
)

// add records throughputs and waits, one of each for a repetition.
func add(d *Document, name string, role contender.Role, throughputs, waits []float64) {
	for i := range throughputs {
		f := figure.None()
		f[figure.Throughput], f[figure.WaitP99] = throughputs[i], waits[i]
		d.Add(scenario.Scenario{Name: "solo"}, contender.Contender{Name: name, Role: role}, i+1, 1, &measure.Result{Figures: f})
	}
}

// TestRatiosWithinARepetition: the second repetition was slow for all, so the ratio of the medians is not the median of the ratios.
func TestRatiosWithinARepetition(t *testing.T) {
	d := new(Document)
	add(d, "a", contender.Peer, []float64{100, 10, 100}, []float64{1, 8, 4})
	add(d, "ours", contender.Ours, []float64{50, 9, 80}, []float64{2, 2, 2})
	add(d, "b", contender.Peer, []float64{20, 12, 40}, []float64{4, 4, 4})
	add(d, "limit", contender.Limit, []float64{200, 90, 100}, []float64{1, 1, 1})
	add(d, "limit-best", contender.Limit, []float64{100, 30, 160}, []float64{1, 1, 1})
	d.Summarise([]string{"limit", "limit-best", "ours", "a", "b"})

	s := d.Scenario("solo")
	for i, name := range []string{"limit", "limit-best", "ours", "a", "b"} {
		if s.Contenders[i].Name != name {
			t.Errorf("at place %d is %s, want %s", i, s.Contenders[i].Name, name)
		}
	}
	ours := s.Contender("ours")
	if ours.Median[figure.Throughput] != 50 || ours.Min[figure.Throughput] != 9 || ours.Max[figure.Throughput] != 80 {
		t.Errorf("%g (%g…%g)", ours.Median[figure.Throughput], ours.Min[figure.Throughput], ours.Max[figure.Throughput])
	}
	// By the best peer: 50/100, 9/12, 80/100. By the faster limit: 50/200, 9/90, 80/160. Waits by the shortest: 2/1, 2/4, 2/4.
	if got := ours.ToBest[figure.Throughput]; got != 0.75 {
		t.Errorf("throughput by the best peer's is %g, want 0.75", got)
	}
	if got := ours.ToLimit[figure.Throughput]; got != 0.25 {
		t.Errorf("throughput by the limit's is %g, want 0.25", got)
	}
	if got := ours.ToBest[figure.WaitP99]; got != 0.5 {
		t.Errorf("wait by the best peer's is %g, want 0.5", got)
	}
	if got := ours.ToBest[figure.GapP50]; !math.IsNaN(got) {
		t.Errorf("a gap that nobody measured is %g", got)
	}
}

// TestRatiosOfTheGuard: one that has the guard on is compared with ours, and nobody else is.
func TestRatiosOfTheGuard(t *testing.T) {
	d := new(Document)
	add(d, "ours", contender.Ours, []float64{100, 10, 200}, []float64{1, 1, 1})
	add(d, "on", contender.Guarded, []float64{90, 8, 200}, []float64{2, 2, 2})
	d.Summarise([]string{"ours", "on"})
	on, ours := d.Scenario("solo").Contender("on"), d.Scenario("solo").Contender("ours")
	if got := on.ToOff[figure.Throughput]; got != 0.9 {
		t.Errorf("throughput by that without the guard is %g, want 0.9", got)
	}
	if got := on.ToOff[figure.WaitP99]; got != 2 {
		t.Errorf("the wait by that without the guard is %g, want 2", got)
	}
	if got := ours.ToOff[figure.Throughput]; !math.IsNaN(got) {
		t.Errorf("what has no guard is compared with itself: %g", got)
	}
}

// TestRatiosNeedTheSameRepetition: a peer that did not run in a repetition is not compared with there.
func TestRatiosNeedTheSameRepetition(t *testing.T) {
	d := new(Document)
	add(d, "ours", contender.Ours, []float64{50, 60}, []float64{1, 1})
	add(d, "a", contender.Peer, []float64{100}, []float64{1})
	d.Summarise([]string{"ours", "a"})
	ours := d.Scenario("solo").Contender("ours")
	if got := ours.ToBest[figure.Throughput]; got != 0.5 {
		t.Errorf("%g, want 0.5", got)
	}
	run, _ := ours.Run(2)
	if got := ours.ToBestIn(run, figure.Throughput); !math.IsNaN(got) {
		t.Errorf("in the second it is %g", got)
	}
	if _, ok := ours.Run(3); ok {
		t.Error("there was no third")
	}
}

// TestRatiosToHealthy: what is measured in trouble is compared with the same contender without it, in the same repetition.
func TestRatiosToHealthy(t *testing.T) {
	d := new(Document)
	well := scenario.Scenario{Name: "solo"}
	ill := scenario.Scenario{Name: "stopped", Healthy: "solo"}
	for i, waits := range [][4]float64{{1, 2, 4, 100}, {10, 30, 4, 100}, {1, 5, 4, 100}} {
		for j, s := range []scenario.Scenario{well, ill} {
			for k, name := range []string{"ours", "peer"} {
				f := figure.None()
				f[figure.WaitP99] = waits[2*k+j]
				d.Add(s, contender.Contender{Name: name}, i+1, 1, &measure.Result{Figures: f})
			}
		}
	}
	d.Summarise([]string{"ours", "peer"})
	for name, want := range map[string]float64{"ours": 3, "peer": 25} { // 2/1, 30/10, 5/1
		if got := d.Scenario("stopped").Contender(name).ToHealthy[figure.WaitP99]; got != want {
			t.Errorf("%s waits %g times as long in trouble, want %g", name, got, want)
		}
		if got := d.Scenario("solo").Contender(name).ToHealthy[figure.WaitP99]; !math.IsNaN(got) {
			t.Errorf("%s without trouble is compared with itself: %g", name, got)
		}
	}
	ours := d.Scenario("stopped").Contender("ours")
	if got := ours.ToHealthyIn(ours.Runs[1], figure.WaitP99); got != 3 {
		t.Errorf("in the second repetition it is %g, want 3", got)
	}
}

// TestViolation: a repetition in which a lock did not exclude counts for nothing else.
func TestViolation(t *testing.T) {
	d := new(Document)
	add(d, "a", contender.Peer, []float64{100}, []float64{1})
	d.AddViolation(scenario.Scenario{Name: "solo"}, contender.Contender{Name: "a", Role: contender.Peer}, 2, 1, &measure.Violation{What: "two were inside"})
	d.Summarise([]string{"a"})
	a := d.Scenario("solo").Contender("a")
	if len(a.Runs) != 2 || a.Runs[0].Broke != "" || a.Runs[1].Broke != "two were inside" || a.Median[figure.Throughput] != 100 {
		t.Errorf("%+v", a)
	}
}

func TestAllMet(t *testing.T) {
	d := &Document{Bars: []Verdict{{Measured: true, Met: true}}}
	if !d.AllMet() {
		t.Error("the only bar was met")
	}
	if d.Bars = append(d.Bars, Verdict{}); d.AllMet() {
		t.Error("one was not measured")
	}
}
