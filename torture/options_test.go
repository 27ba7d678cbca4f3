package torture_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture"
	"holdfast.dev/torture/internal/round"
)

// What cannot be meant is refused before anything is done, with words that say what can.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, full := filepath.Join(dir, "file"), filepath.Join(dir, "full")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(full, 0o700), os.WriteFile(filepath.Join(full, "mine"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*torture.Options)
		want   []string
	}{
		"store":            {func(o *torture.Options) { o.Stores = []string{"file", "etcd"} }, []string{`"etcd"`, "all, memory, file, redis"}},
		"no name of one":   {func(o *torture.Options) { o.Stores = []string{""} }, []string{`""`, "all, memory, file, redis"}},
		"fault":            {func(o *torture.Options) { o.Faults = []string{"all", "flood"} }, []string{`"flood"`, "all, within, beyond, ", "worker-stop", "break-now"}},
		"another's fault":  {func(o *torture.Options) { o.Faults = []string{"server-kill"} }, []string{`"server-kill" here`, "worker-stop"}},
		"no workers":       {func(o *torture.Options) { o.Workers = 0 }, []string{"0 workers", "2 to 64"}},
		"one worker":       {func(o *torture.Options) { o.Workers = 1 }, []string{"1 workers", "2 to 64"}},
		"too many":         {func(o *torture.Options) { o.Workers = 65 }, []string{"65 workers", "2 to 64"}},
		"duration":         {func(o *torture.Options) { o.Duration = -1 }, []string{"-1ns", "0 to go on until it is stopped"}},
		"into a file":      {func(o *torture.Options) { o.Into = file }, []string{file, "is a file"}},
		"into another's":   {func(o *torture.Options) { o.Into = full }, []string{full, "not empty: name another directory"}},
		"into, below file": {func(o *torture.Options) { o.Into = filepath.Join(file, "x") }, []string{file}},
	} {
		o := options(filepath.Join(dir, "new"))
		c.change(&o)
		result, err := torture.Run(t.Context(), o)
		if result != nil || !errors.Is(err, torture.ErrOption) {
			t.Errorf("%s: %v, %v", name, result, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
			t.Fatalf("%s: a bundle was made", name)
		}
	}
}

// The stores take turns, whatever happens, and the second and then every fourth round of each has faults beyond its assumptions.
func TestTurns(t *testing.T) {
	t.Parallel()
	for duration, lasts := range map[time.Duration]time.Duration{0: 20 * time.Second, 100 * time.Millisecond: 100 * time.Millisecond,
		10 * time.Second: 5 * time.Second, 40 * time.Second: 10 * time.Second, 10 * time.Minute: 20 * time.Second} {
		turns, err := torture.Turns(torture.Options{Duration: duration, Workers: 4}, 60)
		if err != nil {
			t.Fatal(err)
		}
		for i, turn := range turns {
			stores := torture.Stores()
			want := torture.Turn{Store: stores[i%len(stores)], Class: "within", Lasts: lasts}
			if i/len(stores)%4 == 1 {
				want.Class = "beyond"
			}
			if turn != want {
				t.Errorf("%v: turn %d is %+v, want %+v", duration, i+1, turn, want)
			}
		}
	}
}

// Faults of one class only are all there is, in every round.
func TestTurnsOfOneClass(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"within", "beyond"} {
		o := torture.Options{Duration: time.Minute, Workers: 4, Faults: []string{class}, Stores: []string{"file", "all", "file"}}
		turns, err := torture.Turns(o, 12)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			if turn.Class != class {
				t.Errorf("%+v", turn)
			}
		}
	}
}

// essence is what of a plan can be compared.
func essence(p round.Plan) []any {
	return []any{p.Number, p.Run, p.Turn, p.Seed, p.Kind.Name, p.Class, p.Faults, p.TTL, p.Duration, p.Workers, p.Locks, p.Mix, p.Gate}
}

// The same seed plans the same rounds; another seed, and another number, plan others.
func TestPlans(t *testing.T) {
	t.Parallel()
	o := options("")
	o.Stores = []string{"file"}
	one, err := torture.Plans(o, 8)
	again, failed := torture.Plans(o, 8)
	o.Seed = 2
	other, another := torture.Plans(o, 8)
	if err := errors.Join(err, failed, another); err != nil {
		t.Fatal(err)
	}
	seeds := make(map[uint64]bool)
	ttls := make(map[time.Duration]bool)
	for i := range one {
		if a, b := essence(one[i]), essence(again[i]); !reflect.DeepEqual(a, b) {
			t.Errorf("round %d: %v, and again %v", i+1, a, b)
		}
		seeds[one[i].Seed], seeds[other[i].Seed] = true, true
		ttls[one[i].TTL] = true
	}
	if len(seeds) != 16 || len(ttls) < 2 {
		t.Errorf("%d seeds of 16, TTLs %v", len(seeds), ttls)
	}
	o.Stores = []string{"redis-sentinel"}
	slow, err := torture.Plans(o, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slow {
		if p.TTL < time.Second {
			t.Errorf("a TTL of %v is over before Sentinels have done anything", p.TTL)
		}
	}
	o.Stores = []string{"memory"}
	inside, err := torture.Plans(o, 1)
	if err != nil || inside[0].Mix.Die != 0 || one[0].Mix.Die == 0 {
		t.Errorf("a worker that dies takes a store with it that is inside: %+v, %v", inside[0].Mix, err)
	}
}
