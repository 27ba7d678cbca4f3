package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// Without a guard a call is answered at once. Its keys and arguments arrive as they are.
func TestCall(t *testing.T) {
	t.Parallel()
	s := join(t, start(t).Addr(), guarded(0))
	st := opened(t, s)
	r, err := s.Call(within(t), st, fnGive, []string{"thing", storeKey, "more"}, []string{"1000", "an argument"}, nil)
	if err != nil || r.Says != "G" || r.Number(0) < 1<<50 {
		t.Fatalf("%+v, %v", r, err)
	}
	if echo := r.Array(1); echo.Text(0) != "thing" || echo.Text(1) != "more" || echo.Text(2) != "an argument" || echo.Text(3) != "" {
		t.Errorf("it has got %v", echo)
	}
	if !s.Served() || r.Array(2).Rest != nil || r.Number(2) != 0 {
		t.Error("there is more behind the answer, or it was not noted that there was one")
	}
}

// A send of the caller's own is used, with the store as it is now.
func TestOwnSend(t *testing.T) {
	t.Parallel()
	s := join(t, start(t).Addr(), guarded(0))
	st := opened(t, s)
	sent := 0
	r, err := s.Call(within(t), st, fnGive, nil, nil, func(ctx context.Context, at *guard.Opened) (rueidis.RedisMessage, error) {
		sent++
		return s.Do(ctx, fnGive, []string{"thing", storeKey}, []string{at.ID, "1000"})
	})
	if err != nil || r.Says != "G" || sent != 1 {
		t.Errorf("%+v, %v, sent %d times", r, err, sent)
	}
}

// Race "two guards": the store was set up anew. Who is not bound is served by the new one; who is, only if the guard is the same.
func TestReopened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, function string
		second         time.Duration
		want           string
	}{
		{"the same guard", fnGive, 0, "G"},
		{"another guard, bound", fnGive, time.Minute, guard.SaysBound},
		{"another guard, not bound", fnGives, time.Minute, guard.SaysGuarded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			opened(t, join(t, server.Addr(), guarded(0)))
			s := join(t, server.Addr(), nil)
			st := opened(t, s)
			says(t, s, st, fnGive, "G")
			do(t, server, "DEL", storeKey)
			opened(t, join(t, server.Addr(), guarded(c.second)))
			var r guard.Reply
			until(t, "the old one is forgotten", func() bool { // the library looks at the key every 100 ms
				var err error
				if r, err = ask(t, s, st, c.function, time.Second); err != nil {
					t.Fatal(err)
				}
				return s.State() != st
			})
			if r.Says != c.want {
				t.Errorf("it says %q, not %q", r.Says, c.want)
			}
			if now := s.State(); now == nil || now.ID == st.ID || now.Guard != c.second {
				t.Errorf("it was opened as %+v, and is now %+v", st, now)
			}
		})
	}
}

// Rules 2 to 4: a server that has forgotten everything gives nothing for the guard, and then greater tokens than before.
func TestGuarded(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := join(t, server.Addr(), guarded(500*time.Millisecond))
	given := func() (r guard.Reply) {
		until(t, "something is given", func() bool {
			st, err := s.Opened(within(t))
			if err == nil {
				r, err = ask(t, s, st, fnGives, 100*time.Millisecond)
			}
			if err != nil && driver.Answered(err) {
				t.Fatal(err)
			}
			return err == nil && r.Says == "G"
		})
		return r
	}
	before := given()
	server.Kill()
	dead := time.Now()
	if err := server.Restart(within(t)); err != nil {
		t.Fatal(err)
	}
	guards := false
	until(t, "it answers again", func() bool {
		r, err := ask(t, s, opened(t, s), fnGives, 100*time.Millisecond)
		guards = err == nil && r.Says == guard.SaysGuarded && r.Span(0) <= 500*time.Millisecond
		return err == nil
	})
	if !guards {
		t.Error("the first answer after the restart is not that it is guarded")
	}
	if why := s.Reason(within(t)); !strings.HasPrefix(why, "this Redis started") {
		t.Errorf("the reason is %q", why)
	}
	after := given()
	if since := time.Since(dead); since < 500*time.Millisecond {
		t.Errorf("given after %v", since)
	}
	if after.Number(0) <= before.Number(0) {
		t.Errorf("the token %d follows %d", after.Number(0), before.Number(0))
	}
}

// An answer that no function of ours gives is no answer.
func TestStrange(t *testing.T) {
	t.Parallel()
	s := join(t, start(t).Addr(), guarded(0))
	r, err := ask(t, s, opened(t, s), fnAlone, time.Second)
	if err == nil || driver.Answered(err) || !strings.Contains(err.Error(), fnAlone) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestUnsent(t *testing.T) {
	err := fmt.Errorf("so: %w", &guard.Unsent{Err: context.Canceled})
	if !errors.Is(err, context.Canceled) || err.Error() != "so: "+context.Canceled.Error() {
		t.Error(err)
	}
}

// A single server promises to survive a restart if it has a guard, and says what is missing if it has none.
func TestPromise(t *testing.T) {
	t.Parallel()
	g, err := join(t, start(t).Addr(), nil).Promise(within(t))
	if err != nil || g.Fencing != driver.FencingDurable || !g.SurvivesRestart || !g.SurvivesFailover || g.MaxTTL != guard.DefaultGuard || len(g.Missing) > 0 {
		t.Errorf("%+v, %v", g, err)
	}
	g, err = join(t, start(t).Addr(), guarded(0)).Promise(within(t))
	if err != nil || g.Fencing != driver.FencingVolatile || g.SurvivesRestart || g.SurvivesFailover || g.MaxTTL != guard.MaxTTL || len(g.Missing) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
	if g.FIFO || g.Shared || g.Permits || g.Keep || g.Reserve {
		t.Errorf("it promises what it does not know: %+v", g)
	}
}
