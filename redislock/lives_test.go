package redislock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// withSlack is how long a lock's key may live that is needed for so long (SLACK in engine.lua).
func withSlack(needed time.Duration) time.Duration { return needed + needed/8 }

// lives returns how long each key lives but the store's. A key that would live for ever fails the test.
func lives(t testing.TB, server *servers.Redis) map[string]time.Duration {
	t.Helper()
	found := make(map[string]time.Duration)
	for _, key := range command(t, server, "KEYS", "*").([]any) {
		switch left := command(t, server, "PTTL", key.(string)).(int64); {
		case key == "holdfast:store":
			if left != -1 {
				t.Fatalf("the store's key runs out in %d ms", left)
			}
		case left == -1:
			t.Fatalf("%s lives for ever: %v", key, command(t, server, "HGETALL", key.(string)))
		case left >= 0: // not gone just now
			found[key.(string)] = time.Duration(left) * time.Millisecond
		}
	}
	return found
}

// Whatever is done, every key but the store's runs out by itself, and soon after it is not needed any more.
func TestEveryKeyRunsOut(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := dial(t, server.Addr(), "guard=0")
	const longest = time.Minute // of TTLs, renewals and minimum holds
	span := func() time.Duration { return time.Second + time.Duration(random.Int64N(int64(longest-time.Second))) }
	var requests []*driver.Request
	var grants []*driver.Grant
	for i := range 400 {
		r := &driver.Request{Name: fmt.Sprint(random.IntN(4)), Attempt: attempts.Next(), Label: fmt.Sprint(i), Mode: driver.Mode(1 + random.IntN(3)),
			TTL: span(), NoWait: true, Reserve: uint32(random.IntN(2) * random.IntN(redislock.MaxReserve))}
		if r.Mode == driver.Permits {
			r.N, r.Limit = 1+random.IntN(3), 3
		}
		if random.IntN(4) == 0 {
			r.Keep = span()
		}
		switch random.IntN(3) {
		case 0:
			w := begin(t, s, &driver.Request{Name: r.Name, Attempt: r.Attempt, Label: r.Label, Mode: r.Mode, N: r.N, Limit: r.Limit, TTL: r.TTL})
			if random.IntN(2) == 0 {
				w.ends() // before, while, or after it is asked for
			}
		default:
			if grant, err := s.Acquire(inTime(t), r); err == nil {
				grants = append(grants, grant)
			}
		}
		requests = append(requests, r)
		old := requests[random.IntN(len(requests))]
		switch random.IntN(4) {
		case 0, 1:
			s.Release(inTime(t), old)
		case 2:
			if len(grants) > 0 {
				grants[random.IntN(len(grants))].Lease.Renew(inTime(t), span())
			}
		case 3:
			info, err := s.Inspect(t.Context(), old.Name, old.Mode)
			if err == nil && len(info.Holders) > 0 {
				s.Break(inTime(t), &driver.BreakRequest{Name: old.Name, Mode: old.Mode, Token: info.Holders[0].Token, Now: random.IntN(2) == 0})
			}
		}
		for key, left := range lives(t, server) {
			if bound := withSlack(2*longest) + 2*time.Millisecond; left > bound { // one that is broken can be asked about for a TTL after its own
				t.Fatalf("after step %d %s lives for %v, %v are enough", i, key, left, bound)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, channel := range command(t, server, "PUBSUB", "SHARDCHANNELS").([]any) {
		t.Errorf("the channel %s is left", channel)
	}
}

// How long the key of a lock lives, in each of its states.
func TestHowLongKeysLive(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard=0")
	const key = "holdfast:lock:{lock}"
	check := func(what string, least, most time.Duration) {
		t.Helper()
		if left := lives(t, server)[key]; left < least-5*time.Second || left > most {
			t.Errorf("%s: the key lives for %v, want %v to %v", what, left, least, most)
		}
	}
	const millisecond = 2 * time.Millisecond // Redis counts whole ones
	r := ask("lock", "holder", 20*time.Second)
	if _, err := s.Acquire(inTime(t), r); err != nil {
		t.Fatal(err)
	}
	check("a holder alone", 20*time.Second, 20*time.Second+millisecond)
	if _, err := s.Acquire(inTime(t), r); err != nil {
		t.Fatal(err)
	}
	lease := take(t, s, r).Lease
	if _, err := lease.Renew(t.Context(), 40*time.Second); err != nil {
		t.Fatal(err)
	}
	check("renewed", 40*time.Second, withSlack(40*time.Second)+millisecond)
	lease.Renew(t.Context(), time.Second)
	check("renewed by less", 40*time.Second, withSlack(40*time.Second)+millisecond)
	waiting := queue(t, s, ask("lock", "waiter", 30*time.Second))
	check("somebody waits", 45*time.Second, withSlack(45*time.Second)+millisecond)
	release(t, s, r)
	waiting.served()
	release(t, s, waiting.r)
	if left, there := lives(t, server)[key]; there {
		t.Errorf("released, and nobody waits: the key lives for another %v", left)
	}
	take(t, s, kept(ask("lock", "keeper", 10*time.Second), 50*time.Second))
	check("a minimum hold", 50*time.Second, withSlack(50*time.Second)+millisecond)
	command(t, server, "DEL", key)
	if err := s.Release(t.Context(), ask("lock", "undone", 15*time.Second)); !errors.Is(err, driver.ErrGone) {
		t.Fatal(err)
	}
	check("a tombstone", 15*time.Second, 15*time.Second+millisecond)
}

// After the clock was set back a name's token is ahead of it, and its key must remember that until the clock has passed it; but no longer,
// though somebody who has died is in it.
func TestHowLongKeysLiveBehindTheClock(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	s := dial(t, server.Addr(), "guard=0")
	r := ask("lock", "before", 2*time.Second)
	take(t, s, r)
	step(t, server, -10*time.Minute)
	release(t, s, r)
	dead := begin(t, s, ask("lock", "dead", 2*time.Second))
	dead.served()
	queue(t, s, ask("lock", "dead too", 2*time.Second)).ends()
	if left := lives(t, server)["holdfast:lock:{lock}"]; left < 9*time.Minute || left > 10*time.Minute+5*time.Second {
		t.Errorf("the key lives for %v, with a token that is 10 minutes ahead", left)
	}
}

// When everything is released nothing is left but the store's key, at once: if nothing was in doubt there are no tombstones.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	stores := []*redislock.Store{dial(t, server.Addr(), "guard=0"), dial(t, server.Addr(), "guard=0")}
	empty := func(what string) {
		t.Helper()
		if left := lives(t, server); len(left) > 0 {
			for key := range left {
				t.Errorf("%s: %s is left: %q", what, key, command(t, server, "HGETALL", key))
			}
		}
	}
	for what, make := range map[string]func(label string) *driver.Request{
		"exclusive": func(label string) *driver.Request { return ask("lock", label, time.Hour) },
		"readers":   func(label string) *driver.Request { return reader("lock", label, time.Hour) },
		"permits":   func(label string) *driver.Request { return permits("lock", label, 1, 2, time.Hour) },
	} {
		first := make("first")
		if _, err := stores[0].Acquire(inTime(t), first); err != nil {
			t.Fatal(err)
		}
		release(t, stores[0], first)
		empty(what + ", alone")

		var all []*waiter
		for i := range 10 {
			w := begin(t, stores[i%2], make(fmt.Sprint(i)))
			all = append(all, w)
		}
		for len(all) > 0 {
			var w *waiter
			w, all = anyServed(t, all)
			release(t, w.s, w.r)
		}
		empty(what + ", one after the other")

		broken := make("broken")
		grant := take(t, stores[0], broken)
		if err := stores[1].Break(t.Context(), &driver.BreakRequest{Name: "lock", Mode: broken.Mode, Token: grant.Token}); err != nil {
			t.Fatal(err)
		}
		release(t, stores[0], broken)
		empty(what + ", broken and released")

		left := make("left")
		take(t, stores[0], left)
		if what == "exclusive" {
			w := queue(t, stores[1], make("gives up"))
			w.ends()
			release(t, stores[1], w.r)
		}
		release(t, stores[0], left)
		empty(what + ", given up")
	}
}
