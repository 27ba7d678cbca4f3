package redislock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// The fault that all this is about. The replica's link is cut, a lock granted, the primary dies, the replica is promoted and knows nothing
// of it: nobody gets the lock before the first hold's validity has ended. With guard=0 somebody does.
func TestLostGrant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		nodes   int
		options bool // min-replicas-to-write
		guard   time.Duration
	}{
		{"two nodes", 2, false, usualFence + 3*time.Second},
		{"three nodes", 3, true, shortFence + 3*time.Second},
		{"two nodes without a guard", 2, false, 0},
		{"three nodes without a guard", 3, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			options := minReplicas
			if !c.options {
				options = nil
			}
			g := startNodes(t, c.nodes, options...)
			params := fmt.Sprintf("guard=%v", c.guard)
			first, second := g.join(0, params), g.join(0, params)
			second.ready()
			first.ready()
			const ttl = 3 * time.Second // as long as the guard allows
			g.isolate(0)
			hold := first.lock(ttl) // what contact there was is not yet old
			first.stays()
			g.all[0].Kill()
			if c.nodes == 2 {
				g.promote(1)
			} else {
				g.promote(1, 2)
			}
			second.moves(1)
			next, overlap := second.next(hold, time.Second)
			if overlap != (c.guard == 0) {
				t.Errorf("both believe in their holds: %v; the first for another %v", overlap, hold.Left())
			}
			g.do(next.Unlock())
		})
	}
}

// A hold that the new primary knows goes on: its owner moves there, and renews, before the guard is over and after.
func TestFailoverKeepsHolds(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"crash", "FAILOVER"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			const ttl, guard = 9 * time.Second, 13 * time.Second
			g := startNodes(t, 3, minReplicas...)
			params := fmt.Sprintf("guard=%v", guard)
			first, second := g.join(0, params), g.join(0, params)
			hold := first.lock(ttl)
			command(t, g.all[0], "WAIT", "2", "0") // nothing is lost
			for _, replica := range g.all[1:] {
				until(t, "the replica has it", func() bool { return command(t, replica, "EXISTS", "holdfast:lock:{lock}") == int64(1) })
			}
			if by == "crash" {
				g.all[0].Kill()
				g.promote(1, 2)
			} else {
				g.do(g.all[0].FailoverTo(inTime(t), g.links[1].Addr()))
				g.do(g.all[2].Follow(inTime(t), g.links[1].Addr()))
			}
			first.moves(1)
			second.moves(1)
			probe := g.join(1, params)
			if _, err := probe.Mutex("other").Lock(inTime(t)); err != nil { // which waits for the guard to be over
				t.Fatal(err)
			}
			second.never(time.Second, "somebody holds it")
			if hold.Err() != nil {
				t.Errorf("the hold was lost: %v", hold.Err())
			}
			if info, err := second.Inspect(inTime(t), "lock"); err != nil || len(info.Holders) != 1 || info.Holders[0].Token != hold.Token() {
				t.Errorf("the new primary shows %+v, %v", info, err)
			}
			g.do(hold.Unlock())
			next, overlap := second.next(hold, time.Second)
			if overlap {
				t.Error("it was released, and is believed in")
			}
			g.do(next.Unlock())
		})
	}
}

// The old primary comes back empty, and writable, before anybody has told it that it is none. With min-replicas-to-write it serves nobody
// who is led there, for however long; and what it is asked then does not count when it is promoted again.
func TestOldPrimaryReturnsEmpty(t *testing.T) {
	t.Parallel()
	const ttl, guard = 3 * time.Second, shortFence + 3*time.Second
	g, first, second := startPair(t, guard)
	first.ready()
	g.all[0].Kill()
	g.promote(1, 2)
	first.moves(1)
	hold := first.lock(ttl) // the new reign's
	g.do(g.all[0].RestartAs(inTime(t)))
	second.moves(0)
	second.never(guard+time.Second, "another is the primary")
	if hold.Err() != nil {
		t.Fatalf("the hold was lost: %v", hold.Err())
	}
	g.do(g.all[0].Follow(inTime(t), g.links[1].Addr()))
	g.do(g.all[0].Linked(inTime(t)))
	first.stays()
	g.all[1].Kill()
	g.promote(0, 2)
	next := second.follows(hold, ttl)
	g.do(next.Unlock())
}

