package redisconn

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	return l.Addr().String()
}

// TestDialEndsWithContext: timeout= is a minute, so that it cannot be what ends it.
func TestDialEndsWithContext(t *testing.T) {
	address := silent(t)
	for _, url := range []string{"redis://" + address + "?timeout=1m", "rediss://" + address + "?timeout=1m"} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		begin, err := time.Now(), error(nil)
		nothingLeft(t, func() { _, err = Dial(ctx, options(t, url)) })
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) {
			t.Errorf("%s: %v", url, err)
		}
		if took := time.Since(begin); took > patience {
			t.Errorf("%s: it took %v", url, took)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Dial(ended, options(t, url)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, ended before: %v", url, err)
		}
	}
}

// TestDialTimeout: nobody's context ends, so that the error must not look like it.
func TestDialTimeout(t *testing.T) {
	err := refuse(t, "redis://"+silent(t)+"?timeout=50ms")
	if errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%T %v", err, err)
	}
}

// TestDialLateSuccess cancels at every stage of connecting: whoever gets an error leaves no connection behind.
func TestDialLateSuccess(t *testing.T) {
	s := start(t, servers.RedisPassword("right"))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	got, failed := 0, 0
	try := func() {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Duration(random.IntN(1500))*time.Microsecond, cancel)
		c, err := Dial(ctx, options(t, "redis://:right@"+s.Addr()))
		if err != nil {
			failed++
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%T %v", err, err)
			}
		} else {
			got++
			c.Close()
		}
		timer.Stop()
		cancel()
	}
	nothingLeft(t, func() {
		for range 100 {
			try()
		}
	})
	t.Logf("%d connected, %d did not", got, failed)
	eventually(t, "the server has no connection of ours", func() bool {
		list, _ := do(t, s, "CLIENT", "LIST").(string)
		return list != "" && !strings.Contains(list, "name=holdfast")
	})
}
