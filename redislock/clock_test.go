package redislock_test

import (
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// TTLs are by the server's wall clock, and tokens begin with it. These tests let it jump by a minute: see docs/stores/redis.md for what
// that means to those who run it.

func step(t testing.TB, server *servers.Redis, d time.Duration) {
	t.Helper()
	if err := server.StepClock(d); err != nil {
		t.Fatal(err)
	}
}

// The clock jumps ahead while a lock is held: the hold has run out, by the server's clock. Its holder is told at its next renewal, and
// whoever waits is served at his next question at the latest.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	a, b := watch(t, server.Addr(), "0"), watch(t, server.Addr(), "0")
	hold := a.lock("first", nil).granted(t)
	second := b.lock("second", hold)
	until(t, "the second waits", func() bool { return shown(t, a.store, "lock") == "first <- second" })
	since := time.Now()
	step(t, server, time.Minute)
	toldOfLoss(t, hold)
	next := second.granted(t)
	if took := time.Since(since); took > checks+slow {
		t.Errorf("served %v after the clock was set", took)
	}
	if next.Token() <= hold.Token() {
		t.Errorf("token %d after %d", next.Token(), hold.Token())
	}

	// From here on nothing is unusual: the new hold is renewed, and handed over.
	third := a.lock("third", next)
	until(t, "the third waits", func() bool { return shown(t, a.store, "lock") == "second <- third" })
	b.renewed(t, 2)
	if err := next.Unlock(); err != nil {
		t.Errorf("unlocking: %v", err)
	}
	if last := third.granted(t); last.Token() <= next.Token() || third.beside {
		t.Errorf("token %d after %d, beside it: %t", last.Token(), next.Token(), third.beside)
	}
}

// The clock jumps back while a lock is held: the hold lives on, and is renewed and handed over as usual. Nobody is told of more time
// than he asked for.
func TestClockBack(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	a, b := watch(t, server.Addr(), "0"), watch(t, server.Addr(), "0")
	hold := a.lock("first", nil).granted(t)
	second := b.lock("second", hold)
	until(t, "the second waits", func() bool { return shown(t, a.store, "lock") == "first <- second" })
	step(t, server, -time.Minute)
	a.renewed(t, 2)
	if left := hold.Left(); left > lockTTL {
		t.Errorf("%v left of a TTL of %v", left, lockTTL)
	}
	since := time.Now()
	if err := hold.Unlock(); err != nil {
		t.Errorf("unlocking: %v", err)
	}
	next := second.granted(t)
	if took := time.Since(since); took > slow {
		t.Errorf("served %v after the release", took)
	}
	if next.Token() <= hold.Token() || second.beside {
		t.Errorf("token %d after %d, beside it: %t", next.Token(), hold.Token(), second.beside)
	}
	b.renewed(t, 2)
	if err := next.Unlock(); err != nil {
		t.Errorf("unlocking: %v", err)
	}
}

// What the driver says after the clock was set back: never more than was asked for, by whatever call.
func TestClockBackPromises(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	s := dial(t, server.Addr(), "guard=0")
	r := ask("lock", "holder", lockTTL)
	grant := take(t, s, r)
	step(t, server, -time.Minute)
	for _, ttl := range []time.Duration{0, lockTTL / 3, lockTTL} {
		if holds, err := grant.Lease.Renew(t.Context(), ttl); err != nil || holds <= 0 || holds > lockTTL {
			t.Errorf("renewed for %v: %v, %v", ttl, holds, err)
		}
	}
	if again := take(t, s, r); again.TTL > lockTTL || again.Token != grant.Token {
		t.Errorf("asked for again: %v with token %d, after %d", again.TTL, again.Token, grant.Token)
	}
	release(t, s, r)

	// A token that is ahead of the clock is remembered with its name until the clock has caught up, and no longer.
	if left := command(t, server, "PTTL", "holdfast:lock:{lock}").(int64); left > 62_000 {
		t.Errorf("the key of a free lock stays for %d ms", left)
	}
	if g := take(t, s, ask("another", "another", lockTTL)); g.TTL > lockTTL {
		t.Errorf("a lock that nobody had is granted for %v", g.TTL)
	}
}

// Tokens rise whatever the clock does while the server runs.
func TestClockTokens(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	s := dial(t, server.Addr(), "guard=0")
	var last uint64
	for _, by := range []time.Duration{0, time.Minute, -time.Minute, -time.Minute, time.Minute, -time.Hour, time.Hour} {
		step(t, server, by)
		for range 3 {
			r := ask("lock", "holder", lockTTL)
			token := take(t, s, r).Token
			if token <= last {
				t.Errorf("after a step by %v: token %d after %d", by, token, last)
			}
			last = token
			release(t, s, r)
		}
	}
}

// A restart during which the clock is set back: with persistence tokens rise whatever the step is, and without it if the step is less than
// the guard. Otherwise nobody can know what was given before, and Guarantees says so.
func TestClockBackDuringARestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []servers.RedisOption
		guard   string
		back    time.Duration
	}{
		{"AOF", persistent, "0", time.Minute},
		{"AOF, guarded", persistent, "1s", time.Minute},
		{"nothing on disk, guarded", nil, "1s", 700 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t, append([]servers.RedisOption{servers.RedisClock()}, c.options...)...)
			s := dial(t, server.Addr(), "guard="+c.guard)
			r := ask("lock", "holder", time.Second)
			before := insist(t, s, r)
			release(t, s, r)
			server.Kill()
			step(t, server, -c.back)
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if after := insist(t, s, ask("lock", "holder", time.Second)); after.Token <= before.Token {
				t.Errorf("token %d after %d", after.Token, before.Token)
			}
		})
	}
}

// insist asks until there is an answer, as the core does.
func insist(t testing.TB, s driver.Store, r *driver.Request) (grant *driver.Grant) {
	t.Helper()
	until(t, "an answer", func() bool {
		var err error
		if grant, err = s.Acquire(t.Context(), r); driver.Answered(err) {
			t.Fatalf("%q is not served: %v", r.Label, err)
		}
		return err == nil
	})
	return grant
}
