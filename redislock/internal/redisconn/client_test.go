package redisconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
)

// A client behind a proxy. Its timeout= is ten minutes: whatever returns sooner returned because of its context.
func faulty(t *testing.T, adopted bool) (*netfault.Proxy, rueidis.Client) {
	t.Helper()
	proxy, err := netfault.New(start(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	url := "redis://" + proxy.Addr() + "?timeout=10m"
	c := rueidis.Client(nil)
	if !adopted {
		c = dial(t, url)
	} else {
		o := options(t, url)
		o.AlwaysPipelining = true // else a request that is given up can end the connection, and with it those of others
		raw, err := rueidis.NewClient(o.ClientOption)
		if err != nil {
			t.Fatal(err)
		}
		c = Adopt(raw)
		t.Cleanup(func() { proxy.Heal(); c.Close() })
	}
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	return proxy, c
}

// together makes n calls at once, each with a context that ends soon, and returns their errors.
func together(t *testing.T, c rueidis.Client, n int, d time.Duration) []error {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range errs {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			_, errs[i] = trial.Call(ctx, c, "hf_get", []string{fmt.Sprint(i)}, nil)
		})
	}
	all.Wait()
	if took := time.Since(begin); took > patience {
		t.Errorf("%d calls took %v, their contexts %v", n, took, d)
	}
	return errs
}

func allDeadline(t *testing.T, what string, errs []error) {
	t.Helper()
	for _, err := range errs {
		if !errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) {
			t.Errorf("%s: %v", what, err)
			return
		}
	}
}

// TestCallEndsWithContext: the server hangs, then nobody can connect anew, then more requests are under way than there is room for.
func TestCallEndsWithContext(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		proxy, c := faulty(t, adopted)
		what := fmt.Sprintf("adopted %v: ", adopted)
		proxy.HoldReplies()
		allDeadline(t, what+"silent", together(t, c, 20, 50*time.Millisecond))
		allDeadline(t, what+"crowded", together(t, c, 2<<ringScale, 100*time.Millisecond))
		allDeadline(t, what+"still crowded", together(t, c, 20, 50*time.Millisecond))
		proxy.Cut()
		eventually(t, "the break was noticed", func() bool {
			return errors.Is(together(t, c, 1, 50*time.Millisecond)[0], context.DeadlineExceeded)
		})
		connecting := together(t, c, 20, 50*time.Millisecond)
		if !adopted { // there it can also be the end of the one who connects for all
			allDeadline(t, what+"connecting", connecting)
		}
		for _, err := range connecting {
			if err == nil || driver.Answered(err) {
				t.Errorf("%sconnecting: %v", what, err)
			}
		}
		proxy.Heal()
		eventually(t, "it works again", func() bool { return together(t, c, 1, patience)[0] == nil })
		for _, err := range together(t, c, 2<<ringScale, patience) {
			if err != nil {
				t.Fatalf("%sa crowd that is answered: %v", what, err)
			}
		}
	}
}

// TestConnectingIsNobodys: whoever came first leaves, and the others still get their connection.
func TestConnectingIsNobodys(t *testing.T) {
	proxy, c := faulty(t, false)
	proxy.HoldReplies()
	proxy.Cut()
	eventually(t, "the break was noticed", func() bool {
		return errors.Is(together(t, c, 1, 50*time.Millisecond)[0], context.DeadlineExceeded)
	})
	allDeadline(t, "the first", together(t, c, 1, 50*time.Millisecond))
	second := make(chan error, 1)
	go func() { second <- together(t, c, 1, patience)[0] }()
	allDeadline(t, "the third", together(t, c, 1, 50*time.Millisecond))
	proxy.Resume()
	if err := <-second; err != nil {
		t.Errorf("the second: %v", err)
	}
}

// TestUnanswered: nobody's context ends, but a request that is not answered is given up all the same.
func TestUnanswered(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr()+"?timeout=200ms")
	if err := call(t, c, "hf_get"); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Skip(err)
	}
	for range 3 { // the second and third cannot connect
		_, err := trial.Call(context.Background(), c, "hf_get", []string{"lock"}, nil)
		if err == nil || driver.Answered(err) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%T %v", err, err)
		}
	}
	if err := s.Continue(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it works again", func() bool { return call(t, c, "hf_get") == nil })
}

// TestReconnect: a call finds a connection that broke while nobody used it, and works at the second try.
func TestReconnect(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr()+"/3")
	if err := call(t, c, "hf_get"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		do(t, s, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		if err := call(t, c, "hf_get"); err != nil && driver.Answered(err) {
			t.Errorf("cut: %v", err)
		}
		if err := call(t, c, "hf_get"); err != nil {
			t.Errorf("cut, second try: %v", err)
		}
	}
	s.Kill()
	eventually(t, "the server is missed", func() bool { return call(t, c, "hf_get") != nil })
	if err := call(t, c, "hf_get"); driver.Answered(err) {
		t.Errorf("no server: %v", err)
	}
	if err := s.Restart(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	if err := call(t, c, "hf_get"); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// TestCloseWaitsForNobody: the server hangs.
func TestCloseWaitsForNobody(t *testing.T) {
	proxy, c := faulty(t, false)
	inbox := OpenInbox(c, "inbox", Events{})
	if err := inbox.Await(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	proxy.HoldReplies()
	running := make(chan error)
	go func() {
		_, err := trial.Call(context.Background(), c, "hf_get", []string{"lock"}, nil)
		running <- err
	}()
	if err := proxy.AwaitHeld(within(t, patience), netfault.Replies, 1); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	c.Close()
	inbox.Close()
	if took := time.Since(begin); took > patience {
		t.Errorf("it took %v", took)
	}
	if err := <-running; err != driver.ErrClosed {
		t.Errorf("a call under way: %v", err)
	}
	if err := call(t, c, "hf_get"); err != driver.ErrClosed {
		t.Errorf("a later call: %v", err)
	}
	for _, r := range c.DoMulti(context.Background(), c.B().Ping().Build(), c.B().Ping().Build()) {
		if err := Error(r.Error()); err != driver.ErrClosed {
			t.Errorf("later calls: %v", err)
		}
	}
	if err := inbox.Await(context.Background()); err != driver.ErrClosed {
		t.Errorf("the inbox: %v", err)
	}
	c.Close()
}
