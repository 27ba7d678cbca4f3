package redislock_test

import (
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
