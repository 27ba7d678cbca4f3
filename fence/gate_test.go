package fence_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/fence"
)

func TestGateRefusesOlderTokens(t *testing.T) {
	tests := []struct {
		name   string
		passes []uint64
		stale  []bool
		last   uint64
	}{
		{"first of all", []uint64{7}, []bool{false}, 7},
		{"the same again", []uint64{7, 7}, []bool{false, false}, 7},
		{"rising", []uint64{7, 8, 1 << 63}, []bool{false, false, false}, 1 << 63},
		{"older", []uint64{7, 6}, []bool{false, true}, 7},
		{"older again and again", []uint64{7, 9, 7, 8, 9}, []bool{false, false, true, true, false}, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g fence.Gate
			for i, token := range tt.passes {
				// Reads and writes in turn: both are refused, and both raise.
				ran := false
				err := g.Do(t.Context(), "r", fence.Token(token), func() error { ran = true; return nil })
				if i%2 == 1 {
					err, ran = g.Pass(t.Context(), "r", fence.Token(token)), !tt.stale[i]
				}
				if got := errors.Is(err, fence.ErrStale); got != tt.stale[i] || ran == got || (err != nil) != got {
					t.Errorf("pass %d, token %d: error %v, ran %v; want stale %v", i, token, err, ran, tt.stale[i])
				}
			}
			if got := g.Highest("r"); got != tt.last {
				t.Errorf("Highest is %d, want %d", got, tt.last)
			}
		})
	}
}

func TestStaleErrorTellsBothTokensAndTheNextStep(t *testing.T) {
	var g fence.Gate
	if err := g.Pass(t.Context(), "orders\x1b[2J", fence.Token(34)); err != nil {
		t.Fatal(err)
	}
	err := g.Pass(t.Context(), "orders\x1b[2J", fence.Token(33))
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Resource: "orders\x1b[2J", Token: 33, Highest: 34}) {
		t.Fatalf("got %#v", err)
	}
	for _, part := range []string{`"orders\x1b[2J"`, "33", "34", "new hold"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

func TestResourcesAreApart(t *testing.T) {
	var g fence.Gate
	err := g.Do(t.Context(), "a", fence.Token(9), func() error {
		return g.Pass(t.Context(), "b", fence.Token(3)) // neither waits for a nor is measured by a's token
	})
	if err != nil || g.Highest("a") != 9 || g.Highest("b") != 3 || g.Highest("c") != 0 {
		t.Errorf("error %v, highest %d %d %d; want 9 3 0", err, g.Highest("a"), g.Highest("b"), g.Highest("c"))
	}
}

var errPermit = errors.New("not supported: permits do not fence")

// permit is a hold that refuses to fence; broken is one that claims that zero is a token.
type (
	permit struct{}
	broken struct{}
)

func (permit) FenceToken() (uint64, error) { return 5, errPermit }
func (broken) FenceToken() (uint64, error) { return 0, nil }

func TestBadInputLeavesTheGateAlone(t *testing.T) {
	cause := errors.New("the lock was lost")
	done, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	nothing := func() error { return nil }
	tests := []struct {
		name   string
		ctx    context.Context
		fencer fence.Fencer
		act    func() error
		want   []error
	}{
		{"token zero", t.Context(), fence.Token(0), nothing, []error{fence.ErrNoToken}},
		{"no fencer", t.Context(), nil, nothing, []error{fence.ErrNoToken}},
		{"a fencer whose token is zero", t.Context(), broken{}, nothing, []error{fence.ErrNoToken}},
		{"a permit", t.Context(), permit{}, nothing, []error{errPermit}},
		{"no function", t.Context(), fence.Token(5), nil, []error{fence.ErrArgument}},
		{"a context that is done", done, fence.Token(5), nothing, []error{context.Canceled, cause}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g fence.Gate
			act := tt.act
			if act != nil {
				act = func() error { t.Error("the act ran"); return nil }
			}
			err := g.Do(tt.ctx, "r", tt.fencer, act)
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if err == nil || !strings.Contains(err.Error(), `"r"`) {
				t.Errorf("got %v, want an error that names the resource", err)
			}
			if g.Highest("r") != 0 {
				t.Errorf("the gate was raised to %d", g.Highest("r"))
			}
		})
	}
}

func TestTokenZeroIsNone(t *testing.T) {
	if token, err := fence.Token(0).FenceToken(); token != 0 || !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("got %d, %v; want ErrNoToken", token, err)
	}
	if token, err := fence.Token(7).FenceToken(); token != 7 || err != nil {
		t.Errorf("got %d, %v; want 7", token, err)
	}
}

func TestDoReturnsTheActsErrorAndStaysRaised(t *testing.T) {
	var g fence.Gate
	disk := errors.New("disk full")
	if err := g.Do(t.Context(), "r", fence.Token(5), func() error { return disk }); err != disk {
		t.Errorf("got %v, want the act's own error", err)
	}
	if err := g.Pass(t.Context(), "r", fence.Token(4)); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v, want ErrStale: an act that failed may have written", err)
	}
}

