package remote_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

// patience is how long a test waits for what must happen: generous, because it is only used up by a failure.
const patience = 30 * time.Second

// long is a TTL that no test outlives.
const long = time.Hour

// A watched store tells what became of the acquires that the server carried out.
type watched struct {
	*memlock.Store
	acquired chan error
}

func (w *watched) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	g, err := w.Store.Acquire(ctx, r)
	w.acquired <- err
	return g, err
}

func newWatched() *watched { return &watched{memlock.New(), make(chan error, 100)} }

// next waits until the server has carried out an acquire.
func (w *watched) next(t *testing.T) error {
	t.Helper()
	return receive(t, w.acquired, "the server to finish an acquire")
}

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("not reached")
	}
}

// serve serves a store until stop is called, or the test ends; then nothing of this package may be left.
func serve(t *testing.T, store driver.Store) (addr string, stop func()) {
	t.Helper()
	t.Cleanup(func() { noGoroutines(t) }) // registered first: after everything that the test closes
	return serveAt(t, "127.0.0.1:0", store)
}

func serveAt(t *testing.T, at string, store driver.Store) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- remote.Serve(l, store) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		l.Close()
		if err := receive(t, served, "Serve to return"); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func noGoroutines(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "remote.(*") {
			t.Errorf("left behind:\n%s", stack)
		}
	}
}

