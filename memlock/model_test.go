package memlock_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

var seeds = flag.Int("seeds", 200, "how many seeds TestModel tries")

// TestModel does random things to a server and to an oracle, which must agree on everything that can be seen after each of them.
// To replay a seed that failed: go test -run 'TestModel/seed=17$' -v
func TestModel(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, seed)
				for m.step = range 150 {
					m.act()
					m.compare()
				}
				m.finish()
			})
		})
	}
}

// A model is one run.
type model struct {
	*testing.T
	st       *memlock.Store
	oracle   oracle
	random   *rand.Rand
	attempts *driver.Attempts
	step     int
	what     string // the last act

	requests []*driver.Request // of all attempts that were ever made
	waiting  []*waitingCall
	granteds []*fate // everybody who was ever granted anything
	leases   map[*fate]driver.Lease
	told     map[driver.Attempt]*atomic.Int64 // calls of Lost
}

// A waitingCall is an Acquire under way, and what must become of it.
type waitingCall struct {
	*call
	fate   *fate
	cancel context.CancelFunc
}

func newModel(t *testing.T, seed uint64) *model {
	return &model{
		T: t, st: memlock.New(), random: rand.New(rand.NewPCG(seed, 0)), attempts: driver.NewAttempts(),
		oracle: oracle{tombs: make(map[driver.Attempt]driver.Instant), lost: make(map[driver.Attempt]int64)},
		leases: make(map[*fate]driver.Lease),
		told:   make(map[driver.Attempt]*atomic.Int64),
	}
}

func (m *model) fatalf(format string, args ...any) {
	m.Helper()
	m.Fatalf("step %d, after %s: %s", m.step, m.what, fmt.Sprintf(format, args...))
}

// act does one random thing.
func (m *model) act() {
	acts := []struct {
		weight int
		do     func(now driver.Instant)
	}{{30, m.acquire}, {12, m.repeat}, {20, m.release}, {8, m.renew}, {8, m.cut}, {6, m.breaks}, {25, m.sleep}}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	pick := m.random.IntN(total)
	for _, a := range acts {
		if pick -= a.weight; pick < 0 {
			now := m.st.Clock().Now()
			m.oracle.advance(now)
			a.do(now)
			return
		}
	}
}

// seconds returns so many seconds, and odd nanoseconds, so that no two things happen at the same time: whose turn it then is nobody
// has decided.
func (m *model) seconds(from, to int) time.Duration {
	return time.Duration(from+m.random.IntN(to-from+1))*time.Second + time.Duration(m.random.IntN(1_000_000))
}

// acquire makes a new attempt.
func (m *model) acquire(now driver.Instant) {
	r := &driver.Request{
		Name: []string{"x", "y"}[m.random.IntN(2)], Attempt: m.attempts.Next(), Label: fmt.Sprint("#", len(m.requests)),
		Mode:    driver.Mode(1 + m.random.IntN(3)),
		TTL:     m.seconds(1, 8),
		NoWait:  m.random.IntN(6) == 0,
		Reserve: uint32(m.random.IntN(3)),
	}
	if r.Mode == driver.Permits {
		r.Limit = 4
		r.N = 1 + m.random.IntN(4)
	}
	if m.random.IntN(4) == 0 {
		r.Keep = m.seconds(1, 9)
	}
	told := new(atomic.Int64) // Lost comes from the goroutine of the alarm
	m.told[r.Attempt] = told
	r.Lost = func(error) { told.Add(1) }
	m.requests = append(m.requests, r)
	m.ask("acquire", r, now)
}

// repeat asks again for an attempt that waits, holds or is gone.
func (m *model) repeat(now driver.Instant) {
	if r := m.any(); r != nil {
		m.ask("repeat", r, now)
	}
}

func (m *model) any() *driver.Request {
	if len(m.requests) == 0 {
		return nil
	}
	recent := m.requests[max(0, len(m.requests)-12):]
	return recent[m.random.IntN(len(recent))]
}

