package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// canary is a password. It must not be seen anywhere.
const canary = "canary-5c1f"

// inTime is a context for what must answer by itself: a hang fails the test.
func inTime(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// openLocks opens a store as programs do.
func openLocks(t testing.TB, url string, opts ...holdfast.OpenOption) *holdfast.Client {
	t.Helper()
	locks, err := holdfast.Open(inTime(t), url, opts...)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { locks.Close() })
	return locks
}

// refused fails the test unless err is a *holdfast.StoreError, is kind, says all words, ends no context, and has no secret. A final one is
// a *driver.Refused: the server's decision, so that nobody asks again.
func refused(t testing.TB, err, kind error, final bool, words ...string) {
	t.Helper()
	var store *holdfast.StoreError
	var decision *driver.Refused
	switch {
	case err == nil:
		t.Errorf("no error, want one that is %q", kind)
		return
	case !errors.As(err, &store), !errors.Is(err, kind), final != errors.As(err, &decision), errors.Is(err, context.DeadlineExceeded):
		t.Errorf("%T %v: want a *StoreError that is %q, refused: %v, and no time-out", err, err, kind, final)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	secretless(t, err)
}

func secretless(t testing.TB, err error) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(format, err); strings.Contains(text, canary) {
			t.Errorf("%s shows the password", format)
		}
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(fmt.Sprintf("%+v", err), canary) {
			t.Errorf("%T shows the password", err)
		}
	}
}

// What a server does not serve at all is told by Open: by its type, and with the next step.
func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	plain := startRedis(t, servers.RedisPassword(canary))
	for _, c := range []struct {
		name  string
		url   func(t *testing.T) string
		kind  error
		final bool
		words []string
	}{
		{"a wrong password", func(t *testing.T) string { return "redis://:" + canary + "x@" + plain.Addr() }, redislock.ErrAuth, true, []string{"correct"}},
		{"no password", func(t *testing.T) string { return "redis://" + plain.Addr() }, redislock.ErrAuth, true, []string{"redis://:password@"}},
		{"an unknown user", func(t *testing.T) string { return "redis://nobody:" + canary + "@" + plain.Addr() }, redislock.ErrAuth, true, nil},
		{"a wrong database", func(t *testing.T) string { return "redis://:" + canary + "@" + plain.Addr() + "/99" }, redislock.ErrDatabase, true, []string{"/0"}},
		{"TLS to a plain port", func(t *testing.T) string { return "rediss://:" + canary + "@" + plain.Addr() }, redislock.ErrProtocol, false, []string{"use redis://"}},
		{"a replica", func(t *testing.T) string {
			return "redis://:" + canary + "@" + startRedis(t, servers.RedisReplicaOf(plain), servers.RedisPassword(canary)).Addr()
		}, redislock.ErrReadOnly, true, []string{"primary"}},
		{"no functions", func(t *testing.T) string {
			return "redis://" + startRedis(t, servers.RedisRename("FUNCTION", ""), servers.RedisRename("FCALL", "")).Addr()
		}, redislock.ErrFunctions, true, []string{"7.0", "redlock://", "redlock://"}},
		{"FCALL forbidden", func(t *testing.T) string { return "redis://" + startRedis(t, servers.RedisRename("FCALL", "")).Addr() },
			redislock.ErrFunctions, true, []string{"7.0", "redlock://", "redlock://"}},
		{"a user without rights", func(t *testing.T) string {
			return "redis://app:" + canary + "@" + startRedis(t, servers.RedisUsers("default off", "app on >"+canary+" ~* &* +@connection")).Addr()
		}, redislock.ErrPermission, true, []string{"ACL"}},
		{"a user of other keys", func(t *testing.T) string {
			return "redis://app:" + canary + "@" + startRedis(t, servers.RedisUsers("default off", "app on >"+canary+" ~app:* &* +@all")).Addr()
		}, redislock.ErrPermission, true, []string{"keys"}},
		{"a user of other channels", func(t *testing.T) string {
			return "redis://app:" + canary + "@" + startRedis(t, servers.RedisUsers("default off", "app on >"+canary+" ~* resetchannels &app:* +@all")).Addr()
		}, redislock.ErrPermission, true, []string{"channels"}},
		{"a library of our name", func(t *testing.T) string {
			s := startRedis(t)
			command(t, s, "FUNCTION", "LOAD", "#!lua name=holdfast_1\nredis.register_function('mine', function() return 1 end)")
			return "redis://" + s.Addr()
		}, redislock.ErrReplaced, true, []string{"FUNCTION DELETE"}},
		{"our function in another library", func(t *testing.T) string {
			s := startRedis(t)
			command(t, s, "FUNCTION", "LOAD", "#!lua name=theirs\nredis.register_function('holdfast_1_renew', function() return 1 end)")
			return "redis://" + s.Addr()
		}, redislock.ErrReplaced, true, []string{"FUNCTION DELETE"}},
		{"something else at the store's key", func(t *testing.T) string {
			s := startRedis(t)
			command(t, s, "SET", "holdfast:store", canary)
			return "redis://" + s.Addr()
		}, redislock.ErrKeyType, true, []string{"prefix"}},
		{"a store of another format", func(t *testing.T) string {
			s := startRedis(t)
			command(t, s, "HSET", "holdfast:store", "id", "x", "format", "2", "guard", "0")
			return "redis://" + s.Addr()
		}, redislock.ErrFormat, true, []string{"holdfast:store", "another prefix"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := holdfast.Open(inTime(t), c.url(t))
			refused(t, err, c.kind, c.final, c.words...)
		})
	}
}