func dial(t *testing.T, addr string) driver.Store {
	t.Helper()
	s, err := remote.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func proxy(t *testing.T, addr string) *netfault.Proxy {
	t.Helper()
	p, err := netfault.New(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func awaitHeld(t *testing.T, p *netfault.Proxy, d netfault.Direction) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.AwaitHeld(ctx, d, 1); err != nil {
		t.Fatal(err)
	}
}

var attempts = driver.NewAttempts()

func exclusive(ttl time.Duration) *driver.Request {
	return &driver.Request{Name: "x", Attempt: attempts.Next(), Label: "a label", Mode: driver.Exclusive, TTL: ttl}
}

// answer is what Acquire returned.
type answer struct {
	*driver.Grant
	err error
}

// ask acquires in a goroutine of its own.
func ask(ctx context.Context, s driver.Store, r *driver.Request) <-chan answer {
	c := make(chan answer, 1)
	go func() {
		g, err := s.Acquire(ctx, r)
		c <- answer{g, err}
	}()
	return c
}

// askAndWait acquires in a goroutine of its own and returns when the attempt waits.
func askAndWait(t *testing.T, ctx context.Context, s driver.Store, r *driver.Request) <-chan answer {
	t.Helper()
	waits := make(chan struct{}, 1000)
	with := *r
	with.Waiting = func(driver.Progress) { waits <- struct{}{} }
	c := ask(ctx, s, &with)
	receive(t, waits, "the attempt to wait")
	return c
}

func mustAcquire(t *testing.T, s driver.Store, r *driver.Request) *driver.Grant {
	t.Helper()
	return granted(t, ask(t.Context(), s, r))
}

func granted(t *testing.T, c <-chan answer) *driver.Grant {
	t.Helper()
	a := receive(t, c, "a grant")
	if a.err != nil {
		t.Fatalf("Acquire: %v", a.err)
	}
	return a.Grant
}

func wantUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || driver.Answered(err) {
		t.Fatalf("%s = %v; want an unknown outcome", what, err)
	}
}

func mustRelease(t *testing.T, s driver.Store, r *driver.Request) {
	t.Helper()
	if err := s.Release(t.Context(), r); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// holders are the tokens that the store shows as holding x.
func holders(t *testing.T, s driver.Store) (tokens []uint64) {
	t.Helper()
	info, err := s.(driver.Inspector).Inspect(t.Context(), "x", driver.Exclusive)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	for _, h := range info.Holders {
		tokens = append(tokens, h.Token)
	}
	return tokens
}

func TestExclusionOverTwoConnections(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	one, two := dial(t, addr), dial(t, addr)
	first, second, third := exclusive(long), exclusive(long), exclusive(long)
	g1 := mustAcquire(t, one, first)

	try := exclusive(long)
	try.NoWait = true
	_, err := two.Acquire(t.Context(), try)
	var held *driver.Held
	if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Label != "a label" || held.Holders[0].Token != g1.Token {
		t.Fatalf("Acquire without waiting = %v; want *Held with the holder", err)
	}
	// Both wait, one of them on the holder's own connection, and are served in order.
	two2 := askAndWait(t, t.Context(), two, second)
	one3 := askAndWait(t, t.Context(), one, third)
	mustRelease(t, one, first)
	g2 := granted(t, two2)
	if got := holders(t, one); len(got) != 1 || got[0] != g2.Token {
		t.Errorf("holders are %v; want only %d", got, g2.Token)
	}
	mustRelease(t, two, second)
	g3 := granted(t, one3)
	if !(g1.Token < g2.Token && g2.Token < g3.Token) {
		t.Errorf("tokens %d, %d, %d do not rise", g1.Token, g2.Token, g3.Token)
	}
	if err := one.Release(t.Context(), second); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Release of what was released = %v; want ErrGone", err)
	}
}

func TestRenew(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	s := dial(t, addr)
	r := exclusive(time.Minute)
	g := mustAcquire(t, s, r)
	if g.TTL != time.Minute {
		t.Errorf("TTL %v; want %v", g.TTL, time.Minute)
	}
	if again := mustAcquire(t, s, r); again.Lease != g.Lease || again.Token != g.Token {
		t.Errorf("asked again: token %d; want the same lease and token %d", again.Token, g.Token)
	}
	if left, err := g.Lease.Renew(t.Context(), long); err != nil || left != long {
		t.Errorf("Renew = %v, %v; want %v", left, err, long)
	}
	if left, err := g.Lease.Renew(t.Context(), 0); err != nil || left <= time.Minute || left > long {
		t.Errorf("Renew(0) = %v, %v; want what is left of %v", left, err, long)
	}
	mustRelease(t, s, r)
	if left, err := g.Lease.Renew(t.Context(), long); !errors.Is(err, driver.ErrGone) || left != 0 {
		t.Errorf("Renew after Release = %v, %v; want ErrGone", left, err)
	}
}

func TestLostIsPushed(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	s, other := dial(t, addr), dial(t, addr)
	lost := make(chan error, 10)

	short := exclusive(20 * time.Millisecond)
	short.Lost = func(err error) { lost <- err }
	mustAcquire(t, s, short)
	if err := receive(t, lost, "Lost after the TTL"); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Lost(%v); want ErrGone", err)
	}

	r := exclusive(long)
	r.Lost = func(err error) { lost <- err }
	g := mustAcquire(t, s, r)
	b := &driver.BreakRequest{Name: "x", Mode: driver.Exclusive, Token: g.Token, By: "admin"}
	if err := other.(driver.Breaker).Break(t.Context(), b); err != nil {
		t.Fatalf("Break: %v", err)
	}
	var broken *driver.Broken
	if err := receive(t, lost, "Lost after Break"); !errors.As(err, &broken) || broken.By != "admin" || errors.Is(err, driver.ErrGone) {
		t.Errorf("Lost(%v); want *Broken by admin", err)
	}
	if _, err := g.Lease.Renew(t.Context(), long); !errors.Is(err, driver.ErrBroken) {
		t.Errorf("Renew of a broken hold: %v; want ErrBroken", err)
	}
	b.Now = true
	if err := other.(driver.Breaker).Break(t.Context(), b); err != nil {
		t.Fatalf("Break now: %v", err)
	}
	if _, err := g.Lease.Renew(t.Context(), long); !errors.As(err, &broken) || !broken.Now {
		t.Errorf("Renew of a freed hold: %v; want *Broken, now", err)
	}
	if err := s.Release(t.Context(), r); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Release of a freed hold: %v; want ErrGone", err)
	}
	if len(lost) > 0 {
		t.Errorf("Lost was called again: %v", <-lost)
	}
}
