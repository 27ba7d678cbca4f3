package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffGrowsToItsBound(t *testing.T) {
	const ms = time.Millisecond
	b := Backoff{Min: 8 * ms, Max: 30 * ms, Rand: func() float64 { return 0 }}
	want := []time.Duration{8 * ms, 12 * ms, 18 * ms, 27 * ms, 30 * ms, 30 * ms}
	for round := range 2 {
		for i, d := range want {
			if got := b.Next(); got != d {
				t.Errorf("round %d: delay %d is %v, want %v", round, i, got, d)
			}
		}
		b.Reset()
	}
}

func TestBackoffBounds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct{ b, means Backoff }{
		{Backoff{}, Backoff{Min: time.Millisecond, Max: time.Second}},
		{Backoff{Min: 5 * time.Millisecond}, Backoff{Min: 5 * time.Millisecond, Max: time.Second}},
		{Backoff{Max: 3 * time.Second}, Backoff{Min: time.Millisecond, Max: 3 * time.Second}},
		{Backoff{Min: time.Second, Max: time.Millisecond}, Backoff{Min: time.Millisecond, Max: time.Millisecond}},
		{Backoff{Min: 2, Max: 5}, Backoff{Min: 2, Max: 5}},
		{Backoff{Min: time.Minute, Max: Forever}, Backoff{Min: time.Minute, Max: Forever}},
		{Backoff{Min: -1, Max: -1}, Backoff{Min: time.Millisecond, Max: time.Second}},
	} {
		plain, jittered := c.b, c.b
		plain.Rand, jittered.Rand = func() float64 { return 0 }, random.Float64
		before := time.Duration(0)
		for range 200 {
			full, got := plain.Next(), jittered.Next()
			if full < max(c.means.Min, before) || full > c.means.Max || full <= 0 {
				t.Fatalf("%+v: %v after %v", c.b, full, before)
			}
			if got > full || got < full-full/2-1 || got < 0 { // float64 rounds the longest ones
				t.Fatalf("%+v: %v of %v, want between a half and the whole", c.b, got, full)
			}
			before = full
		}
		if before != c.means.Max {
			t.Errorf("%+v: ends at %v, want %v", c.b, before, c.means.Max)
		}
	}
}

func TestBackoffIsJitteredByItself(t *testing.T) {
	seen := make(map[time.Duration]bool)
	for range 100 {
		b := Backoff{Min: time.Hour, Max: time.Hour}
		seen[b.Next()] = true
	}
	if len(seen) < 50 {
		t.Errorf("100 delays have %d different values", len(seen))
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("slept %v, %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Sleep(ctx, time.Hour); err != context.DeadlineExceeded || time.Since(begin) != time.Hour+time.Second {
			t.Errorf("slept until %v, %v", time.Since(begin), err)
		}
		for range 50 { // a context that has ended comes first, not by chance
			if err := Sleep(ctx, 0); err != context.DeadlineExceeded {
				t.Fatalf("with a context that has ended: %v", err)
			}
		}
	})
}

// A script answers tries in turn, the last one for ever, and records when it was asked.
type script struct {
	answers []error // nil: a grant
	begin   time.Time
	asked   []time.Duration
}

var granted = &Grant{Token: 7}

func (s *script) try(context.Context) (*Grant, error) {
	if s.begin.IsZero() {
		s.begin = time.Now()
	}
	s.asked = append(s.asked, time.Since(s.begin))
	err := s.answers[min(len(s.asked), len(s.answers))-1]
	if err != nil {
		return nil, err
	}
	return granted, nil
}

// steady is a back-off without chance: always 100 ms.
var steady = Backoff{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond, Rand: func() float64 { return 0 }}

