package measure

import (
	"errors"
	"math"
	"testing"
	"time"

	"holdfast.dev/bench/internal/figure"
)

const msec = int64(time.Millisecond)

// TestWindow: what counts is what Lock returned between the two looks at the server; waits count in full, and those that were cut off too.
func TestWindow(t *testing.T) {
	w := &window{from: 100 * msec, to: 200 * msec, processed: 40, calls: map[string]int64{"fcall": 8, "set": 3, "get": 9}}
	workers := []*worker{
		{asking: -1, turns: []turn{
			{got: 80 * msec, wait: 5 * msec, gap: 1 * msec, left: 81 * msec, freed: 82 * msec},     // before the clock
			{got: 85 * msec, wait: 5 * msec, gap: 1 * msec, left: 86 * msec, freed: 103 * msec},    // its unlock returned after it had started
			{got: 110 * msec, wait: 20 * msec, gap: 2 * msec, left: 110 * msec, freed: 113 * msec}, // began before the clock
			{got: 150 * msec, wait: 9 * msec, gap: -1, left: 150 * msec, freed: 152 * msec},        // nobody held it before
			{got: 200 * msec, wait: 1 * msec, gap: 4 * msec, left: 201 * msec, freed: 202 * msec},  // at the last moment
			{got: 230 * msec, wait: 40 * msec, gap: 9 * msec, left: 231 * msec, freed: 232 * msec}, // it had waited 10 ms when the clock stopped
			{got: 240 * msec, wait: 5 * msec, gap: 9 * msec, left: 241 * msec, freed: 242 * msec},  // began after the clock
		}},
		{asking: 120 * msec, turns: []turn{{got: 105 * msec, wait: 6 * msec, gap: 3 * msec, left: 106 * msec, freed: 107 * msec}}, // has waited 80 ms in vain
			failures: []failure{{50 * msec, errors.New("early")}, {130 * msec, errors.New("gave up")}}},
		{asking: 210 * msec}, // asked after the clock
		{asking: -1, turns: []turn{{got: 180 * msec, wait: 7 * msec, gap: -1, left: 188 * msec, freed: 700 * msec}}}, // its unlock had lasted 12 ms
	}
	r := w.result([]string{"set"}, workers)
	if r.Holds != 5 || r.Lasted != 100*time.Millisecond || r.Problem != "gave up" {
		t.Errorf("%d holds in %v, %q", r.Holds, r.Lasted, r.Problem)
	}
	// Waits: 20, 9, 1, 6, 7, and cut off 10, 80. Gaps: 2, 4, 3. Unlocks: 17, 3, 2, 1, and cut off 12. Pairs: 23, 11, 7, 19.
	want := map[figure.ID]float64{
		figure.Throughput: 50, figure.WaitP50: 9, figure.WaitP99: 80, figure.WaitMax: 80, figure.ServedP99: 20,
		figure.UnlockP50: 3, figure.UnlockP99: 17, figure.PairP50: 11, figure.PairP99: 23,
		figure.ShareMin: 0, figure.ShareMax: 3, figure.ShareRatio: 0, figure.Commands: 8, figure.Calls: 11.0 / 5,
		figure.GapP50: 3, figure.GapP99: 4, figure.Failures: 1,
	}
	for _, id := range figure.All() {
		if got := r.Figures[id]; got != want[id] {
			t.Errorf("%s is %g, want %g", id, got, want[id])
		}
	}
}

// TestWindowWithoutHolds: who never holds has waited all the same, and has no figures for a hold.
func TestWindowWithoutHolds(t *testing.T) {
	w := &window{from: 100 * msec, to: 200 * msec, processed: 40}
	f := w.result(nil, []*worker{{asking: 60 * msec}}).Figures
	if f[figure.Throughput] != 0 || f[figure.WaitP99] != 140 {
		t.Errorf("throughput %g, wait %g; want 0 and 140", f[figure.Throughput], f[figure.WaitP99])
	}
	for _, id := range []figure.ID{figure.Commands, figure.GapP50, figure.ServedP99, figure.UnlockP99, figure.PairP50, figure.ShareRatio} {
		if !math.IsNaN(f[id]) {
			t.Errorf("%s is %g", id, f[id])
		}
	}
}

func TestExclusion(t *testing.T) {
	l := new(lock)
	if problem := l.enter(); problem != "" {
		t.Fatal(problem)
	}
	if l.enter() == "" {
		t.Error("a second holder was not seen")
	}
	if problem := l.leave(1); problem != "" {
		t.Fatal(problem)
	}
	if l.leave(2) == "" {
		t.Error("a second holder that leaves was not seen")
	}
	if l.settle(1) != "" || l.settle(2) == "" {
		t.Errorf("one hold was counted: %q, %q", l.settle(1), l.settle(2))
	}
}
