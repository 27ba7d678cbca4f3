package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// TestFlush lets callers run while the server's functions vanish again and again: nobody sees an error.
func TestFlush(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				value := fmt.Sprint(n)
				m, err := trial.Call(context.Background(), c, "hf_set", []string{fmt.Sprint("k", i)}, []string{value})
				if err != nil {
					t.Errorf("%T %v", err, err)
					return
				}
				if text, err := m.ToString(); err != nil || text != "OK" {
					t.Errorf("%q, %v", text, err)
				}
			}
		})
	}
	for range 50 {
		do(t, s, "FUNCTION", "FLUSH")
		eventually(t, "it was loaded again", func() bool {
			list, _ := do(t, s, "FUNCTION", "LIST").([]any)
			return len(list) == 1
		})
	}
	close(stop)
	all.Wait()
}

// TestLoadedOnce: after a flush everybody calls at once, but the code is not sent by everybody.
func TestLoadedOnce(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	if err := call(t, c, "hf_get"); err != nil {
		t.Fatal(err)
	}
	do(t, s, "FUNCTION", "FLUSH")
	do(t, s, "CONFIG", "RESETSTAT")
	do(t, s, "CLIENT", "PAUSE", "100", "ALL") // so that all have asked before the first is answered
	for _, err := range together(t, c, 200, patience) {
		if err != nil {
			t.Fatal(err)
		}
	}
	info, err := s.Info(context.Background(), "commandstats")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	if _, err := fmt.Sscanf(info["cmdstat_function|load"], "calls=%d,", &calls); err != nil {
		t.Fatal(err)
	}
	if calls < 1 || calls > 50 { // latecomers may find it missing and loaded a moment later
		t.Errorf("200 callers loaded it %d times", calls)
	}
}

func TestLoad(t *testing.T) {
	s := start(t)
	for _, resp2 := range []bool{false, true} {
		o := options(t, "redis://"+s.Addr())
		o.AlwaysRESP2 = resp2
		c, err := Dial(within(t, patience), o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		do(t, s, "FUNCTION", "FLUSH")
		for what := range strings.SplitSeq("missing, there", ", ") {
			if err := trial.Load(within(t, patience), c); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		var all sync.WaitGroup
		do(t, s, "FUNCTION", "FLUSH")
		for range 20 {
			all.Go(func() {
				if err := trial.Load(context.Background(), c); err != nil {
					t.Errorf("all at once: %v", err)
				}
			})
		}
		all.Wait()
	}
}

// TestReplaced: somebody has put something else in the place of our library.
func TestReplaced(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	for what, code := range map[string]string{
		"other functions under our name": "#!lua name=hf_trial\nredis.register_function('other', function() return 1 end)\n",
		"our functions, changed":         trial.Code + "\n-- changed\n",
		"our function elsewhere":         "#!lua name=stranger\nredis.register_function('hf_set', function() return 1 end)\n",
	} {
		do(t, s, "FUNCTION", "FLUSH")
		do(t, s, "FUNCTION", "LOAD", code)
		err := trial.Load(within(t, patience), c)
		isRefused(t, what+", Load", err, ErrReplaced)
		if err != nil && !strings.Contains(err.Error(), "FUNCTION DELETE") {
			t.Errorf("%s: it does not say how to mend: %v", what, err)
		}
		if !strings.Contains(code, "hf_get") {
			isRefused(t, what+", Call", call(t, c, "hf_get"), ErrReplaced)
		}
	}
}

// TestLostAgain: a library that vanishes as often as it is loaded is not one that was replaced.
func TestLostAgain(t *testing.T) {
	s := start(t)
	c := dial(t, "redis://"+s.Addr())
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Fatal(err)
	}
	if err := trial.missing(within(t, patience), c, nil); !errors.Is(err, ErrTemporary) || driver.Answered(err) {
		t.Errorf("ours is there: %v", err)
	}
	do(t, s, "FUNCTION", "FLUSH")
	if err := trial.missing(within(t, patience), c, nil); !errors.Is(err, ErrTemporary) || driver.Answered(err) {
		t.Errorf("none is there: %v", err)
	}
}

// TestLoadForbidden: an administrator has loaded the library, and its user may only call it.
func TestLoadForbidden(t *testing.T) {
	s := start(t, servers.RedisUsers("default off", "app on >"+canary+" ~* &* +@all -function", "admin on >x ~* &* +@all"))
	c := dial(t, "redis://app:"+canary+"@"+s.Addr())
	err := call(t, c, "hf_get")
	isRefused(t, "not loaded", err, ErrPermission)
	if err != nil && (!strings.Contains(err.Error(), "administrator") || !strings.Contains(err.Error(), trial.Name)) {
		t.Errorf("it does not say what to do: %v", err)
	}
	if err := trial.Load(within(t, patience), c); err != nil {
		t.Errorf("Load without the right: %v", err)
	}
	if err := trial.Load(within(t, patience), dial(t, "redis://admin:x@"+s.Addr())); err != nil {
		t.Fatal(err)
	}
	if err := call(t, c, "hf_get"); err != nil {
		t.Errorf("loaded by an administrator: %v", err)
	}
}

// TestLoaderLeaves: whoever loads gives up, and those who waited for it load themselves.
func TestLoaderLeaves(t *testing.T) {
	c := dial(t, "redis://"+start(t).Addr())
	l := &Library{Name: trial.Name, Code: trial.Code, loading: map[rueidis.Client]chan struct{}{}}
	done := make(chan struct{})
	l.loading[c] = done
	ctx, cancel := context.WithCancel(context.Background())
	cancelled, waited := make(chan error, 1), make(chan error, 1)
	go func() { _, err := l.Call(ctx, c, "hf_get", []string{"x"}, nil); cancelled <- err }()
	go func() { _, err := l.Call(context.Background(), c, "hf_get", []string{"x"}, nil); waited <- err }()
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) || driver.Answered(err) {
		t.Errorf("cancelled while it waited: %v", err)
	}
	l.mu.Lock()
	delete(l.loading, c)
	l.mu.Unlock()
	close(done)
	if err := <-waited; err != nil {
		t.Errorf("the loader gave up: %v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	c := dial(b, "redis://"+start(b).Addr())
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					keys, args := []string{fmt.Sprint(i)}, []string{"value"}
					for range (b.N + n - 1) / n {
						if _, err := trial.Call(ctx, c, "hf_set", keys, args); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}