func TestPollAsksAgain(t *testing.T) {
	held := &Held{Holders: []Holder{{Label: "other"}}}
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		answers []error
		asked   []time.Duration
	}{
		"granted at once":       {[]error{nil}, []time.Duration{0}},
		"held":                  {[]error{held, held, nil}, []time.Duration{0, 100 * ms, 200 * ms}},
		"guarded":               {[]error{&Guarded{Left: time.Second}, nil}, []time.Duration{0, 100 * ms}},
		"held, ask sooner":      {[]error{&Held{RetryIn: 30 * ms}, held, nil}, []time.Duration{0, 30 * ms, 130 * ms}},
		"held, not later":       {[]error{&Held{RetryIn: time.Hour}, nil}, []time.Duration{0, 100 * ms}},
		"guarded, nearly over":  {[]error{&Guarded{Left: 20 * ms}, nil}, []time.Duration{0, 20 * ms}},
		"wrapped and in a join": {[]error{errors.Join(fmt.Errorf("node 1: %w", held), &NodeError{"node 2", held}), nil}, []time.Duration{0, 100 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: c.answers}
				grant, err := Poll(t.Context(), &Request{}, steady, s.try)
				if grant != granted || err != nil || !slices.Equal(s.asked, c.asked) {
					t.Errorf("%v, %v, asked at %v, want %v", grant, err, s.asked, c.asked)
				}
			})
		})
	}
}

func TestPollBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []error{&Held{}, &Held{}, &Held{}, nil}}
		b := Backoff{Min: 8, Max: 1000, Rand: func() float64 { return 0 }}
		if _, err := Poll(t.Context(), &Request{}, b, s.try); err != nil || !slices.Equal(s.asked, []time.Duration{0, 8, 20, 38}) {
			t.Errorf("asked at %v, %v", s.asked, err)
		}
	})
}

func TestPollNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []error{nil, &Held{}, &Guarded{Left: 1}, errors.New("connection reset")} {
			s := &script{answers: []error{answer}}
			r := &Request{NoWait: true, Waiting: func(Progress) { t.Error("told to wait") }}
			grant, err := Poll(t.Context(), r, steady, s.try)
			if err != answer || (grant == granted) != (answer == nil) || len(s.asked) != 1 {
				t.Errorf("%v, %v after %d tries, want %v after one", grant, err, len(s.asked), answer)
			}
		}
	})
}

// Only *Held and *Guarded are worth asking again; an unknown outcome is the core's to repeat or to undo.
func TestPollReturnsEverythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := errors.Join(&Held{}, context.DeadlineExceeded) // of the driver's own making: the request is unknown
		refused, reset := &Refused{errors.New("no")}, errors.New("reset")
		for _, answer := range []error{ErrDeadlock, ErrUnsupported, ErrGone, refused, ErrClosed, reset, timeout} {
			s := &script{answers: []error{&Held{}, answer}}
			grant, err := Poll(t.Context(), &Request{}, steady, s.try)
			if grant != nil || err != answer || len(s.asked) != 2 {
				t.Errorf("%v, %v after %d tries, want %v, unchanged", grant, err, len(s.asked), answer)
			}
		}
	})
}

func TestPollContextEnds(t *testing.T) {
	held, guarded := &Held{Holders: []Holder{{Label: "other"}}}, &Guarded{Left: time.Hour}
	reset := errors.New("connection reset")
	for name, c := range map[string]struct {
		answers []error
		carries []error // what errors.Is must find
		held    bool
		guarded bool
	}{
		"in the wait, held":               {answers: []error{held}, held: true},
		"in the wait, guarded":            {answers: []error{guarded}, guarded: true},
		"in a try, which says so":         {answers: []error{held, context.DeadlineExceeded}, held: true},
		"in a try, which says else":       {answers: []error{held, reset}, carries: []error{reset}, held: true},
		"in the first try":                {answers: []error{reset}, carries: []error{reset}},
		"in a try, which knows more":      {answers: []error{guarded, errors.Join(held, context.DeadlineExceeded)}, held: true},
		"in a try, which carries a Guard": {answers: []error{held, errors.Join(guarded, context.DeadlineExceeded)}, guarded: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
				defer cancel()
				s := &script{answers: c.answers}
				last := len(c.answers)
				grant, err := Poll(ctx, &Request{}, steady, func(ctx context.Context) (*Grant, error) {
					grant, err := s.try(ctx)
					if len(s.asked) == last && last > 1 || c.answers[0] == reset {
						<-ctx.Done()
					}
					return grant, err
				})
				_, isHeld := errors.AsType[*Held](err)
				_, isGuarded := errors.AsType[*Guarded](err)
				if grant != nil || isHeld != c.held || isGuarded != c.guarded || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, %v: want held %t, guarded %t, and the context's error", grant, err, c.held, c.guarded)
				}
				for _, want := range c.carries {
					if !errors.Is(err, want) {
						t.Errorf("%v does not carry %v", err, want)
					}
				}
				if Answered(err) {
					t.Errorf("%v is an answer: nobody would undo the request", err)
				}
				if now := time.Since(s.begin); now != 150*time.Millisecond {
					t.Errorf("returned after %v, the context ended after 150ms", now)
				}
			})
		})
	}
}

