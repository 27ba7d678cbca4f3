package filelock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A pair is a state and, as its oracle, a server of memlock: both are asked the same, and must answer the same.
type pair struct {
	t       *testing.T
	seed    uint64
	state   *state
	oracle  *memlock.Store
	asked   map[string]*driver.Request // by label
	mode    driver.Mode                // Permits, or not
	now     stamp
	lastest uint64
}

func (p *pair) token() (uint64, error) {
	p.lastest++
	return p.lastest, nil
}

func (p *pair) serve() {
	p.state.settle(p.now)
	if _, err := p.state.serve(moment{now: p.now, wall: int64(p.now)}, p.token); err != nil {
		p.t.Fatal(err)
	}
}

// shown writes down who holds and who waits.
func (p *pair) shown(holders []driver.Holder, waiters []string) string {
	var text []string
	for _, h := range holders {
		text = append(text, fmt.Sprintf("%s kept %v token %d broken %v", h.Label, h.Kept, h.Token, h.Broken))
	}
	slices.Sort(text) // memlock puts the kept ones first
	return strings.Join(text, "\n") + "\nwaiting: " + strings.Join(waiters, " ")
}

func (p *pair) compare(after string) {
	p.t.Helper()
	synctest.Wait()
	info, err := p.oracle.Inspect(p.t.Context(), "x", p.mode)
	if err != nil {
		p.t.Fatal(err)
	}
	var theirs, ours []string
	for _, w := range info.Waiters {
		theirs = append(theirs, w.Label)
	}
	for _, e := range p.state.queue {
		ours = append(ours, e.label)
	}
	want, got := p.shown(info.Holders, theirs), p.shown(p.state.describe(p.now), ours)
	if got != want {
		p.t.Fatalf("seed %d: after %s it is\n%s\nbut memlock says\n%s", p.seed, after, got, want)
	}
}

func (p *pair) ask(r *driver.Request) {
	p.asked[r.Label] = r
	p.state.queue = append(p.state.queue, &entry{
		phase: waiting, client: "c", attempt: r.Label, label: r.Label, mode: r.Mode, n: r.N, since: p.now, keep: r.Keep,
	})
	p.serve()
	go p.oracle.Acquire(p.t.Context(), r)
}

func (p *pair) release(label string) {
	r := p.asked[label]
	delete(p.asked, label)
	if e := p.state.find("c", label); e != nil {
		p.state.leave(e, r.Keep > 0, p.now)
		p.serve()
	}
	p.oracle.Release(p.t.Context(), r)
}

func (p *pair) breakOne(token uint64, now bool) {
	b := &driver.BreakRequest{Name: "x", Mode: p.mode, Token: token, Now: now, By: "test"}
	for _, h := range p.state.holders {
		if h.token == token && now {
			delete(p.asked, h.attempt)
		}
	}
	if p.state.breakHold(b, p.now) != (p.oracle.Break(p.t.Context(), b) == nil) {
		p.t.Fatalf("seed %d: one found token %d, the other did not", p.seed, token)
	}
	p.serve()
}

// The rules of serving are those of memlock, whatever happens in whatever order.
func TestServesLikeMemlock(t *testing.T) {
	seeds := []uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), 1, 2, 3}
	for i, seed := range seeds {
		synctest.Test(t, func(t *testing.T) { likeMemlock(t, seed, i%2 == 0) })
	}
}

func likeMemlock(t *testing.T, seed uint64, semaphore bool) {
	random := rand.New(rand.NewPCG(seed, 3))
	p := &pair{t: t, seed: seed, oracle: memlock.New(), asked: make(map[string]*driver.Request), mode: driver.Exclusive, now: 1}
	p.state = &state{name: "x", permits: semaphore}
	begun := time.Now()
	if semaphore {
		p.mode, p.state.limit = driver.Permits, 5
	}
	for round := range 400 {
		labels := slices.Sorted(func(yield func(string) bool) {
			for label := range p.asked {
				if !yield(label) {
					return
				}
			}
		})
		what := ""
		switch dice := random.IntN(10); {
		case dice < 5 && len(labels) < 8:
			r := ask("x", driver.Exclusive)
			r.Label, r.TTL = fmt.Sprintf("%03d", round), time.Hour*20
			if semaphore {
				r.Mode, r.N, r.Limit = driver.Permits, 1+random.IntN(5), 5
			} else if random.IntN(2) == 0 {
				r.Mode = driver.Shared
			}
			if random.IntN(4) == 0 {
				r.Keep = time.Duration(1+random.IntN(5)) * time.Second
			}
			what = fmt.Sprintf("asking for %s %d", r.Mode, r.N)
			p.ask(r)
		case dice < 8 && len(labels) > 0:
			label := labels[random.IntN(len(labels))]
			what = "releasing " + label
			p.release(label)
		case dice == 8 && len(p.state.holders) > 0:
			token, now := p.state.holders[random.IntN(len(p.state.holders))].token, random.IntN(2) == 0
			what = fmt.Sprintf("breaking %d, now %v", token, now)
			p.breakOne(token, now)
		default:
			what = "a second"
			time.Sleep(time.Second)
			p.now = stamp(1 + time.Since(begun))
			p.serve()
		}
		p.compare(what)
	}
}
