package guard_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// patience bounds what must happen but may take its time on a busy machine.
const patience = 30 * time.Second

// give is the least that a library can have of its own: it gives tokens, for a time.
const give = `
local function give()
  local now = clock()
  local st = enter(now)
  if not st then
    return {'S'}
  end
  local reply = unproved(st, now)
  if reply then
    return reply
  elseif st.left > 0 then
    return {'U', st.left}
  elseif ARGV[2] + 0 > longest(st) then
    return {'X'}
  end
  last = math.max(last + 1, now)
  if last > st.ceiling then
    raise_ceiling(st, now)
  end
  return {'G', last, {KEYS[1], KEYS[3] or '', ARGV[3] or ''}}
end

register('give', give, {})
register('gives', give, {})
register('alone', function() return 5 end, {})
`

const (
	storeKey = "test:store"
	fnGive   = "test_1_give"
	fnGives  = "test_1_gives" // the same, and not bound
	fnAlone  = "test_1_alone"
)

func start(t testing.TB, options ...servers.RedisOption) *servers.Redis {
	t.Helper()
	s, err := servers.StartRedis(within(t), options...)
	servers.Need(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// do runs a command as somebody who may do everything.
func do(t testing.TB, s *servers.Redis, args ...string) any {
	t.Helper()
	answer, err := s.Do(within(t), args...)
	if err != nil {
		t.Fatalf("%s: %v", args[0], err)
	}
	return answer
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func dial(t testing.TB, address string) rueidis.Client {
	t.Helper()
	u, err := driver.ParseURL("redis://" + address)
	if err != nil {
		t.Fatal(err)
	}
	target, err := redisconn.Options(u)
	if err != nil {
		t.Fatal(err)
	}
	c, err := redisconn.Dial(within(t), target)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// join is a client of the store at a server. edit, if it is not nil, changes its settings.
func join(t testing.TB, address string, edit func(*guard.Config)) *guard.Store {
	t.Helper()
	c := guard.Config{Client: dial(t, address), Owned: true, Library: guard.NewLibrary("test_1", give), Key: storeKey, Text: "the store", Bound: []string{fnGive}}
	if edit != nil {
		edit(&c)
	}
	s := guard.New(c)
	t.Cleanup(s.Close)
	return s
}

// guarded asks for a guard.
func guarded(d time.Duration) func(*guard.Config) {
	return func(c *guard.Config) { c.Guard = &d }
}

// listed has a list.
func listed(text string) func(*guard.Config) {
	return func(c *guard.Config) { c.List = text }
}

func opened(t testing.TB, s *guard.Store) *guard.Opened {
	t.Helper()
	st, err := s.Opened(within(t))
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return st
}

// ask calls a function that gives, for a time.
func ask(t testing.TB, s *guard.Store, st *guard.Opened, function string, ttl time.Duration) (guard.Reply, error) {
	t.Helper()
	return s.Call(within(t), st, function, []string{"thing", storeKey}, []string{guard.Micros(ttl)}, nil)
}

// says asks, and wants an answer.
func says(t testing.TB, s *guard.Store, st *guard.Opened, function, want string) guard.Reply {
	t.Helper()
	r, err := ask(t, s, st, function, time.Second)
	if err != nil || r.Says != want {
		t.Fatalf("%s: it says %q, %v; %q was expected", function, r.Says, err, want)
	}
	return r
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); driver.Sleep(context.Background(), 10*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}