func TestPanicLeavesTheGateOpenForOthers(t *testing.T) {
	var g fence.Gate
	func() {
		defer func() { recover() }()
		g.Do(t.Context(), "r", fence.Token(5), func() error { panic("act") })
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := g.Pass(ctx, "r", fence.Token(6)); err != nil {
		t.Error(err)
	}
}

func TestForget(t *testing.T) {
	var g fence.Gate
	if !g.Forget("never seen") {
		t.Error("what was never seen is not known")
	}
	err := g.Do(t.Context(), "r", fence.Token(5), func() error {
		if g.Forget("r") {
			t.Error("forgotten while an act is under way")
		}
		return nil
	})
	if err != nil || !g.Forget("r") || g.Highest("r") != 0 {
		t.Errorf("error %v, highest %d; want forgotten", err, g.Highest("r"))
	}
	if err := g.Pass(t.Context(), "r", fence.Token(1)); err != nil {
		t.Errorf("after Forget any token passes, got %v", err)
	}
}

// act starts Do in a goroutine of the bubble: it is inside when synctest.Wait has returned and inside is true, and ends when
// end is called.
type act struct {
	inside atomic.Bool
	end    func()
	err    error
	done   chan struct{}
}

func start(ctx context.Context, g *fence.Gate, token uint64) *act {
	stop := make(chan struct{})
	a := &act{done: make(chan struct{}), end: sync.OnceFunc(func() { close(stop) })}
	go func() {
		defer close(a.done)
		a.err = g.Do(ctx, "r", fence.Token(token), func() error {
			a.inside.Store(true)
			<-stop
			return nil
		})
	}()
	synctest.Wait()
	return a
}

func (a *act) result() error {
	a.end()
	<-a.done
	return a.err
}

func TestNewerWaitsForTheOlderAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g fence.Gate
		older := start(t.Context(), &g, 5)
		newer := start(t.Context(), &g, 6)
		if !older.inside.Load() || newer.inside.Load() {
			t.Fatalf("inside: 5 %v, 6 %v; want 5 only", older.inside.Load(), newer.inside.Load())
		}
		if err := g.Pass(t.Context(), "r", fence.Token(5)); !errors.Is(err, fence.ErrStale) {
			t.Errorf("5 again, after 6 arrived: got %v, want ErrStale at once", err)
		}
		if g.Forget("r") {
			t.Error("forgotten while somebody is inside")
		}
		if err := older.result(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !newer.inside.Load() {
			t.Error("6 was not let in although 5 has left")
		}
		if err := newer.result(); err != nil {
			t.Error(err)
		}
	})
}

func TestEqualTokensGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g fence.Gate
		one, two := start(t.Context(), &g, 5), start(t.Context(), &g, 5)
		if !one.inside.Load() || !two.inside.Load() {
			t.Fatal("readers of one generation wait for each other")
		}
		newer := start(t.Context(), &g, 6)
		one.result()
		synctest.Wait()
		if newer.inside.Load() {
			t.Error("6 was let in while one of the two is inside")
		}
		two.result()
		if err := newer.result(); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitingTokenIsRefusedWhenANewerArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g fence.Gate
		first, second, third := start(t.Context(), &g, 5), start(t.Context(), &g, 6), start(t.Context(), &g, 7)
		first.result()
		if err := second.result(); !errors.Is(err, fence.ErrStale) || second.inside.Load() {
			t.Errorf("6: got %v, ran %v; want ErrStale", err, second.inside.Load())
		}
		if err := third.result(); err != nil {
			t.Errorf("7: %v", err)
		}
	})
}

func TestGivingUpTheWaitKeepsTheGateRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g fence.Gate
		cause := errors.New("the lock was lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		older, newer := start(t.Context(), &g, 5), start(ctx, &g, 6)
		cancel(cause)
		<-newer.done
		if err := newer.err; !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || newer.inside.Load() {
			t.Errorf("got %v, want context.Canceled and its cause", err)
		}
		older.result()
		if err := g.Pass(t.Context(), "r", fence.Token(5)); !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v, want ErrStale: 6 was granted, so 5 has ended", err)
		}
	})
}

// book is what acts write down about themselves, to check from the inside what the gate promises.
type book struct {
	mu     sync.Mutex
	inside int
	by     uint64 // the token that came in last
}

func (b *book) enter(t *testing.T, token uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inside > 0 && b.by != token {
		t.Errorf("%d and %d are inside together", b.by, token)
	}
	if b.by > token {
		t.Errorf("%d came in after %d", token, b.by)
	}
	b.inside++
	b.by = token
}

func (b *book) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inside--
}

// TestGateUnderLoad lets many goroutines pass with tokens in a wild order.
func TestGateUnderLoad(t *testing.T) {
	var g fence.Gate
	var b book
	var wg sync.WaitGroup
	var next atomic.Uint64
	var ran atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				token := 1 + next.Add(1)/3 // up to three goroutines share a token
				err := g.Do(t.Context(), "r", fence.Token(token), func() error {
					b.enter(t, token)
					runtime.Gosched()
					b.leave()
					ran.Add(1)
					return nil
				})
				if err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if b.by != g.Highest("r") || ran.Load() == 0 {
		t.Errorf("the last inside was %d, the highest is %d, %d ran", b.by, g.Highest("r"), ran.Load())
	}
}

func BenchmarkGateDo(b *testing.B) {
	var g fence.Gate
	ctx, token := b.Context(), fence.Token(5)
	nothing := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Do(ctx, "r", token, nothing); err != nil {
			b.Fatal(err)
		}
	}
}
