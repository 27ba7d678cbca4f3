package torture

import (
	"math/rand/v2"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// Everything below depends on the options and on the number of a turn, and on nothing else: a seed gives the same rounds again, and each
// of them can be run again by itself (Options.Round).

// turn returns whose turn it is: the stores one after the other, and of each the second round and then every fourth has faults beyond
// its assumptions, if there are some to choose from.
func (r *running) turn(n int) (f field) {
	stores := r.stores()
	store, nth := stores[(n-1)%len(stores)], (n-1)/len(stores)
	for _, g := range r.fields {
		if g.kind.Name == store && (f.kind.Name == "" || nth%beyondEvery == 1) {
			f = g
		}
	}
	return f
}

// lasts is how long a round is.
func (r *running) lasts() time.Duration {
	switch {
	case r.Duration == 0:
		return most
	case r.Duration < least:
		return r.Duration
	}
	return max(least, min(most, r.Duration/beyondEvery))
}

// stores are the names of those that take turns.
func (r *running) stores() []string {
	var names []string
	for i, f := range r.fields {
		if i == 0 || r.fields[i-1].kind.Name != f.kind.Name {
			names = append(names, f.kind.Name)
		}
	}
	return names
}

// usual are TTLs of most stores.
var usual = []time.Duration{500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond, 700 * time.Millisecond, time.Second, 2 * time.Second}

// plan is that of a round.
func (r *running) plan(f field, number, turn int) round.Plan {
	random := rand.New(rand.NewPCG(r.Seed, uint64(turn)))
	nth := (turn - 1) / len(r.stores())
	ttls := f.kind.TTLs
	if len(ttls) == 0 {
		ttls = usual
	}
	plan := round.Plan{Number: number, Run: r.Seed, Turn: turn, Seed: random.Uint64(), Kind: f.kind, Class: f.class.String(),
		Faults: r.pack(f.together(random), nth), TTL: ttls[random.IntN(len(ttls))], Duration: r.lasts(), Workers: r.Workers, PerEach: 2,
		Locks: round.Locks(), Mix: worker.Plan, Command: r.Program}
	if f.kind.OneProcess {
		plan.Mix.Use += plan.Mix.Die // its end would be the store's
		plan.Mix.Die = 0
	}
	return plan
}

// pack shuffles faults, for the whole run alike, and begins for each round where the one before has probably got to: so a run has them all
// before it has one twice, however short its rounds are.
func (r *running) pack(faults []driver.Fault, nth int) []driver.Fault {
	slices.Sort(faults)
	rand.New(rand.NewPCG(r.Seed, 0)).Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	begin := nth * max(1, int(r.lasts()/perFault)) % len(faults)
	return slices.Concat(faults[begin:], faults[:begin])
}

// perFault is how long a fault takes, and the pause after it, more or less.
const perFault = 2500 * time.Millisecond

// together is which of its faults a round has: all, but not two that the driver says must be apart.
func (f field) together(random *rand.Rand) []driver.Fault {
	faults := slices.Clone(f.faults)
	for _, a := range f.kind.Assumptions() {
		apart := func(fault driver.Fault) bool { return slices.Contains(a.Apart, fault) }
		if !slices.Contains(faults, a.Fault) || !slices.ContainsFunc(faults, apart) {
			continue
		}
		if random.IntN(2) == 0 {
			apart = func(fault driver.Fault) bool { return fault == a.Fault }
		}
		faults = slices.DeleteFunc(faults, apart)
	}
	return faults
}
