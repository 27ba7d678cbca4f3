package check

import (
	"math/rand/v2"
	"slices"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/generate"
	"holdfast.dev/torture/internal/history"
)

// A spoiler makes a good history a bad one.
type spoiler struct {
	name string
	want string // the checker that must see it
	do   func(records []history.Record) []history.Record
}

// drop leaves out the first record that fits, after so many others.
func drop(after int, fits func(r history.Record) bool) func([]history.Record) []history.Record {
	return func(records []history.Record) []history.Record {
		seen := 0
		i := slices.IndexFunc(records, func(r history.Record) bool {
			if fits(r) {
				seen++
			}
			return seen > after
		})
		return slices.Delete(records, i, i+1)
	}
}

// pair changes two grants of the first lock, one behind the other, of which the second was asked for before the first was granted;
// not the very first ones.
func pair(change func(a, b *history.Record)) func([]history.Record) []history.Record {
	return func(records []history.Record) []history.Record {
		asked := make(map[uint64]driver.Instant)
		var last *history.Record
		for i := range records {
			r := &records[i]
			switch {
			case r.Op == history.Acquire && r.Phase == history.Asked:
				asked[r.Attempt] = r.At
			case r.Op == history.Acquire && r.Outcome == history.Granted && r.Lock == 0:
				if last != nil && asked[r.Attempt] < last.At && i > len(records)/4 {
					change(last, r)
					return records
				}
				last = r
			}
		}
		panic("nobody ever waited for the first lock")
	}
}

var spoilers = []spoiler{
	{"a grant right behind another", "windows", pair(func(a, b *history.Record) { b.At = a.At + 1 })},
	{"a token that was there before", "tokens", pair(func(a, b *history.Record) { b.Token = a.Token })},
	{"a token that is too great", "tokens", pair(func(a, _ *history.Record) { a.Token += 100_000 })},
	{"a write that was not applied", "registers", drop(70, func(r history.Record) bool {
		return r.Op == history.Write && r.Phase == history.Applied && r.Flags&history.Fenced != 0
	})},
	{"a round that does not drain", "liveness", drop(0, func(r history.Record) bool {
		return r.Op == history.Round && r.Phase == history.Drained
	})},
}

// What is done to a good history is seen, in the midst of all that is ugly and allowed.
func TestSpoiled(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	good := generate.Good(seed, generate.Options{Class: "none"})
	for _, s := range spoilers {
		bad, err := history.New(good.Meta, s.do(slices.Clone(good.Records)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Round(bad)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if !slices.ContainsFunc(f.Violations, func(v Violation) bool { return v.Checker == s.want }) {
			t.Errorf("%s: %v", s.name, f.Violations)
		}
	}
}
