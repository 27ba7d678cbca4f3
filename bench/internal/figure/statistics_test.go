package figure

import (
	"encoding/json"
	"math"
	"testing"
)

var nan = math.NaN()

// same compares numbers, and takes NaN for equal to itself.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestPercentile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, tt := range []struct {
		values []int
		p      float64
		want   int
	}{
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 99.1, 100}, {hundred, 100, 100}, {hundred, 0, 1}, {hundred, 1, 1},
		{[]int{7}, 50, 7}, {[]int{7}, 99, 7}, {[]int{1, 9}, 50, 1}, {[]int{1, 9}, 51, 9}, {[]int{1, 2, 3}, 99, 3},
	} {
		if got, ok := Percentile(tt.values, tt.p); !ok || got != tt.want {
			t.Errorf("percentile %g of %d values is %d, %v; want %d", tt.p, len(tt.values), got, ok, tt.want)
		}
	}
	if _, ok := Percentile([]int(nil), 50); ok {
		t.Error("nothing has a percentile")
	}
}

func TestShares(t *testing.T) {
	for _, tt := range []struct {
		holds              []int
		fewest, most, want float64
	}{
		{[]int{5}, 5, 5, 1}, {[]int{9, 10, 8}, 8, 10, 0.8}, {[]int{0, 300}, 0, 300, 0},
		{[]int{0, 0}, 0, 0, nan}, {nil, nan, nan, nan},
	} {
		fewest, most, ratio := Shares(tt.holds)
		if !same(fewest, tt.fewest) || !same(most, tt.most) || !same(ratio, tt.want) {
			t.Errorf("shares of %v are %g, %g, %g; want %g, %g, %g", tt.holds, fewest, most, ratio, tt.fewest, tt.most, tt.want)
		}
	}
}

func TestSummarise(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Summary
	}{
		{[]float64{3}, Summary{3, 3, 3}},
		{[]float64{9, 1, 5}, Summary{5, 1, 9}},
		{[]float64{4, 1, 3, 2}, Summary{2.5, 1, 4}},
		{[]float64{nan, 2, nan, 8, 3}, Summary{3, 2, 8}},
		{[]float64{nan}, Summary{nan, nan, nan}},
		{nil, Summary{nan, nan, nan}},
	} {
		before := append([]float64(nil), tt.values...)
		got := Summarise(tt.values)
		if !same(got.Median, tt.want.Median) || !same(got.Min, tt.want.Min) || !same(got.Max, tt.want.Max) {
			t.Errorf("of %v: %v, want %v", tt.values, got, tt.want)
		}
		for i := range before {
			if !same(before[i], tt.values[i]) {
				t.Fatalf("it has changed its argument to %v", tt.values)
			}
		}
	}
}

// TestBest: every figure by itself, in its own direction, and what was not measured is not the best.
func TestBest(t *testing.T) {
	a, b := None(), None()
	a[Throughput], b[Throughput] = 100, 200
	a[WaitP99], b[WaitP99] = 5, 7
	a[GapP50] = 3
	a[ShareMax], b[ShareMax] = 1, 2
	for _, best := range []Set{Best([]Set{a, b}), Best([]Set{b, a})} {
		if best[Throughput] != 200 || best[WaitP99] != 5 || best[GapP50] != 3 {
			t.Errorf("best throughput %g, wait %g, gap %g; want 200, 5, 3", best[Throughput], best[WaitP99], best[GapP50])
		}
		if !math.IsNaN(best[ShareMax]) || !math.IsNaN(best[WaitMax]) {
			t.Errorf("a largest share is neither good nor bad, and no longest wait was measured: %g, %g", best[ShareMax], best[WaitMax])
		}
	}
	if none := Best(nil); !math.IsNaN(none[Throughput]) {
		t.Errorf("the best of nothing is %g", none[Throughput])
	}
}

func TestAgainst(t *testing.T) {
	a, b := None(), None()
	a[Throughput], b[Throughput] = 50, 200
	a[Failures], b[Failures] = 3, 0
	a[GapP50] = 1
	ratios := a.Against(b)
	if ratios[Throughput] != 0.25 {
		t.Errorf("50 by 200 is %g", ratios[Throughput])
	}
	if !math.IsNaN(ratios[Failures]) || !math.IsNaN(ratios[GapP50]) {
		t.Errorf("by nothing: %g, %g", ratios[Failures], ratios[GapP50])
	}
}

func TestSetAsJSON(t *testing.T) {
	s := None()
	s[Throughput], s[WaitP99] = 1234.5, math.Inf(1)
	text, err := json.Marshal(s)
	if err != nil || string(text) != `{"holds_per_second":1234.5}` {
		t.Fatalf("%s, %v", text, err)
	}
	var back Set
	if err := json.Unmarshal(text, &back); err != nil || back[Throughput] != 1234.5 || !math.IsNaN(back[WaitP99]) {
		t.Errorf("%v, %v", back, err)
	}
}

// TestKinds: every figure has a description, and no two have the same key.
func TestKinds(t *testing.T) {
	seen := make(map[string]bool)
	for _, id := range All() {
		k := id.Kind()
		if k.Key == "" || k.Title == "" || seen[k.Key] {
			t.Errorf("figure %d: %+v", int(id), k)
		}
		seen[k.Key] = true
	}
}
