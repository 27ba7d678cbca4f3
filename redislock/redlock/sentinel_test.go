package redlock_test

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// TestSentinelNode: a node is whichever server its Sentinels name. It fails over, and the locks go on: those that are held, and those that follow, of which
// some need its vote.
func TestSentinelNode(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	replica := startRedis(t, servers.RedisReplicaOf(g.nodes[2]))
	var sentinels []string
	for range 3 {
		s, err := servers.StartSentinel(inTime(t), "third", g.nodes[2], servers.SentinelHurry(), servers.SentinelDownAfter(time.Second))
		servers.Need(t, err)
		t.Cleanup(func() { s.Close() })
		sentinels = append(sentinels, s.Addr())
		if len(sentinels) == 3 {
			if err := s.Knows(inTime(t), 1, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	url := listing(g.places(0, 1), "&node=redis%2Bsentinel://"+strings.Join(sentinels, ",")+"/third?name=n3%26timeout=1s&guard=0&node-timeout=500ms")
	m := opened(t, url)
	if text := m.String(); text != "redlock://n1,n2,n3" {
		t.Errorf("it is called %q", text)
	}
	held := m.grant(ask("held", patience))
	until(t, "all nodes have it, and the replica", func() bool {
		there, err := replica.Do(inTime(t), "EXISTS", "held")
		return err == nil && there == int64(1) && len(g.has("held")) == 3
	})

	g.nodes[2].Kill()
	g.nodes[2] = replica
	for range 3 { // the others are a majority meanwhile
		r := ask("lock", patience)
		m.grant(r)
		if err := m.release(r); err != nil {
			t.Fatal(err)
		}
		if _, err := held.Lease.Renew(inTime(t), patience); err != nil {
			t.Fatalf("renewing: %v", err)
		}
	}
	g.block("needed", 0)
	needed := m.grant(ask("needed", patience)) // when the replica has taken over
	if needed.Token <= held.Token {
		t.Errorf("token %d after %d", needed.Token, held.Token)
	}
	if role, err := replica.Role(inTime(t)); err != nil || role != "master" {
		t.Errorf("the replica is a %s, %v", role, err)
	}
	g.unblock("held", 0) // so that its part of what was held before is needed
	if _, err := held.Lease.Renew(inTime(t), patience); err != nil {
		t.Errorf("renewing, with the new primary: %v", err)
	}
	until(t, "another client finds the new primary", func() bool {
		other := opened(t, url)
		_, err := other.try(ask("needed", patience))
		return isHeld(err)
	})
}
