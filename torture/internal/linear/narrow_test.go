package linear

import (
	"math/rand/v2"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// bounds are what narrowing moves.
type bounds struct{ call, ret driver.Instant }

// slowly narrows as the comments say it, pair by pair: first says whether h was before g for certain.
func slowly(tenures []tenure, first func(h, g tenure) bool) []bounds {
	var all []bounds
	for i, t := range tenures {
		b := bounds{t.grant.call, t.end.ret}
		for j, o := range tenures {
			if i == j {
				continue
			}
			if first(o, t) {
				b.call = min(max(b.call, o.end.call), t.grant.ret)
			}
			if first(t, o) {
				b.ret = max(min(b.ret, o.grant.ret), t.end.call)
			}
		}
		all = append(all, b)
	}
	return all
}

func TestNarrowing(t *testing.T) {
	byTime := func(h, g tenure) bool { return h.grant.ret < g.end.call }
	byToken := func(h, g tenure) bool { return h.grant.attempt.Token < g.grant.attempt.Token }
	seed := rand.Uint64()
	for i := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, i))
		var tenures []tenure
		for range 1 + random.IntN(8) {
			a := &history.Attempt{Token: 1 + random.Uint64N(6)}
			asked := driver.Instant(1 + random.IntN(30))
			answered, ends := asked+driver.Instant(random.IntN(10)), asked+driver.Instant(random.IntN(20))
			tenures = append(tenures, tenure{&op{kind: grant, attempt: a, call: asked, ret: answered},
				&op{kind: end, attempt: a, call: ends, ret: ends + driver.Instant(random.IntN(20))}})
		}
		for name, rule := range map[string]struct {
			narrow func([]tenure)
			first  func(h, g tenure) bool
		}{"time": {narrowByTime, byTime}, "token": {narrowByToken, byToken}} {
			want := slowly(tenures, rule.first)
			rule.narrow(tenures)
			for j, g := range tenures {
				if got := (bounds{g.grant.call, g.end.ret}); got != want[j] {
					t.Fatalf("seed %d, %d, by %s: tenure %d of %d is narrowed to %v, want %v", seed, i, name, j, len(tenures), got, want[j])
				}
			}
		}
	}
}

// A set of each can be taken, or not: also where the first choice was wrong.
func TestDistinct(t *testing.T) {
	for _, c := range []struct {
		of   [][]uint16
		want bool
	}{
		{nil, true},
		{[][]uint16{{1}}, true},
		{[][]uint16{{1}, {1}}, false},
		{[][]uint16{{1, 2}, {1}}, true},
		{[][]uint16{{1, 2}, {1, 2}, {1, 2}}, false},
		{[][]uint16{{1, 2}, {1, 3}, {1}}, true},
		{[][]uint16{{1, 2}, {2, 3}, {1}, {3}}, false},
	} {
		var s sets
		for _, of := range c.of {
			s = s.with(newSet(of))
		}
		if s.distinct() != c.want {
			t.Errorf("%v: %v", c.of, !c.want)
		}
	}
	var s sets
	for range 3 * mostSets {
		s = s.with(newSet([]uint16{7}))
	}
	if got := len(s.all()); got != mostSets {
		t.Errorf("%d sets are remembered", got)
	}
}
