package redisconn

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// patience bounds what must happen but may take its time on a busy machine.
const patience = 30 * time.Second

func start(t testing.TB, options ...servers.RedisOption) *servers.Redis {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := servers.StartRedis(ctx, options...)
	servers.Need(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// do runs a command as somebody who may do everything.
func do(t testing.TB, s *servers.Redis, args ...string) any {
	t.Helper()
	answer, err := s.Do(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s: %v", args[0], err)
	}
	return answer
}

func options(t testing.TB, url string) Target {
	t.Helper()
	u, err := driver.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Options(u)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// dial connects for the time of a test.
func dial(t testing.TB, url string) rueidis.Client {
	t.Helper()
	c, err := Dial(within(t, patience), options(t, url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until f is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for pause, end := time.Millisecond, time.Now().Add(patience); !f(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
		driver.Sleep(context.Background(), pause)
	}
}

// running counts the goroutines in rueidis, and in this package outside of tests.
func running() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		ours := strings.Contains(stack, "redisconn.(*") || strings.Contains(stack, "rueidis.")
		if ours && !strings.Contains(stack, "testing.") {
			n++
		}
	}
	return n
}

var labels atomic.Int64

// nothingLeft runs f, and then waits until no goroutine is left that it has started.
func nothingLeft(t testing.TB, f func()) {
	t.Helper()
	label := fmt.Sprintf("run-%d-", labels.Add(1))
	pprof.Do(context.Background(), pprof.Labels("test", label), func(context.Context) { f() }) // children inherit it
	eventually(t, "nothing is left of it", func() bool {
		var all strings.Builder
		pprof.Lookup("goroutine").WriteTo(&all, 1)
		return !strings.Contains(all.String(), label)
	})
}

// TestMain also checks that nothing is left when every test has closed what it opened.
func TestMain(m *testing.M) {
	code := m.Run()
	for end := time.Now().Add(patience); running() > 0 && code == 0; driver.Sleep(context.Background(), 10*time.Millisecond) {
		if time.Now().After(end) {
			fmt.Println("goroutines were left behind")
			pprof.Lookup("goroutine").WriteTo(os.Stdout, 1)
			code = 1
		}
	}
	os.Exit(code)
}