// A grant or an answer in hand is returned although the context has ended meanwhile; with one that had ended before nothing is asked.
func TestPollContextHasEnded(t *testing.T) {
	for _, answer := range []error{nil, ErrDeadlock, &Refused{errors.New("no")}} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{answers: []error{answer}}
		try := func(ctx context.Context) (*Grant, error) {
			cancel()
			return s.try(ctx)
		}
		if grant, err := Poll(ctx, &Request{}, steady, try); err != answer || (grant == granted) != (answer == nil) {
			t.Errorf("%v, %v, want %v", grant, err, answer)
		}
		if _, err := Poll(ctx, &Request{}, steady, try); !errors.Is(err, context.Canceled) || len(s.asked) != 1 {
			t.Errorf("%v after %d tries", err, len(s.asked))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answers: []error{&Held{}}}
	try := func(ctx context.Context) (*Grant, error) {
		cancel()
		return s.try(ctx)
	}
	if _, err := Poll(ctx, &Request{}, Backoff{}, try); !errors.Is(err, context.Canceled) || len(s.asked) != 1 {
		t.Errorf("%v after %d tries", err, len(s.asked))
	}
}

// Waiting hears of the first answer, of a change between held and guarded, and otherwise once a second.
func TestPollTellsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, guarded := &Held{Holders: []Holder{{Label: "other", Token: 3}}}, &Guarded{Left: time.Minute, Why: "it is new"}
		s := &script{answers: []error{guarded, guarded, held}}
		ctx, cancel := context.WithTimeout(t.Context(), 3250*time.Millisecond)
		defer cancel()
		type word struct {
			at      time.Duration
			guard   time.Duration
			why     string
			holders int
		}
		var words []word
		r := &Request{Waiting: func(p Progress) { words = append(words, word{time.Since(s.begin), p.Guard, p.Why, len(p.Holders)}) }}
		Poll(ctx, r, steady, s.try)
		const ms = time.Millisecond
		want := []word{{0, time.Minute, "it is new", 0}, {200 * ms, 0, "", 1}, {1200 * ms, 0, "", 1}, {2200 * ms, 0, "", 1}, {3200 * ms, 0, "", 1}}
		if !slices.Equal(words, want) {
			t.Errorf("told %v, want %v", words, want)
		}
	})
}

func TestWatchIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := make(chan struct{}, 1)
		begun := time.Now()
		var asked []time.Duration
		b := Backoff{Min: 10 * time.Second, Max: time.Hour, Rand: func() float64 { return 0 }}
		grant, err := Watch(t.Context(), &Request{}, b, woken, func(context.Context) (*Grant, error) {
			asked = append(asked, time.Since(begun))
			switch len(asked) {
			case 2: // after a whole pause
				time.AfterFunc(3*time.Second, func() { woken <- struct{}{} })
			case 4: // after one that was cut short, and a whole one, the first again
				return &Grant{Token: 7}, nil
			}
			return nil, &Held{}
		})
		if err != nil || grant.Token != 7 {
			t.Fatal(grant, err)
		}
		want := []time.Duration{0, 10 * time.Second, 13 * time.Second, 23 * time.Second}
		if !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
	})
}
