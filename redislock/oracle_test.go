package redislock_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
	"holdfast.dev/redislock"
)

var (
	oracleSeeds = flag.Int("seeds", 12, "how many seeds TestOracle tries")
	oracleSeed  = flag.Uint64("seed", 0, "the seed that TestOracle tries alone, with a log of what it does")
	oracleSteps = flag.Int("steps", 250, "how much TestOracle does for each seed")
)

// TestOracle does the same random things to a Redis and to a memlock, whose own tests compare it with a model, one after the other. After
// each of them the two must agree on all that can be seen: answers, holders, waiters and their order, who was told of a loss, and the
// order of all tokens. Nothing runs out meanwhile. To replay a seed that failed: go test -run TestOracle -seed 17 -v
func TestOracle(t *testing.T) {
	t.Parallel()
	address := startRedis(t).Addr()
	eachSeed(t, *oracleSeeds, func(t *testing.T, seed uint64) {
		params := fmt.Sprintf("guard=0&claim=30s&prefix=seed-%d:", seed) // a busy machine may need long to claim what was pushed
		w := newTwins(t, seed, driver.Local(), dial(t, address, params), dial(t, address, params))
		w.run()
	})
}

// TestOracleOfBothAges is TestOracle with clients of different programs, during an upgrade.
func TestOracleOfBothAges(t *testing.T) {
	t.Parallel()
	address := startRedis(t).Addr()
	eachSeed(t, *oracleSeeds/3, func(t *testing.T, seed uint64) {
		prefix := fmt.Sprintf("seed-%d:", seed)
		older := dialOlder(t, address, redislock.Guard(0), redislock.Claim(30*time.Second), redislock.Prefix(prefix))
		w := newTwins(t, seed, driver.Local(), older, dial(t, address, "guard=0&claim=30s&prefix="+prefix))
		w.run()
	})
}

// eachSeed runs a test with several seeds, or with the one that is to be replayed.
func eachSeed(t *testing.T, n int, test func(t *testing.T, seed uint64)) {
	if *oracleSeed != 0 {
		t.Run(fmt.Sprintf("seed=%d", *oracleSeed), func(t *testing.T) { test(t, *oracleSeed) })
		return
	}
	first := 1 + rand.Uint64N(1<<32)
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			test(t, seed)
		})
	}
}

// hour is a TTL that nobody lives to see the end of, unless the test makes time pass.
const hour = time.Hour

// span is a TTL, or a minimum hold.
func (w *twins) span() time.Duration {
	if w.time == nil {
		return hour
	}
	return hour + time.Duration(1+w.random.IntN(59))*time.Minute
}

// twins are a Redis and a memlock to which the same is done.
type twins struct {
	*testing.T
	random *rand.Rand
	step   int
	log    []string
	time   *fakeTimes // not nil: time passes, too

	ours, model []driver.Store // clients, one of each for the same attempts
	tries       []*try         // all that were ever made
	grants      []granted      // all that were ever granted
}

// A try is one attempt, on both sides.
type try struct {
	label  string
	client int
	sides  [2]*side
	calls  []*twinCall // under way
	freed  bool        // by its owner
	twice  bool        // asked for by several calls at once
	broken bool        // ended by a break: an engine may remember that, and refuse the attempt, or not
}

// A side is what one store knows of a try.
type side struct {
	r     driver.Request
	lease driver.Lease
	token uint64

	mu   sync.Mutex
	lost []error
}

// granted are the tokens of one grant on both sides.
type granted struct {
	who, lock   string
	ours, model uint64
}

// A twinCall is one call of Acquire on both sides.
type twinCall struct {
	try    *try
	what   string
	change func(*driver.Request)
	cancel context.CancelFunc
	sides  [2]*oneCall
}

type oneCall struct {
	waits, done chan struct{}
	grant       *driver.Grant
	err         error
}

func newTwins(t *testing.T, seed uint64, clock driver.Clock, ours ...driver.Store) *twins {
	w := &twins{T: t, random: rand.New(rand.NewPCG(seed, 0)), ours: ours}
	server := memlock.NewServer(memlock.WithClock(clock))
	for range ours {
		w.model = append(w.model, server.Connect())
	}
	return w
}