func (m *model) ask(what string, r *driver.Request, now driver.Instant) {
	m.what = fmt.Sprintf("%s of %s: %s %s %d NoWait=%v", what, r.Label, r.Mode, r.Name, r.N, r.NoWait)
	fate, answer := m.oracle.acquire(r, now)
	ctx, cancel := context.WithCancel(background)
	c := begin(ctx, m.T, m.st, r)
	if answer == nil && fate.state == "waiting" {
		m.waiting = append(m.waiting, &waitingCall{c, fate, cancel})
		return
	}
	defer cancel()
	if !c.ended() {
		m.fatalf("it waits")
	}
	if answer == nil {
		m.granted(c, fate, now, fate.expires.Sub(now))
		return
	}
	var held *driver.Held
	if wantHeld := !errors.Is(answer, driver.ErrGone); wantHeld != errors.As(c.err, &held) || (!wantHeld && !errors.Is(c.err, answer)) {
		m.fatalf("Acquire: %v, want %T", c.err, answer)
	}
}

// granted checks a grant.
func (m *model) granted(c *call, f *fate, asked driver.Instant, ttl time.Duration) {
	m.Helper()
	if c.err != nil {
		m.fatalf("Acquire of %s: %v, want a grant", f.r.Label, c.err)
	}
	got, want := *c.grant, driver.Grant{Token: f.token, Spare: f.spare, Asked: asked, TTL: ttl, Lease: c.grant.Lease}
	if got != want {
		m.fatalf("%s was granted %+v, want %+v", f.r.Label, got, want)
	}
	if lease := m.leases[f]; lease == nil {
		m.granteds = append(m.granteds, f)
	} else if lease != got.Lease {
		m.fatalf("%s has a second lease", f.r.Label)
	}
	m.leases[f] = got.Lease
}

func (m *model) release(now driver.Instant) {
	r := m.any()
	if r == nil {
		return
	}
	again := *r
	if m.random.IntN(3) == 0 {
		again.Keep = 0
	}
	m.what = fmt.Sprintf("release of %s, Keep=%v", r.Label, again.Keep)
	want := m.oracle.release(&again, now)
	if err := m.st.Release(background, &again); !errors.Is(err, want) {
		m.fatalf("Release: %v, want %v", err, want)
	}
}

func (m *model) renew(now driver.Instant) {
	if len(m.granteds) == 0 {
		return
	}
	recent := m.granteds[max(0, len(m.granteds)-8):]
	f := recent[m.random.IntN(len(recent))]
	ttl := m.seconds(0, 8)
	m.what = fmt.Sprintf("renewal of %s by %v", f.r.Label, ttl)
	left, err := m.leases[f].Renew(background, ttl)
	switch {
	case f.state != "holding":
		if !errors.Is(err, driver.ErrGone) {
			m.fatalf("Renew: %v, %v", left, err)
		}
	case f.broken:
		if !errors.Is(err, driver.ErrBroken) || errors.Is(err, driver.ErrGone) {
			m.fatalf("Renew: %v, %v", left, err)
		}
	default:
		f.expires = max(f.expires, now.Add(ttl))
		if err != nil || left != f.expires.Sub(now) {
			m.fatalf("Renew: %v, %v, want %v", left, err, f.expires.Sub(now))
		}
	}
}

// cut ends one waiting call.
func (m *model) cut(now driver.Instant) {
	if len(m.waiting) == 0 {
		return
	}
	i := m.random.IntN(len(m.waiting))
	c := m.waiting[i]
	if c.fate.state != "waiting" {
		return
	}
	m.what = "the end of a call of " + c.fate.r.Label
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.oracle.away(c.fate, now)
	c.cancel()
	c.failed(m.T, context.Canceled)
}

func (m *model) breaks(now driver.Instant) {
	r := m.any()
	if r == nil {
		return
	}
	b := &driver.BreakRequest{Name: r.Name, Mode: r.Mode, Token: 1 + m.random.Uint64N(m.oracle.token+1), Now: m.random.IntN(2) == 0}
	if f := m.oracle.of(r.Attempt); f != nil {
		b.Token = f.token
	}
	m.what = fmt.Sprintf("break of %+v", *b)
	want := m.oracle.breaks(b, now)
	if err := m.st.Break(background, b); !errors.Is(err, want) {
		m.fatalf("Break: %v, want %v", err, want)
	}
}

func (m *model) sleep(driver.Instant) {
	d := time.Duration(1+m.random.IntN(3000)) * time.Millisecond
	m.what = fmt.Sprintf("%v", d)
	time.Sleep(d)
}