// A process that was the primary, was demoted and caught up without a full resync, and is promoted again: it remembers the reign that was
// open to it, and must not take the new one for that.
func TestPromotedAgain(t *testing.T) {
	t.Parallel()
	const ttl, guard = 2 * time.Second, shortFence + 2*time.Second
	g, first, second := startPair(t, guard)
	second.ready()
	full := func() string {
		info, err := g.all[1].Info(t.Context(), "stats")
		g.do(err)
		return info["sync_full"]
	}
	g.do(g.all[0].FailoverTo(inTime(t), g.links[1].Addr()))
	g.do(g.all[2].Follow(inTime(t), g.links[1].Addr()))
	g.do(g.all[2].Linked(inTime(t)))
	g.do(g.all[0].Linked(inTime(t)))
	if n := full(); n != "0" {
		t.Fatalf("there were %s full resyncs: the process has forgotten its reign, and shows nothing", n)
	}
	first.moves(1)
	first.ready()
	g.isolate(1)
	hold := first.lock(ttl)
	first.stays()
	g.all[1].Kill()
	g.promote(0, 2)
	second.moves(0)
	next := second.follows(hold, ttl)
	g.do(next.Unlock())
}

// Two failovers within one guard: the second reign begins anew, whatever the first had left. And the functions are lost in between.
func TestTwoFailovers(t *testing.T) {
	t.Parallel()
	const ttl, guard = 2 * time.Second, shortFence + 2*time.Second
	g := startNodes(t, 4, minReplicas[1], minReplicasOf(2))
	params := fmt.Sprintf("guard=%v", guard)
	first, second := g.join(0, params), g.join(0, params)
	second.ready()
	first.ready()
	g.isolate(0)
	hold := first.lock(ttl)
	first.stays()
	g.all[0].Kill()
	g.promote(1, 2, 3)
	second.moves(1)
	second.never(guard/2, "the guard is on")
	command(t, g.all[1], "FUNCTION", "FLUSH")
	second.never(guard/4, "the guard is on")
	started := time.Now()
	command(t, g.all[1], "CONFIG", "SET", "min-replicas-to-write", "1") // of the four one is dead, and one will be
	g.all[1].Kill()
	for _, node := range g.all[2:] {
		command(t, node, "CONFIG", "SET", "min-replicas-to-write", "1")
	}
	g.promote(2, 3)
	second.moves(2)
	next := second.follows(hold, ttl)
	if since := time.Since(started); since < guard {
		t.Errorf("granted %v after the second failover, before the guard of %v was over", since, guard)
	}
	g.do(next.Unlock())
}

// A primary that is cut off from its replicas, and not from its clients: once they cannot be proved to follow it grants and renews nothing.
// Whoever it has granted something believes in it no more when the new primary begins to grant.
func TestIsolatedPrimary(t *testing.T) {
	t.Parallel()
	const ttl, guard = 2 * time.Second, shortFence + 2*time.Second
	g := startNodes(t, 3, minReplicas...)
	params := fmt.Sprintf("guard=%v", guard)
	first, second, third := g.join(0, params), g.join(0, params), g.join(0, params)
	second.ready()
	third.ready()
	hold := first.lock(ttl)
	g.isolate(0)
	g.promote(1, 2)
	second.moves(1)
	go func() { // the others go on with the old one
		for t.Context().Err() == nil && hold.Err() == nil {
			hold.Check(t.Context())
		}
	}()
	next := second.follows(hold, ttl)
	if hold.Err() == nil {
		t.Error("the old primary still renews")
	}
	third.never(2*time.Second, "the primary is cut off")
	if next.Err() != nil {
		t.Errorf("the new primary's hold was lost: %v", next.Err())
	}
	g.heal(0)
	g.do(g.all[0].Follow(inTime(t), g.links[1].Addr()))
	third.moves(1)
	third.never(time.Second, "it is held")
	g.do(next.Unlock())
	last, _ := third.next(hold, ttl)
	if last.Token() <= next.Token() {
		t.Errorf("the token %d follows %d", last.Token(), next.Token())
	}
	g.do(last.Unlock())
}