func (w *twins) run() {
	for w.step = range *oracleSteps {
		w.act()
		w.compare()
	}
	for _, x := range w.tries { // to the end, so that all calls return
		w.release(x, false)
		w.compare()
	}
	for _, x := range w.tries {
		if len(x.calls) > 0 {
			w.failf("a call of %s has not ended", x.label)
		}
	}
	if *oracleSeed != 0 {
		w.Logf("%s", strings.Join(w.log, "\n"))
	}
}

// failf ends the test, and shows what led to it.
func (w *twins) failf(format string, args ...any) {
	w.Helper()
	w.Fatalf("step %d: %s\nthe last of what was done:\n%s", w.step, fmt.Sprintf(format, args...),
		strings.Join(w.log[max(0, len(w.log)-40):], "\n"))
}

func (w *twins) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%4d ", w.step)+fmt.Sprintf(format, args...))
}

// act does one random thing.
func (w *twins) act() {
	x := w.any()
	switch n := w.random.IntN(100); {
	case w.time != nil && w.random.IntN(6) == 0:
		w.pass()
	case n < 34 || x == nil:
		w.acquire()
	case n < 44:
		w.repeat(x)
	case n < 50:
		w.cut(x)
	case n < 80:
		w.release(w.lively(x), w.random.IntN(3) > 0)
	case n < 89:
		w.renew(w.lively(x))
	default:
		w.breaks(w.lively(x))
	}
}

// any is one of the younger tries; nil if there is none yet.
func (w *twins) any() *try {
	if len(w.tries) == 0 {
		return nil
	}
	recent := w.tries[max(0, len(w.tries)-16):]
	return recent[w.random.IntN(len(recent))]
}

// lively is somebody who was granted something and may still hold it, most of the time.
func (w *twins) lively(x *try) *try {
	if w.random.IntN(4) == 0 {
		return x
	}
	for range 8 {
		if y := w.any(); y.sides[0].lease != nil {
			return y
		}
	}
	return x
}

var locksOfTwins = []struct {
	name    string
	permits bool
}{{"x", false}, {"y", false}, {"x", true}}

// acquire makes a new attempt.
func (w *twins) acquire() {
	lock := locksOfTwins[w.random.IntN(len(locksOfTwins))]
	r := driver.Request{Name: lock.name, Attempt: attempts.Next(), Label: fmt.Sprintf("#%d", len(w.tries)), Mode: driver.Exclusive,
		TTL: w.span(), NoWait: w.random.IntN(5) == 0, Reserve: uint32(w.random.IntN(3) * w.random.IntN(2))}
	switch {
	case lock.permits:
		r.Mode, r.Limit, r.N = driver.Permits, 4, 1+w.random.IntN(4)
		if w.random.IntN(12) == 0 {
			r.Limit++
		}
	case w.random.IntN(2) == 0:
		r.Mode = driver.Shared
	}
	if w.random.IntN(6) == 0 {
		r.Keep = w.span()
	}
	w.call("acquire", w.add(r), func(*driver.Request) {})
}

// add makes a try of a request.
func (w *twins) add(r driver.Request) *try {
	x := &try{label: r.Label, client: w.random.IntN(len(w.ours))}
	for i := range x.sides {
		s := &side{r: r}
		s.r.Lost = func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lost = append(s.lost, err)
		}
		x.sides[i] = s
	}
	w.tries = append(w.tries, x)
	return x
}

// repeat asks again for an attempt that waits, holds or is gone: as before, without waiting, or for something else.
func (w *twins) repeat(x *try) {
	if x.broken {
		return
	}
	change := func(*driver.Request) {}
	what := "repeat"
	switch w.random.IntN(6) {
	case 0:
		what, change = "repeat without waiting", func(r *driver.Request) { r.NoWait = true }
	case 1:
		what = "repeat as something else"
		if change = otherMode; x.sides[0].r.Mode == driver.Permits {
			change = func(r *driver.Request) { r.N = 1 + r.N%r.Limit }
		}
	}
	w.call(what, x, change)
}

func otherMode(r *driver.Request) { r.Mode = driver.Exclusive + driver.Shared - r.Mode }

