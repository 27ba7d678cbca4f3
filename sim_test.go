package holdfast

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 10_000, "how many seeds the simulation runs, from 1 on")
	simSeed  = flag.Uint64("sim.seed", 0, "run this seed only, and print all that happens")
)

// TestSimulation runs the core, in fake time, over one or two stores and a network that do everything to it that rules of time and
// ownership must withstand: delay, loss, duplication, reordering, machines that are paused, cut off or killed, a store that forgets
// or that nobody reaches, clocks that drift and jump, holds that are broken; with a lease for each hold, or one for all of a client's.
// Workers use mutexes, and in some worlds readers and writers, semaphores, Multis and elections. In every world:
//
//   - nobody is valid beside a writer or a leader, and never more permits than there are; what a client believes its store has, for
//     at least as long;
//   - contexts end before the next grant, when the validity is over, and when the store says that a lease is gone, of all its holds;
//   - tokens rise, and readers side by side share one;
//   - re-entry never waits, a writer inside a reader and a Multi against the order are refused at once;
//   - a Multi is never seen half, neither when it fails nor when it is granted;
//   - Run resigns after its function has returned, and campaigns again after a loss;
//   - nothing is left behind, and after healing everybody is served.
//
// A seed that fails is run once more with its story printed, and again by:
//
//	go test -run '^TestSimulation$' -sim.seed=N .
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		if bad := simulate(t, *simSeed, t.Logf); len(bad) > 0 {
			t.Errorf("seed %d: %q", *simSeed, bad)
		}
		return
	}
	seeds := *simSeeds
	if testing.Short() {
		seeds = min(seeds, 500)
	}
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint("shard", shard), func(t *testing.T) {
			t.Parallel()
			var count simCount
			for seed := 1 + shard; seed <= seeds; seed += shards {
				w := simulateWorld(t, seed, nil)
				if len(w.violations) > 0 {
					tell(t, seed, w.violations)
					return
				}
				count.add(w)
			}
			t.Logf("%+v", count)
			if seeds >= 500 && count.lacks() {
				t.Error("nothing happened: the simulation does not simulate")
			}
		})
	}
}

// tell reports a seed that failed, with its story.
func tell(t *testing.T, seed uint64, bad []string) {
	t.Errorf("seed %d: %q\nrun it again: go test -run '^TestSimulation$' -sim.seed=%d .", seed, bad, seed)
	for try := range 5 {
		var story []string
		var mu sync.Mutex
		again := simulate(t, seed, func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			story = append(story, fmt.Sprintf(format, args...))
		})
		if len(again) > 0 {
			for _, line := range story {
				t.Log(line)
			}
			return
		}
		t.Logf("repetition %d of the seed did not fail", try+1)
	}
}

func simulate(t *testing.T, seed uint64, trace func(string, ...any)) []string {
	return simulateWorld(t, seed, trace).violations
}

func simulateWorld(t *testing.T, seed uint64, trace func(string, ...any)) (w *world) {
	synctest.Test(t, func(*testing.T) {
		w = newWorld(seed, trace)
		w.run()
	})
	return w
}

// add counts what happened in a world.
func (c *simCount) add(w *world) {
	c.grants += w.count.grants
	c.losses += w.count.losses
	c.refusals += w.count.refusals
	c.readers += w.count.readers
	c.permits += w.count.permits
	c.multis += w.count.multis
	c.terms += w.count.terms
	if w.session > 0 {
		c.sessions++
	}
}

// lacks reports whether something never happened.
func (c *simCount) lacks() bool {
	return min(c.grants, c.losses, c.refusals, c.readers, c.permits, c.multis, c.terms, c.sessions) == 0
}
