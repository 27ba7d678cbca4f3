package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"holdfast.dev/torture/internal/generate"
)

// The kinds of rounds that the generator knows.
var kinds = []struct {
	name string
	o    generate.Options
}{
	{"within", generate.Options{}},
	{"none", generate.Options{Class: "none"}},
	{"beyond", generate.Options{Class: "beyond"}},
	{"files", generate.Options{NoExpiry: true}},
	{"files beyond", generate.Options{NoExpiry: true, Class: "beyond"}},
	{"without tokens", generate.Options{Unfenced: true}},
	{"files without tokens", generate.Options{NoExpiry: true, Unfenced: true}},
	{"few and short", generate.Options{Workers: 8, TTL: 500 * time.Millisecond}},
}

// A million operations of a lock that does nothing wrong raise no alarm; and they are no easy ones.
func TestAMillionGood(t *testing.T) {
	operations := 1_000_000
	if testing.Short() {
		operations = 50_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all []Row
	alarms := 0
	for n := 0; n < operations && alarms < 10; seed++ {
		kind := kinds[seed%uint64(len(kinds))]
		f, err := Round(generate.Good(seed, kind.o))
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, kind.name, err)
		}
		for _, v := range f.Violations {
			t.Errorf("seed %d, %s: %v %v", seed, kind.name, v, v.Attempts)
			alarms++
		}
		for _, row := range f.Rows {
			n += row.Operations
		}
		all = Add(all, f.Rows)
	}
	var sum Row
	for _, row := range all {
		t.Logf("%+v", row)
		sum.merge(row)
	}
	if sum.Faults == 0 || sum.LossesTold == 0 || sum.UnfencedLost == 0 || sum.LongestHeal == 0 || sum.LongestTold == 0 || sum.Overlaps == 0 {
		t.Errorf("the histories were too good: %+v", sum)
	}
}

// One long round, as a soak makes it.
func TestALongGood(t *testing.T) {
	operations := 100_000
	if testing.Short() {
		operations = 20_000
	}
	h := generate.Good(1, generate.Options{Operations: operations})
	begun := time.Now()
	f, err := Round(h)
	if err != nil || len(f.Violations) > 0 {
		t.Errorf("%v, %v", f.Violations, err)
	}
	t.Logf("%d records in %v", len(h.Records), time.Since(begun))
}

func BenchmarkRound(b *testing.B) {
	h := generate.Good(1, generate.Options{Operations: 100_000})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Round(h); err != nil {
			b.Fatal(err)
		}
	}
}