// TLS to a server that does not speak it, and none to one that does, must not wait for ever.
func TestPlainToTLS(t *testing.T) {
	t.Parallel()
	s := startRedis(t, servers.RedisTLS(servers.Flawless))
	_, err := holdfast.Open(inTime(t), "redis://:"+canary+"@"+s.Addr())
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without TLS: %v", err)
	}
	secretless(t, err)
	openLocks(t, "rediss://"+s.Addr()+"?guard=0&ca="+s.Certificates.CA)
}

// Parameters that nobody could use are told before anything is sent.
func TestBadParameters(t *testing.T) {
	nobody := "redis://user:" + canary + "@127.0.0.1:1?"
	for params, words := range map[string][]string{
		"gaurd=30s":                         {"gaurd", "guard"}, // what is known is listed
		"ttl=10":                            {"ttl", "10s"},
		"ttl=":                              {"ttl"},
		"ttl=10s&ttl=20s":                   {"ttl", "more than once"},
		"ttl=99ms":                          {"ttl", "100ms"},
		"ttl=25h":                           {"ttl", "24h"},
		"ttl=-1s":                           {"ttl", "100ms"},
		"guard=99ms":                        {"guard", "100ms", "0 (off)"},
		"guard=25h":                         {"guard", "24h"},
		"guard=-1s":                         {"guard", "100ms"},
		"guard=off":                         {"guard"},
		"claim=49ms":                        {"claim", "50ms"},
		"claim=31s":                         {"claim", "30s"},
		"prefix=":                           {"prefix", "braces"},
		"prefix=a{b":                        {"prefix", "braces"},
		"prefix=a}b":                        {"prefix", "braces"},
		"prefix=a%20b":                      {"prefix", "spaces"},
		"prefix=" + strings.Repeat("a", 65): {"prefix", "64 bytes"},
		"timeout=soon":                      {"timeout"},
		"ca=/nowhere/ca.pem":                {"ca"},
	} {
		_, err := holdfast.Open(inTime(t), nobody+params)
		var wrong *driver.URLError
		if !errors.Is(err, holdfast.ErrURL) || !errors.As(err, &wrong) || wrong.Param != strings.SplitN(params, "=", 2)[0] {
			t.Errorf("%s: %v, want a *URLError for that parameter", params, err)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", params, err, word)
			}
		}
		secretless(t, err)
	}
}

// All clients of a store must have the same guard: one that asks for another is refused, and told both.
func TestAnotherGuard(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	openLocks(t, "redis://"+s.Addr()+"?guard=20s")
	_, err := holdfast.Open(inTime(t), "redis://"+s.Addr()+"?guard=40s")
	var guard *redislock.GuardError
	if !errors.As(err, &guard) || guard.Asked != 40*time.Second || guard.Found != 20*time.Second || guard.Key != "holdfast:store" {
		t.Errorf("another guard: %#v", err)
	}
	refused(t, err, guard, true, "guard=40s", "guard=20s", "holdfast:store", "leave the parameter out")
	openLocks(t, "redis://"+s.Addr()) // takes what is there
	openLocks(t, "redis://"+s.Addr()+"?guard=40s&prefix=other:")
}

