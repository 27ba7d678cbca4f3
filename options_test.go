package holdfast_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Rule (bad input): an option out of its bounds is a typed error that names the bound, before the store is touched.
func TestBadOptions(t *testing.T) {
	ttl := 10 * time.Second
	for _, c := range []struct {
		name  string
		opts  []holdfast.Option
		is    error
		words []string
	}{
		{"TTL zero", []holdfast.Option{holdfast.TTL(0)}, holdfast.ErrTTL, []string{"TTL is 0s", "from 100ms to 24h0m0s"}},
		{"TTL negative", []holdfast.Option{holdfast.TTL(-time.Second)}, holdfast.ErrTTL, []string{"-1s", "100ms"}},
		{"TTL short", []holdfast.Option{holdfast.TTL(holdfast.MinTTL - 1)}, holdfast.ErrTTL, []string{"99.999999ms", "from 100ms"}},
		{"TTL long", []holdfast.Option{holdfast.TTL(holdfast.MaxTTL + 1)}, holdfast.ErrTTL, []string{"24h0m0.000000001s", "to 24h0m0s"}},
		{"Grace negative", []holdfast.Option{holdfast.Grace(-1)}, holdfast.ErrTTL, []string{"is -1ns", "from 0s to 5s"}},
		{"Grace long", []holdfast.Option{holdfast.Grace(ttl/2 + 1)}, holdfast.ErrTTL, []string{"Grace", "to 5s"}},
		{"Grace long for its TTL", []holdfast.Option{holdfast.Grace(time.Second), holdfast.TTL(time.Second)}, holdfast.ErrTTL, []string{"to 500ms"}},
		{"MaxHold zero", []holdfast.Option{holdfast.MaxHold(0)}, holdfast.ErrArgument, []string{"MaxHold of 0s", "positive"}},
		{"MaxHold negative", []holdfast.Option{holdfast.MaxHold(-1)}, holdfast.ErrArgument, []string{"MaxHold", "positive"}},
		{"MaxHold within Grace", []holdfast.Option{holdfast.MaxHold(time.Second), holdfast.Grace(time.Second)}, holdfast.ErrArgument, []string{"MaxHold of 1s", "Grace of 1s"}},
		{"MinHold zero", []holdfast.Option{holdfast.MinHold(0)}, holdfast.ErrArgument, []string{"MinHold of 0s", "positive"}},
		{"MinHold negative", []holdfast.Option{holdfast.MinHold(-1)}, holdfast.ErrArgument, []string{"MinHold", "positive"}},
		{"MinHold long", []holdfast.Option{holdfast.MinHold(holdfast.MaxTTL + 1)}, holdfast.ErrTTL, []string{"MinHold", "to 24h0m0s"}},
		{"Label long", []holdfast.Option{holdfast.Label(strings.Repeat("x", 201))}, holdfast.ErrArgument, []string{"Label", "200 bytes"}},
		{"Label not UTF-8", []holdfast.Option{holdfast.Label("\xff")}, holdfast.ErrArgument, []string{"Label", "UTF-8"}},
		{"Label with a control character", []holdfast.Option{holdfast.Label("a\x1b[31m")}, holdfast.ErrArgument, []string{"U+001B", "remove it"}},
		{"a nil option", []holdfast.Option{nil}, holdfast.ErrArgument, []string{"option is nil"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			locks := s.open(t)
			_, err := locks.Mutex("a", c.opts...).Lock(t.Context())
			expect(t, err, c.is, c.words...)
			_, err = locks.Mutex("a", c.opts...).TryLock(t.Context())
			expect(t, err, c.is, c.words...)
			err = locks.Do(t.Context(), "a", func(context.Context) error { t.Error("the function was run"); return nil }, c.opts...)
			expect(t, err, c.is, c.words...)

			// As a default of the client it is the same, and Open says so at once.
			var defaults []holdfast.OpenOption
			for _, o := range c.opts {
				defaults = append(defaults, o)
			}
			_, err = s.open(t, defaults...).Mutex("a").Lock(t.Context())
			expect(t, err, c.is, c.words...)
			_, err = holdfast.Open(t.Context(), "mem://", defaults...)
			expect(t, err, c.is, c.words...)
			if calls := s.asked(); len(calls) > 0 {
				t.Errorf("the store was asked: %+v", calls)
			}
		})
	}
}

// Rule (bad input): a program can tell which bounds a TTL does not keep.
func TestTTLErrorHasTheBounds(t *testing.T) {
	s := newScript()
	s.promises.MinTTL, s.promises.MaxTTL = time.Second, 3*time.Second
	_, err := s.open(t).Mutex("a").Lock(t.Context())
	var bounds *holdfast.TTLError
	if !errors.As(err, &bounds) || !errors.Is(err, holdfast.ErrTTL) || bounds.TTL != holdfast.DefaultTTL || bounds.Min != time.Second || bounds.Max != 3*time.Second {
		t.Errorf("got %#v", err)
	}
}