// A client that was opened at a primary, and asks for its first lock when that has become a replica, waits for the new primary; one that is
// led to a replica from the start is told so when it is opened.
func TestOpenedBeforeTheFailover(t *testing.T) {
	t.Parallel()
	g, opened, _ := startPair(t, shortFence+2*time.Second)
	g.do(g.all[0].FailoverTo(inTime(t), g.links[1].Addr()))
	if _, err := holdfast.Open(inTime(t), "redis://"+g.all[0].Addr()); !errors.Is(err, redislock.ErrReadOnly) || !driver.Answered(err) {
		t.Errorf("opening a replica: %v", err)
	}
	g.do(g.all[2].Follow(inTime(t), g.links[1].Addr()))
	opened.never(500*time.Millisecond, "this is a replica")
	opened.moves(1)
	g.do(opened.lock(time.Second).Unlock())
}

// A replica that may be written to is no primary, though it has the primary's data, its id, and in a chain a replica of its own that
// proves contact. It grants nothing.
func TestWritableReplica(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, append([]servers.RedisOption{servers.RedisSet("replica-read-only", "no")}, minReplicas...)...)
	first, stray := g.join(0, "guard=5s"), g.join(0, "guard=5s")
	first.ready()
	stray.ready()
	g.do(g.all[2].Follow(inTime(t), g.links[1].Addr()))
	g.do(g.all[2].Linked(inTime(t)))
	stray.moves(1)
	stray.never(time.Second, "this is a replica")
	until(t, "who looks at a replica is told so", func() bool { // its connections are given up meanwhile, because it is one
		_, err := stray.Inspect(inTime(t), "lock")
		if err == nil {
			t.Fatal("a replica is looked at")
		}
		return errors.Is(err, redislock.ErrReadOnly)
	})
	stray.moves(0)
	stray.ready()
}

// A primary that stood still while it was replaced. When it goes on it finds acknowledgements in its sockets, and takes them for new: for a
// second or two its own count of good replicas is wrong. They prove nothing here.
func TestStoppedPrimary(t *testing.T) {
	t.Parallel()
	const ttl, guard = 3 * time.Second, shortFence + 3*time.Second
	g, first, second := startPair(t, guard)
	first.ready()
	second.ready()
	g.do(g.all[0].Stop())
	offset := func() string {
		info, err := g.all[1].Info(t.Context(), "replication")
		g.do(err)
		return info["master_last_io_seconds_ago"]
	}
	until(t, "the replica has acknowledged since", func() bool { return offset() >= "2" })
	g.isolate(0) // what has arrived waits; its links stay open
	g.promote(1, 2)
	first.moves(1)
	hold := first.lock(ttl)
	asks := make(chan struct{})
	go func() {
		defer close(asks)
		second.never(3*time.Second, "another is the primary")
	}()
	until(t, "a question waits at the old primary", func() bool { return second.way.Conns() > 0 })
	g.do(g.all[0].Continue())
	<-asks
	if hold.Err() != nil {
		t.Errorf("the hold was lost: %v", hold.Err())
	}
	info, err := g.all[0].Info(t.Context(), "replication")
	g.do(err)
	if info["role"] != "master" {
		t.Errorf("the old primary is a %s", info["role"])
	}
	g.do(hold.Unlock())
}
