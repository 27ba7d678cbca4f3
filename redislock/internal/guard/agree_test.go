package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// Rule 1: the first client decides, the others take it over, and who asks for something else is refused.
func TestClientsAgree(t *testing.T) {
	t.Parallel()
	server := start(t)
	first := opened(t, join(t, server.Addr(), guarded(7*time.Second)))
	if first.ID == "" || first.Guard != 7*time.Second || first.MaxTTL() != 7*time.Second || first.Fence() != 0 {
		t.Errorf("it was opened as %+v", first)
	}
	if second := opened(t, join(t, server.Addr(), nil)); *second != *first {
		t.Errorf("opened as %+v, and by another as %+v", first, second)
	}
	other := join(t, server.Addr(), guarded(8*time.Second))
	_, err := other.Opened(within(t))
	var wrong *guard.GuardError
	if !errors.As(err, &wrong) || !driver.Answered(err) || wrong.Asked != 8*time.Second || wrong.Found != 7*time.Second || wrong.Key != storeKey {
		t.Errorf("another guard is asked for: %v", err)
	}
	if other.State() != nil {
		t.Error("it is open all the same")
	}
	do(t, server, "HSET", storeKey, "format", "2")
	if _, err := join(t, server.Addr(), nil).Opened(within(t)); !errors.Is(err, guard.ErrFormat) || !driver.Answered(err) {
		t.Errorf("another format: %v", err)
	}
}

func TestDefaultGuard(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := join(t, server.Addr(), nil)
	if st := opened(t, s); st.Guard != guard.DefaultGuard || st.List != "" || s.DefaultTTL() != 0 {
		t.Errorf("it was opened as %+v; the default TTL is %v", st, s.DefaultTTL())
	}
	if fields := fmt.Sprint(do(t, server, "HKEYS", storeKey)); strings.Contains(fields, "list") {
		t.Errorf("nobody has a list, and the key has %s", fields)
	}
}

// A guard that is shorter than the core's default TTL is one, whether it was opened or will be.
func TestDefaultTTL(t *testing.T) {
	t.Parallel()
	s := join(t, start(t).Addr(), guarded(3*time.Second))
	if d := s.DefaultTTL(); d != 3*time.Second {
		t.Errorf("%v, before it is opened", d)
	}
	opened(t, s)
	if d := s.DefaultTTL(); d != 3*time.Second {
		t.Errorf("%v, once it is open", d)
	}
}

func TestTTL(t *testing.T) {
	for _, c := range []struct {
		st         guard.Opened
		wish, want time.Duration
	}{
		{guard.Opened{Guard: time.Minute}, time.Second, time.Second},
		{guard.Opened{Guard: time.Minute}, time.Hour, time.Minute},
		{guard.Opened{Guard: time.Minute, Contact: guard.Contact{Lag: 2 * time.Second}}, time.Hour, 56 * time.Second},
		{guard.Opened{Guard: time.Minute}, 1, guard.MinTTL},
		{guard.Opened{}, 100 * time.Hour, guard.MaxTTL},
	} {
		if got := c.st.TTL(c.wish); got != c.want {
			t.Errorf("of %+v the TTL is %v for %v; it should be %v", c.st, got, c.wish, c.want)
		}
	}
}

func TestCheckGuard(t *testing.T) {
	for d, fine := range map[time.Duration]bool{0: true, guard.MinGuard: true, guard.MaxTTL: true, guard.MinGuard - 1: false, guard.MaxTTL + 1: false, -1: false} {
		if err := guard.CheckGuard(d); (err == nil) != fine {
			t.Errorf("%v: %v", d, err)
		}
	}
}

// The first who has a list decides, though the store was there before; who has none takes what is there.
func TestList(t *testing.T) {
	t.Parallel()
	server := start(t)
	without := join(t, server.Addr(), nil)
	opened(t, without)
	if st := opened(t, join(t, server.Addr(), listed("a b"))); st.List != "a b" {
		t.Errorf("it was opened with the list %q", st.List)
	}
	if st := opened(t, join(t, server.Addr(), nil)); st.List != "a b" {
		t.Errorf("one without a list finds %q", st.List)
	}
	opened(t, join(t, server.Addr(), listed("a b")))
	_, err := join(t, server.Addr(), listed("a c")).Opened(within(t))
	var wrong *guard.ListError
	if !errors.As(err, &wrong) || !driver.Answered(err) || wrong.Asked != "a c" || wrong.Found != "a b" || !strings.Contains(err.Error(), storeKey) {
		t.Errorf("another list is asked for: %v", err)
	}
	// Two who find no list both write theirs: the second finds the first's.
	answer, err := without.Do(within(t), "test_1_open", []string{storeKey}, []string{"id", "0", "0", "0", "a d"})
	if all, _ := answer.ToArray(); err != nil || (guard.Reply{Rest: all}).Text(6) != "a b" {
		t.Errorf("open with another list: %v, %v", answer, err)
	}
	if kept := do(t, server, "HGET", storeKey, "list"); kept != "a b" {
		t.Errorf("the list is %q now", kept)
	}
}

// A flush takes the list with the rest of the store's key: the library writes both again.
func TestListSurvivesFlush(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := join(t, server.Addr(), listed("a b"))
	st := opened(t, s)
	says(t, s, st, fnGive, "U")
	do(t, server, "FLUSHALL")
	says(t, s, st, fnGive, "U")
	if kept := do(t, server, "HMGET", storeKey, "id", "list"); fmt.Sprint(kept) != fmt.Sprintf("[%s a b]", st.ID) {
		t.Errorf("the key says %v; the store is %s", kept, st.ID)
	}
}

// Ready is called by every opening, and what it says counts. Only one that succeeded ends the first time.
func TestReady(t *testing.T) {
	t.Parallel()
	server := start(t)
	var firsts []bool
	fault := errors.New("not ready")
	s := join(t, server.Addr(), func(c *guard.Config) {
		c.Ready = func(_ context.Context, first bool) error {
			firsts = append(firsts, first)
			return fault
		}
	})
	if _, err := s.Opened(within(t)); !errors.Is(err, fault) || s.State() != nil {
		t.Errorf("it was opened, or: %v", err)
	}
	fault = nil
	st := opened(t, s)
	opened(t, s)
	s.Forget(guard.Opened{ID: "another"})
	if s.State() != st {
		t.Error("another one was to be forgotten")
	}
	s.Forget(*st)
	opened(t, s)
	if fmt.Sprint(firsts) != "[true true false]" {
		t.Errorf("Ready was called with %v", firsts)
	}
}

func TestWrongOptionsOpenNothing(t *testing.T) {
	t.Parallel()
	server := start(t)
	fault := errors.New("wrong")
	if _, err := join(t, server.Addr(), func(c *guard.Config) { c.Wrong = fault }).Opened(within(t)); !errors.Is(err, fault) {
		t.Errorf("opened, or: %v", err)
	}
	if n := do(t, server, "DBSIZE"); fmt.Sprint(n) != "0" {
		t.Errorf("the server has %v keys", n)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := join(t, start(t).Addr(), nil)
	st := opened(t, s)
	s.Close()
	s.Close()
	if err := s.Usable(within(t)); !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "the store") {
		t.Errorf("usable: %v", err)
	}
	if _, err := ask(t, s, st, fnGive, time.Second); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Call: %v", err)
	}
	s.Forget(*st)
	if _, err := s.Opened(within(t)); !errors.Is(err, driver.ErrClosed) || s.Life().Err() == nil {
		t.Errorf("opened, or: %v", err)
	}
}
