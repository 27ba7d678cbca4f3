package redlock_test

import (
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
)

// TestLateReplies: all nodes grant, and say so when the TTL has passed. That is no hold (N7): by then it is somebody else's.
func TestLateReplies(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=10s"), g.open("&guard=0&node-timeout=10s")
	for _, way := range a.ways {
		way.HoldReplies()
	}
	r := ask("lock", 500*time.Millisecond)
	result := make(chan *driver.Grant, 1)
	go func() {
		grant, _ := a.try(r)
		result <- grant
	}()
	until(t, "all nodes have granted it", func() bool { return len(g.has("lock")) == 3 })
	second := b.grant(ask("lock", 20*time.Second)) // when it has run out
	for _, way := range a.ways {
		way.Resume()
	}
	if grant := <-result; grant != nil && b.Clock().Now().Before(end(grant)) {
		t.Fatalf("a hold was believed in that has run out: token %d, beside token %d", grant.Token, second.Token)
	}
	if left, err := second.Lease.Renew(t.Context(), 0); err != nil || left <= 0 {
		t.Errorf("the second holder's: %v, %v", left, err)
	}
}

// TestSleepsBetweenRounds: a client has a majority of votes and stands still. Meanwhile its keys are lost, and somebody else holds the lock, though the
// sleeper's TTL is long and has not passed: the nodes refuse its token.
func TestSleepsBetweenRounds(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a, b := g.open("&guard=0&node-timeout=10s"), g.open("&guard=0&node-timeout=10s")
	for _, way := range a.ways {
		way.HoldReplies()
	}
	r := ask("lock", time.Minute)
	result := make(chan *driver.Grant, 1)
	go func() {
		grant, _ := a.try(r)
		result <- grant
	}()
	until(t, "all nodes have granted it", func() bool { return len(g.has("lock")) == 3 })
	g.unblock("lock", 0, 1) // an administrator; a third one remains
	second := b.grant(ask("lock", 20*time.Second))
	for _, way := range a.ways {
		way.Resume()
	}
	if grant := <-result; grant != nil {
		t.Fatalf("a sleeper was given token %d, beside token %d", grant.Token, second.Token)
	}
	if left, err := second.Lease.Renew(t.Context(), 0); err != nil || left <= 0 {
		t.Errorf("the second holder's: %v, %v", left, err)
	}
	until(t, "what the sleeper had at the third node is gone", func() bool { return len(g.has("lock")) == 2 })
}

// TestLateVote: a vote arrives at a node when its attempt has been released, by another connection. A tombstone refuses it.
func TestLateVote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		interrupt func(way *netfault.Proxy)
		first     bool // the release overtakes it
	}{
		{"on the same connection", func(*netfault.Proxy) {}, false},
		{"on a connection that broke", (*netfault.Proxy).Strand, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startGroup(t, 3)
			a := g.open("&guard=0&node-timeout=200ms")
			warm := ask("lock", time.Second)
			a.grant(warm)
			if err := a.release(warm); err != nil {
				t.Fatal(err)
			}
			until(t, "all nodes have let go", func() bool { return len(g.has("lock")) == 0 })
			a.ways[2].HoldRequests()
			r := ask("lock", time.Minute)
			a.grant(r)
			if err := a.ways[2].AwaitHeld(t.Context(), netfault.Requests, 1); err != nil {
				t.Fatal(err)
			}
			c.interrupt(a.ways[2])
			if err := a.release(r); err != nil {
				t.Fatal(err)
			}
			if c.first {
				until(t, "the release has arrived", func() bool { return len(g.do(2, "KEYS", "*undone*").([]any)) == 1 })
			}
			a.ways[2].Resume()
			driver.Sleep(t.Context(), 300*time.Millisecond) // the vote has arrived
			until(t, "every node has let go, long before the TTL is over", func() bool { return len(g.has("lock")) == 0 })
			forgotten(t, a)
			grant := a.grant(ask("lock", time.Minute))
			until(t, "the next one has all nodes", func() bool { return len(g.has("lock")) == 3 })
			if grant.Token == 0 {
				t.Error("no token")
			}
		})
	}
}

// TestLateRepair: a repair is on its way to a node, and its connection breaks; the hold is released; then the repair arrives.
func TestLateRepair(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=300ms")
	g.block("lock", 2)
	r := ask("lock", time.Minute)
	grant := a.grant(r)
	g.unblock("lock", 2)
	a.ways[2].HoldReplies() // of the renewal, which finds nothing there
	if _, err := grant.Lease.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := a.ways[2].AwaitHeld(t.Context(), netfault.Replies, 1); err != nil {
		t.Fatal(err)
	}
	a.ways[2].Delay(netfault.Requests, 2*time.Second, 0, 1) // what is sent next arrives late
	a.ways[2].Resume()
	until(t, "the repair is on its way", func() bool {
		return a.ways[2].AwaitHeld(t.Context(), netfault.Requests, 1) == nil
	})
	a.ways[2].Strand()
	a.ways[2].Delay(netfault.Requests, 0, 0, 1)
	if err := a.release(r); err != nil {
		t.Fatal(err)
	}
	until(t, "the release has arrived", func() bool { return len(g.do(2, "KEYS", "*undone*").([]any)) == 1 })
	driver.Sleep(t.Context(), 2500*time.Millisecond) // the repair has, too
	if at := g.has("lock"); len(at) > 0 {
		t.Fatalf("released, and there again at nodes %v", at)
	}
}

// TestClaim: an attempt is asked for again, when its hold has a majority only because a repair has put it on a node. Another may have held the lock in
// between: it gets a new token.
func TestClaim(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=500ms")
	g.block("lock", 2)
	r := ask("lock", 20*time.Second)
	first := a.grant(r)
	if again := a.grant(r); again.Token != first.Token {
		t.Fatalf("token %d, asked for again %d", first.Token, again.Token)
	}
	g.unblock("lock", 2)
	if _, err := first.Lease.Renew(t.Context(), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	until(t, "the third node has it", func() bool { return len(g.has("lock")) == 3 })
	g.unblock("lock", 0) // it has run out, say, and somebody else had nodes 0 and 2
	if again := a.grant(r); again.Token <= first.Token {
		t.Fatalf("token %d, asked for again %d, which a repaired node has decided on", first.Token, again.Token)
	}
}

// TestFailedTry: a try has no majority because answers do not come. What nodes have granted is released without being asked for, also where nobody knew
// that it was granted.
func TestFailedTry(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=100ms")
	for _, way := range a.ways[:2] {
		way.HoldReplies()
	}
	if _, err := a.try(ask("lock", time.Minute)); err == nil || driver.Answered(err) {
		t.Fatalf("two of three do not answer: %v", err)
	}
	until(t, "two have granted it, and know of no release", func() bool { return len(g.has("lock")) <= 2 })
	for _, way := range a.ways[:2] {
		way.Resume()
	}
	until(t, "every node has let go, long before the TTL is over", func() bool { return len(g.has("lock")) == 0 })
}
