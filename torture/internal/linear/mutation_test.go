package linear_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/generate"
	"holdfast.dev/torture/internal/history"
)

// A spoiler makes a good history bad. It reports what it did to which lock, and whether it had a chance to.
type spoiler func(random *rand.Rand, h *history.History, all []*history.Attempt) (lock uint16, ok bool)

// Good histories in which one thing was changed so that no lock could have left them. Each change is made only where it is certain
// that it is one, by reasons that do not come from the checker.
func TestSpoiled(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 8
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, spoil := range map[string]spoiler{
		"a release dropped":           dropRelease,
		"tokens swapped":              swapTokens,
		"a grant moved":               moveGrant,
		"a refusal where it was free": refuseForNothing,
	} {
		t.Run(name, func(t *testing.T) {
			spoiled := 0
			for i := range uint64(rounds) {
				o := generate.Options{Operations: 800, NoExpiry: i%4 == 3}
				random := rand.New(rand.NewPCG(seed, i))
				h := generate.Good(seed+i, o)
				all, err := h.Attempts()
				if err != nil {
					t.Fatal(err)
				}
				lock, ok := spoil(random, h, all)
				if !ok {
					continue
				}
				spoiled++
				if h, err = history.New(h.Meta, h.Records); err != nil { // in order again
					t.Fatal(err)
				}
				r := checked(t, h)
				if len(r.Violations) == 0 || r.Violations[0].Lock != h.Meta.Locks[lock].Name {
					t.Errorf("seed %d, %+v: found %v on lock %s", seed+i, o, r.Violations, h.Meta.Locks[lock].Name)
				}
			}
			if spoiled < rounds/2 {
				t.Errorf("only %d of %d were spoiled", spoiled, rounds)
			}
		})
	}
}

// pairs calls f with holds that follow each other, by their tokens, in a random order, until it reports that it has done something.
func pairs(random *rand.Rand, all []*history.Attempt, f func(first, second *history.Attempt) bool) (uint16, bool) {
	var holds []*history.Attempt
	for _, a := range all {
		if a.Granted() {
			holds = append(holds, a)
		}
	}
	slices.SortFunc(holds, func(a, b *history.Attempt) int {
		if a.Lock != b.Lock {
			return int(a.Lock) - int(b.Lock)
		}
		return int(a.Token) - int(b.Token)
	})
	for _, i := range random.Perm(len(holds) - 1) {
		if a, b := holds[i], holds[i+1]; a.Lock == b.Lock && f(a, b) {
			return a.Lock, true
		}
	}
	return 0, false
}

// edit changes the records that it is told to; those that f does not want are dropped.
func edit(h *history.History, f func(r *history.Record) (keep bool)) {
	h.Records = slices.DeleteFunc(h.Records, func(r history.Record) bool { return !f(&r) })
}

// dropRelease takes away the release of a hold that had time left when the next was granted: so it was taken away from it.
func dropRelease(random *rand.Rand, h *history.History, all []*history.Attempt) (uint16, bool) {
	return pairs(random, all, func(a, b *history.Attempt) bool {
		valid := driver.Instant(0)
		for _, c := range a.Claims {
			valid = max(valid, c.To)
		}
		if a.ReleaseAsked == 0 || a.LossTold != 0 || valid <= b.Answered {
			return false
		}
		if valid == driver.Never && slices.ContainsFunc(h.Records, func(r history.Record) bool {
			return r.Op == history.Process && r.Process == a.Process && r.Phase == history.Killed && r.At <= b.Answered
		}) {
			return false
		}
		edit(h, func(r *history.Record) bool { return r.Op != history.Release || r.Attempt != a.Number })
		return true
	})
}

// swapTokens gives the greater token to the one that was granted before the other was asked for.
func swapTokens(random *rand.Rand, h *history.History, all []*history.Attempt) (uint16, bool) {
	return pairs(random, all, func(a, b *history.Attempt) bool {
		if a.Answered >= b.Asked {
			return false
		}
		for i := range h.Records {
			if r := &h.Records[i]; r.Op == history.Acquire && r.Phase == history.Done {
				switch r.Attempt {
				case a.Number:
					r.Token = b.Token
				case b.Number:
					r.Token = a.Token
				}
			}
		}
		return true
	})
}

// moveGrant lets a hold be granted in the midst of the one before.
func moveGrant(random *rand.Rand, h *history.History, all []*history.Attempt) (uint16, bool) {
	return pairs(random, all, func(a, b *history.Attempt) bool {
		windows := a.Windows()
		if a.Died != 0 || len(windows) != 1 || windows[0].To-windows[0].From < 10 {
			return false
		}
		middle := (windows[0].From + windows[0].To) / 2
		for i := range h.Records {
			if r := &h.Records[i]; r.Op == history.Acquire && r.Attempt == b.Number {
				r.At = middle
			}
		}
		return true
	})
}

// refuseForNothing adds a try that is refused between two holds, at a time at which no attempt has been without a clean end so far, and
// nobody is waiting.
func refuseForNothing(random *rand.Rand, h *history.History, all []*history.Attempt) (uint16, bool) {
	return pairs(random, all, func(a, b *history.Attempt) bool {
		if a.ReleaseDone == 0 || b.Asked-a.ReleaseDone < 10 {
			return false
		}
		from, to := a.ReleaseDone+2, b.Asked-2
		for _, o := range all {
			if o.Lock != a.Lock || o.Asked > to {
				continue
			}
			asking := history.Span{From: o.Asked, To: o.Answered + 1}
			calm := !slices.ContainsFunc(h.Faults(), func(f history.FaultSpan) bool { return f.Overlaps(asking) }) // it was asked for once
			clean := o.Outcome == history.Held && o.Answered < from && calm || o.Released == history.OK && o.ReleaseDone < from
			if !clean {
				return false
			}
		}
		try := history.Record{At: from, Op: history.Acquire, Phase: history.Asked, Attempt: 1 << 40, Process: 1 << 20, Lock: a.Lock, Value: int64(history.ByTry)}
		answer := try
		answer.At, answer.Phase, answer.Outcome, answer.Value = to, history.Done, history.Held, 0
		h.Records = append(h.Records, try, answer)
		return true
	})
}