// call begins a call of Acquire on both sides, and waits until each has ended or has a place in the queue.
func (w *twins) call(what string, x *try, change func(*driver.Request)) {
	r := x.sides[0].r
	change(&r)
	w.note("%s: %s %s %s %d/%d NoWait=%v Keep=%v Reserve=%d, client %d", what, x.label, r.Mode, r.Name, r.N, r.Limit, r.NoWait, r.Keep, r.Reserve, x.client)
	ctx, cancel := context.WithCancel(context.Background())
	w.Cleanup(cancel)
	c := &twinCall{try: x, what: what, change: change, cancel: cancel}
	for i, store := range []driver.Store{w.ours[x.client], w.model[x.client]} {
		one := &oneCall{waits: make(chan struct{}), done: make(chan struct{})}
		c.sides[i] = one
		request := x.sides[i].r
		change(&request)
		waits := sync.OnceFunc(func() { close(one.waits) })
		request.Waiting = func(driver.Progress) { waits() }
		go func() {
			defer close(one.done)
			one.grant, one.err = store.Acquire(ctx, &request)
		}()
		select {
		case <-one.waits:
		case <-one.done:
		case <-time.After(patience):
			w.failf("Acquire of %s neither ends nor waits, on side %d", x.label, i)
		}
	}
	x.twice = x.twice || len(x.calls) > 0
	x.calls = append(x.calls, c)
}

func (c *oneCall) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// cut ends one call that waits. If it was the last one the attempt is released, as the core does: what is passed over meanwhile differs.
func (w *twins) cut(x *try) {
	if len(x.calls) == 0 {
		return
	}
	i := w.random.IntN(len(x.calls))
	c := x.calls[i]
	x.calls = slices.Delete(x.calls, i, i+1)
	w.note("cut a call of %s", x.label)
	c.cancel()
	for side, one := range c.sides {
		w.await(one.done, "the end of a call that was cut, of "+x.label)
		if one.err == nil || !errors.Is(one.err, context.Canceled) || driver.Answered(one.err) {
			w.failf("a call of %s that was cut ends with %v, on side %d", x.label, one.err, side)
		}
	}
	if len(x.calls) == 0 {
		w.release(x, false)
	}
}

func (w *twins) await(done <-chan struct{}, what string) {
	w.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		w.failf("waited for %s", what)
	}
}

func (w *twins) release(x *try, keep bool) {
	w.note("release %s, keep %v", x.label, keep)
	x.freed = true
	w.both(x, "Release", func(store driver.Store, s *side) error {
		r := s.r
		if !keep {
			r.Keep = 0
		}
		return store.Release(w.Context(), &r)
	})
}

func (w *twins) renew(x *try) {
	if x.sides[0].lease == nil {
		return
	}
	ttl := time.Duration(w.random.IntN(3)) * hour
	w.note("renew %s by %v", x.label, ttl)
	w.both(x, "Renew", func(_ driver.Store, s *side) error {
		left, err := s.lease.Renew(w.Context(), ttl)
		if err == nil && (left < ttl-time.Minute || left > 2*hour+time.Minute) {
			w.failf("Renew of %s by %v: %v", x.label, ttl, left)
		}
		if (x.freed || w.time != nil) && errors.Is(err, driver.ErrGone) {
			return driver.ErrGone // whether it was broken before its owner released it, or long ago, need not be remembered
		}
		return err
	})
}

func (w *twins) breaks(x *try) {
	now := w.random.IntN(2) == 0
	w.note("break %s, now %v", x.label, now)
	w.both(x, "Break", func(store driver.Store, s *side) error {
		return store.(driver.Breaker).Break(w.Context(), &driver.BreakRequest{Name: s.r.Name, Mode: s.r.Mode, Token: s.token, Now: now, By: "breaker"})
	})
	for _, y := range w.tries {
		y.broken = y.broken || (now || w.time != nil) && y.sides[1].token == x.sides[1].token && y.sides[1].token > 0
	}
}

// both does something on both sides, and compares the answers.
func (w *twins) both(x *try, what string, do func(driver.Store, *side) error) {
	w.Helper()
	ours := do(w.ours[x.client], x.sides[0])
	model := do(w.model[x.client], x.sides[1])
	if kindOfAnswer(ours) != kindOfAnswer(model) {
		w.failf("%s of %s: %v, want %v", what, x.label, ours, model)
	}
}
