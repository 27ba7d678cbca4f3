package torture_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

// Each store gets its time, however long its rounds take, and every fourth of its rounds has faults beyond its assumptions.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, duration := range []time.Duration{0, 23 * time.Second, time.Minute, 10 * time.Minute} {
		over := map[string]time.Duration{"memory": 100 * time.Millisecond, "file": 400 * time.Millisecond, "redis": 3 * time.Second}
		spent, rounds := make(map[string]time.Duration), make(map[string][]string)
		o := torture.Options{Duration: duration, Workers: 4}
		turns, err := torture.Turns(o, 300, func(turn torture.Turn) time.Duration { return turn.Lasts + over[turn.Store] })
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			for store := range over {
				if spent[turn.Store] > spent[store] && (duration == 0 || spent[store] < duration-time.Second) {
					t.Fatalf("%v: it was the turn of %s, which had had %v, before %s, which had had %v", duration, turn.Store, spent[turn.Store], store, spent[store])
				}
			}
			if turn.Lasts > 20*time.Second || duration > 0 && spent[turn.Store]+turn.Lasts > duration {
				t.Errorf("%v: a round of %v after %v", duration, turn.Lasts, spent[turn.Store])
			}
			spent[turn.Store] += turn.Lasts + over[turn.Store]
			rounds[turn.Store] = append(rounds[turn.Store], turn.Class)
		}
		if endless := len(turns) == 300; endless != (duration == 0) {
			t.Errorf("%v: %d turns", duration, len(turns))
		}
		for store := range over {
			if duration > 0 && (spent[store] < duration-time.Second || spent[store] > duration+over[store]) {
				t.Errorf("%v: %s had %v", duration, store, spent[store])
			}
			for i, class := range rounds[store] {
				if want := i%4 == 1; (class == "beyond") != want {
					t.Errorf("%v: round %d of %s is %s: %v", duration, i, store, class, rounds[store])
				}
			}
			if !slices.Contains(rounds[store], "beyond") {
				t.Errorf("%v: %s has had no fault beyond its assumptions: %v", duration, store, rounds[store])
			}
		}
	}
}

// Faults of one class only are all there is, in every round.
func TestTurnsOfOneClass(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"within", "beyond"} {
		o := torture.Options{Duration: time.Minute, Workers: 4, Faults: []string{class}, Stores: []string{"file", "all", "file"}}
		turns, err := torture.Turns(o, 100, func(turn torture.Turn) time.Duration { return turn.Lasts })
		if err != nil || len(turns) != 12 {
			t.Fatalf("%d turns, %v", len(turns), err)
		}
		for _, turn := range turns {
			if turn.Class != class {
				t.Errorf("%+v", turn)
			}
		}
	}
	o := torture.Options{Duration: 100 * time.Millisecond, Workers: 4, Stores: []string{"memory"}}
	turns, err := torture.Turns(o, 100, func(turn torture.Turn) time.Duration { return turn.Lasts })
	if want := []torture.Turn{{Store: "memory", Class: "within", Lasts: 100 * time.Millisecond}}; !slices.Equal(turns, want) || err != nil {
		t.Errorf("less than a second: %v, %v", turns, err)
	}
}

// essence is what of a plan can be compared.
func essence(p round.Plan) []any {
	return []any{p.Number, p.Seed, p.Kind.Name, p.Class, p.Faults, p.TTL, p.Duration, p.Workers, p.Locks, p.Mix, p.Gate}
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
	o.Stores = []string{"memory"}
	inside, err := torture.Plans(o, 1)
	if err != nil || inside[0].Mix.Die != 0 || one[0].Mix.Die == 0 {
		t.Errorf("a worker that dies takes a store with it that is inside: %+v, %v", inside[0].Mix, err)
	}
}
