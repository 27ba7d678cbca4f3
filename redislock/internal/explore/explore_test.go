package explore

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestStatesKeepsEachOnceInOrder(t *testing.T) {
	x := newStates[[3]int8]()
	const many = 3 * chunk / 2 // more than a chunk, and more than the first tables
	number := func(i int) *[3]int8 { return &[3]int8{int8(i & 0x7f), int8(i >> 7 & 0x7f), int8(i >> 14)} }
	for i := range many {
		if !x.add(number(i)) {
			t.Fatalf("state %d is taken for another", i)
		}
		if x.add(number(i / 2)) {
			t.Fatalf("state %d is taken in twice", i/2)
		}
	}
	for i := range many {
		if *x.at(i) != *number(i) {
			t.Fatalf("state %d is not in its place", i)
		}
	}
	if x.count != many {
		t.Errorf("count = %d, want %d", x.count, many)
	}
}

// steps is a system on the numbers from 0 to 100: one more, or twice as much.
var steps = System[int, string]{Initial: 1, Moves: []string{"one more", "twice"}, Next: func(s *int, move string, t *int) bool {
	if *t = *s + 1; move == "twice" {
		*t = *s * 2
	}
	return *t <= 100
}}

func is(n int) func(*int) bool { return func(s *int) bool { return *s == n } }

func TestSearch(t *testing.T) {
	r := steps.Search(1000, is(10))
	if want := []string{"one more", "twice", "one more", "twice"}; !slices.Equal(r.Trace, want) || r.Complete {
		t.Errorf("%+v, want the shortest way, and of those the first: %v", r, want)
	}
	if last, err := steps.Replay(r.Trace); last != 10 || err != nil {
		t.Errorf("the way to 10 leads to %d, %v", last, err)
	}
	if r := steps.Search(1000, is(0)); !r.Complete || r.Trace != nil || r.States != 100 || r.Depth == 0 {
		t.Errorf("%+v, want all of 1 to 100", r)
	}
	if r := steps.Search(50, is(0)); r.Complete || r.Trace != nil || r.States < 50 || r.States > 52 {
		t.Errorf("%+v, want no more than was asked for", r)
	}
	if r := steps.Search(1000, is(1)); r.Trace == nil || len(r.Trace) != 0 {
		t.Errorf("%+v, want the initial state, found by no move", r)
	}
	if _, err := steps.Replay(slices.Repeat([]string{"twice"}, 7)); err == nil {
		t.Error("a way to 128 was followed")
	}
}

func TestWalk(t *testing.T) {
	walk := func(seed uint64, weight map[string]int, goal int) Result[string] {
		return steps.Walk(rand.New(rand.NewPCG(seed, 0)), 1000, func(m string) int { return weight[m] }, is(goal))
	}
	both := map[string]int{"one more": 3, "twice": 1}
	r := walk(1, both, 100)
	if last, err := steps.Replay(r.Trace); last != 100 || err != nil || len(r.Trace) != r.States {
		t.Errorf("%+v leads to %d, %v; want 100", r, last, err)
	}
	if !reflect.DeepEqual(r, walk(1, both, 100)) {
		t.Error("the same seed, another walk")
	}
	if reflect.DeepEqual(r, walk(2, both, 100)) {
		t.Error("another seed, the same walk")
	}
	if r := walk(1, map[string]int{"one more": 1}, 0); r.Trace != nil || r.States != 99 {
		t.Errorf("%+v, want 99 steps by one, and then nothing that can happen", r)
	}
	if r := walk(1, map[string]int{"twice": 1}, 64); len(r.Trace) != 6 {
		t.Errorf("%+v, want six times twice: what has no weight never happens", r)
	}
}
