package redislock_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// The clock is set back, and a holder dies: it is waited for until its TTL is over, and not until the clock has caught up.
func TestClockBackDeadHolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		renewed bool
	}{{"after its last renewal", false}, {"before its last renewal", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t, servers.RedisClock())
			a, b := dial(t, server.Addr(), "guard=0"), dial(t, server.Addr(), "guard=0")
			r := ask("lock", "dead", lockTTL)
			grant := take(t, a, r)
			step(t, server, -time.Minute)
			last := a.Clock().Now()
			if c.renewed {
				if _, err := grant.Lease.Renew(t.Context(), lockTTL); err != nil {
					t.Fatal(err)
				}
			}
			next := queue(t, b, ask("lock", "next", lockTTL))
			if token := next.served().Token; token <= grant.Token {
				t.Errorf("token %d after %d", token, grant.Token)
			}
			took := next.granted.Sub(last)
			if c.renewed && took < lockTTL-driver.Margin(lockTTL) {
				t.Errorf("served %v after the renewal", took)
			}
			if early := next.granted.Sub(grant.Asked); early < lockTTL-driver.Margin(lockTTL) {
				t.Errorf("served %v after the grant", early)
			}
			if took > lockTTL+checks+slow {
				t.Errorf("served %v after the holder was heard of last", took)
			}
		})
	}
}

// The same, and then the server forgets what it knew about the clock: the holder's own record tells that it was set back. A grant that is
// later than now does; and where it is of long ago, an end that is further away than any TTL.
func TestClockBackDeadHolderForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		old    bool // it was granted long ago, and renewed since
		queued bool
	}{{"fresh", false, false}, {"fresh, with a queue", false, true}, {"old", true, false}, {"old, with a queue", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t, servers.RedisClock())
			params := "guard=" + lockTTL.String()
			a, b := dial(t, server.Addr(), params), dial(t, server.Addr(), params)
			before := begin(t, a, ask("before", "before", lockTTL)) // it gets it when the guard has passed
			before.served()
			release(t, a, before.r)
			grant := begin(t, a, ask("lock", "dead", lockTTL)).served()
			if c.old {
				const key, granted = "holdfast:lock:{lock}", 48 + 8 // behind the attempt and the token
				record := []byte(command(t, server, "GET", key).(string))
				at := math.Float64frombits(binary.LittleEndian.Uint64(record[granted:]))
				binary.LittleEndian.PutUint64(record[granted:], math.Float64bits(at-10*60*1e6))
				command(t, server, "SET", key, string(record), "KEEPTTL")
			}
			var first *waiter
			if c.queued {
				first = queue(t, b, ask("lock", "first", lockTTL))
			}
			last := a.Clock().Now()
			step(t, server, -time.Minute)
			command(t, server, "FUNCTION", "FLUSH")
			next := begin(t, b, ask("lock", "next", lockTTL))
			if first != nil {
				first.served()
				release(t, b, first.r)
			}
			if token := next.served().Token; token <= grant.Token {
				t.Errorf("token %d after %d", token, grant.Token)
			}
			if took := next.granted.Sub(last); took > lockTTL+checks+slow {
				t.Errorf("served %v after the holder was heard of last", took)
			}
		})
	}
}

// A client lets a grant lapse, and the clock is set back. Whoever of that client is heard of afterwards lives, and is served in turn.
func TestClockBackAfterALapse(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	messages := newGap(t, server.Addr())
	const params = "guard=0&claim=100ms"
	direct, deaf := dial(t, server.Addr(), params), dial(t, messages.addr(), params)
	holder := ask("lock", "holder", time.Minute)
	take(t, direct, holder)
	queue(t, deaf, ask("lock", "lapsing", time.Minute))
	other := queue(t, direct, ask("lock", "other", time.Minute))
	messages.lose(aGrant)
	release(t, direct, holder)
	other.served()
	messages.lose(func(string) bool { return false })
	step(t, server, -time.Minute)

	queue(t, deaf, ask("lock", "alive", time.Minute))
	if all := waiters(t, direct, "lock"); len(all) == 0 || all[len(all)-1] != "alive" {
		t.Errorf("who has just been heard of is not in the queue: %v", all)
	}
}

// The clock jumps ahead while a long hold goes on: to the server all who wait have not been heard of for long, and the next release finds
// nobody. They ask again by themselves within a few seconds.
func TestClockAheadWaiters(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	s := dial(t, server.Addr(), "guard=0")
	holder := ask("lock", "holder", 10*time.Minute)
	token := take(t, s, holder).Token
	all := []*waiter{queue(t, s, ask("lock", "second", lockTTL)), queue(t, s, ask("lock", "third", lockTTL))}
	step(t, server, time.Minute)
	if now := shown(t, s, "lock"); now != "holder <- " {
		t.Errorf("after the clock was set: %s", now)
	}
	since := s.Clock().Now()
	release(t, s, holder)
	for len(all) > 0 {
		var w *waiter
		w, all = anyServed(t, all)
		if took := w.granted.Sub(since); took > checks+slow {
			t.Errorf("%q is served after %v", w.r.Label, took)
		}
		if w.grant.Token <= token {
			t.Errorf("token %d after %d", w.grant.Token, token)
		}
		token, since = w.grant.Token, s.Clock().Now()
		release(t, s, w.r)
	}
}

// The clock jumps ahead while the guard is on: no call proves more than a second of it to have passed.
func TestClockAheadInTheGuard(t *testing.T) {
	t.Parallel()
	const guard = 5 * time.Second
	server := startRedis(t, servers.RedisClock())
	s := dial(t, server.Addr(), "guard=5s")
	r := ask("lock", "early", time.Second)
	r.NoWait = true
	before := s.Clock().Now()
	if _, err := s.Acquire(t.Context(), r); !errors.As(err, new(*driver.Guarded)) {
		t.Fatalf("on a server that was started just now: %v", err)
	}
	step(t, server, time.Minute)
	insist(t, s, ask("lock", "next", time.Second))
	if took := s.Clock().Now().Sub(before); took < guard-time.Second-driver.Margin(guard) {
		t.Errorf("granted %v after the server was first asked", took)
	}
}