// A TTL that is longer than the guard would not survive a restart: the core refuses it.
func TestTTLAboveTheGuard(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	_, err := holdfast.Open(inTime(t), "redis://"+s.Addr()+"?guard=5s&ttl=6s")
	if !errors.Is(err, holdfast.ErrTTL) || !strings.Contains(err.Error(), "5s") {
		t.Errorf("ttl=6s with guard=5s: %v", err)
	}
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=5s&ttl=5s")
	if g, err := locks.Guarantees(t.Context()); err != nil || g.MaxTTL != 5*time.Second || g.Fencing != driver.FencingDurable {
		t.Errorf("guarantees %+v, %v", g, err)
	}
	_, err = locks.Mutex("a", holdfast.TTL(5*time.Second+time.Millisecond)).TryLock(t.Context())
	if !errors.Is(err, holdfast.ErrTTL) || !strings.Contains(err.Error(), "5s") {
		t.Errorf("TTL above the guard: %v", err)
	}
}

// holdLock locks something, with a TTL that outlives the test.
func holdLock(t *testing.T, locks *holdfast.Client, name string) *holdfast.Hold {
	t.Helper()
	h, err := locks.Mutex(name, holdfast.TTL(time.Hour)).TryLock(inTime(t))
	if err != nil {
		t.Fatalf("Lock %s: %v", name, err)
	}
	return h
}

// A server whose memory is used up grants nothing more; but what is held can be renewed and released.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	held, released := holdLock(t, locks, "held"), holdLock(t, locks, "released")
	waiting := make(chan error, 1)
	command(t, s, "CONFIG", "SET", "maxmemory", "1")
	go func() {
		_, err := locks.Mutex("held").Lock(inTime(t))
		waiting <- err
	}()
	refused(t, <-waiting, redislock.ErrMemory, true, "maxmemory")
	for _, name := range []string{"free", "held"} {
		_, err := locks.Mutex(name).TryLock(inTime(t))
		refused(t, err, redislock.ErrMemory, true, "maxmemory")
	}
	_, err := holdfast.Open(inTime(t), "redis://"+s.Addr()+"?guard=0")
	if err != nil {
		refused(t, err, redislock.ErrMemory, true, "maxmemory")
	}
	if err := held.Extend(inTime(t), 2*time.Hour); err != nil || held.Err() != nil {
		t.Errorf("renewing while the memory is used up: %v, %v", err, held.Err())
	}
	if err := released.Unlock(); err != nil {
		t.Errorf("releasing while the memory is used up: %v", err)
	}
	command(t, s, "CONFIG", "SET", "maxmemory", "0")
	if _, err := locks.Mutex("held").TryLock(inTime(t)); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("what was held is not any more: %v", err)
	}
	holdLock(t, locks, "released").Unlock()
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
	holdLock(t, locks, "held").Unlock()
}

// A server that cannot save refuses every write. Holds stay until their TTL, or until it can be told that they have ended.
func TestCannotPersist(t *testing.T) {
	t.Parallel()
	s := startRedis(t, servers.RedisSet("save", "3600 1"))
	locks := openLocks(t, "redis://"+s.Addr()+"?guard=0")
	held, released := holdLock(t, locks, "held"), holdLock(t, locks, "released")
	// A directory stands where the file would have to be: not even root can save there.
	if err := os.MkdirAll(filepath.Join(s.Dir(), "dump.rdb", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, s, "BGSAVE")
	until(t, "the server has failed to save", func() bool {
		info, err := s.Info(t.Context(), "persistence")
		return err == nil && info["rdb_last_bgsave_status"] == "err"
	})
	_, err := locks.Mutex("free").Lock(inTime(t))
	refused(t, err, redislock.ErrPersistence, true, "disk")
	refused(t, held.Extend(inTime(t), 2*time.Hour), redislock.ErrPersistence, true, "disk")
	if held.Err() != nil || held.Left() < 30*time.Minute {
		t.Errorf("a renewal that is refused ends the hold: %v, %v left", held.Err(), held.Left())
	}
	if err := released.Unlock(); err == nil {
		t.Error("a release that the server refuses succeeds")
	} else {
		secretless(t, err)
	}
	if _, err := locks.Inspect(inTime(t), "held"); err != nil {
		t.Errorf("looking needs no write: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(s.Dir(), "dump.rdb")); err != nil {
		t.Fatal(err)
	}
	command(t, s, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
	if err := held.Unlock(); err != nil {
		t.Errorf("once it can write again: %v", err)
	}
	holdLock(t, locks, "held").Unlock()
	// The release that was refused goes on in the background.
	if err := holdfast.Do(inTime(t), locks.Mutex("released"), func(context.Context) error { return nil }); err != nil {
		t.Errorf("what could not be released then is not free: %v", err)
	}
}