// Rule (bad input): the bounds themselves are allowed.
func TestOptionsAtTheirBounds(t *testing.T) {
	for _, opts := range [][]holdfast.Option{
		{holdfast.TTL(holdfast.MinTTL), holdfast.Grace(holdfast.MinTTL / 2)},
		{holdfast.TTL(holdfast.MaxTTL), holdfast.Grace(holdfast.MaxTTL / 2), holdfast.MinHold(holdfast.MaxTTL)},
		{holdfast.MaxHold(time.Second), holdfast.Grace(time.Second - 1)},
		{holdfast.Label(strings.Repeat("ü", 100))},
		{holdfast.MinHold(1), holdfast.Fixed()},
	} {
		mustLock(t, newScript().open(t).Mutex("a", opts...))
	}
}

// Rule: an option given to a lock replaces the client's default, and no other lock's.
func TestOptionsOfOneLock(t *testing.T) {
	s := newScript()
	locks := s.open(t, holdfast.TTL(20*time.Second), holdfast.Label("all"))
	for _, c := range []struct {
		opts  []holdfast.Option
		ttl   time.Duration
		label string
	}{
		{nil, 20 * time.Second, "all"},
		{[]holdfast.Option{holdfast.TTL(time.Second), holdfast.Label("one")}, time.Second, "one"},
		{nil, 20 * time.Second, "all"},
	} {
		var label string
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			label = r.Label
			return s.grant(r, s.clock.Now()), nil
		}
		mustUnlock(t, mustLock(t, locks.Mutex("a", c.opts...)))
		calls := s.asked("acquire")
		if got := calls[len(calls)-1].ttl; got != c.ttl {
			t.Errorf("the store was asked for a TTL of %v, want %v", got, c.ttl)
		}
		host, _ := os.Hostname()
		if want := host + ":" + strconv.Itoa(os.Getpid()) + " " + c.label; label != want {
			t.Errorf("labelled %q, want %q", label, want)
		}
	}
}

// Rule: a TTL out of the store's own bounds is ErrTTL that names them, and a MinHold that it cannot keep is ErrUnsupported; the lock
// is not asked for.
func TestOptionsThatTheStoreCannotServe(t *testing.T) {
	s := newScript()
	s.promises.MinTTL, s.promises.MaxTTL, s.promises.Keep = time.Second, time.Minute, false
	locks := s.open(t)
	_, err := locks.Mutex("a", holdfast.TTL(time.Second-1)).Lock(t.Context())
	expect(t, err, holdfast.ErrTTL, "from 1s to 1m0s")
	_, err = locks.Mutex("a", holdfast.TTL(time.Minute+1)).TryLock(t.Context())
	expect(t, err, holdfast.ErrTTL, "from 1s to 1m0s")
	_, err = locks.Mutex("a", holdfast.MinHold(time.Second)).Lock(t.Context())
	expect(t, err, holdfast.ErrUnsupported, "MinHold")
	if calls := s.asked("acquire", "release"); len(calls) > 0 {
		t.Errorf("the store was asked for the lock: %+v", calls)
	}
	mustUnlock(t, mustLock(t, locks.Mutex("a", holdfast.TTL(time.Second))))
	mustUnlock(t, mustLock(t, locks.Mutex("a", holdfast.TTL(time.Minute))))
}

// Rule: on a store with sessions a lock's TTL is its own affair.
func TestSessionsDoNotBoundTheTTL(t *testing.T) {
	s := newScript().withSession(5 * time.Second)
	s.promises.MinTTL, s.promises.MaxTTL = time.Second, 5*time.Second
	mustUnlock(t, mustLock(t, s.open(t).Mutex("a", holdfast.TTL(time.Hour))))
}

// Rule: Require(Correctness) with New makes every Lock fail, naming what is missing, and asks for no lock.
func TestRequireWithNew(t *testing.T) {
	s := newScript()
	_, err := s.open(t, holdfast.Require(holdfast.Correctness)).Mutex("a").Lock(t.Context())
	expect(t, err, holdfast.ErrUnsupported, "volatile, not durable", "restart", "failover", "script://")
	var lacks *holdfast.RequirementError
	if !errors.As(err, &lacks) || len(lacks.Missing) != 3 || lacks.Store != "script://" {
		t.Errorf("got %#v, want a *RequirementError that misses three things", err)
	}
	if calls := s.asked("acquire"); len(calls) > 0 {
		t.Errorf("the store was asked for the lock: %+v", calls)
	}

	s.promises.Fencing, s.promises.SurvivesRestart, s.promises.SurvivesFailover = driver.FencingDurable, true, true
	mustUnlock(t, mustLock(t, s.open(t, holdfast.Require(holdfast.Correctness)).Mutex("a")))
	_, err = s.open(t, holdfast.Require(7)).Mutex("a").Lock(t.Context())
	expect(t, err, holdfast.ErrArgument, "Require(7)", "Correctness")
}
