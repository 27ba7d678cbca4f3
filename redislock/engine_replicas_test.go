package redislock_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// The engine's own part in the rules of the guard and of replicas, asked directly: the servers' min-replicas-to-write is taken away from the nodes
// once the store knows of it, so that nobody else keeps a primary without replicas from granting.

// alone returns direct calls to node i, of a store whose engine asks for so many replicas, and nobody else does.
func (g *nodes) alone(i int, guard time.Duration) *direct {
	g.t.Helper()
	s := dial(g.t, g.all[i].Addr(), fmt.Sprintf("guard=%v", guard))
	guardOver(g.t, s, "probe")
	command(g.t, g.all[i], "DEL", "holdfast:lock:{probe}") // its token stays for a while, and its end would be written
	for _, node := range g.all {
		command(g.t, node, "CONFIG", "SET", "min-replicas-to-write", "0")
	}
	return g.directly(i)
}

func (g *nodes) directly(i int) *direct {
	g.t.Helper()
	id, _ := command(g.t, g.all[i], "HGET", "holdfast:store", "id").(string)
	return &direct{TB: g.t, server: g.all[i], store: id}
}

// wants is a request for the lock alone.
var wants = redislock.Packed{Mode: "e", TTL: time.Second, Claim: time.Second, Life: time.Minute, Channel: "nobody"}

// proved lets the replicas acknowledge something, until the engine has its proof: a moment ago.
func (d *direct) proved() {
	d.Helper()
	until(d, "contact is proved", func() bool {
		d.acknowledged(1)
		return d.call("renew", "x", attemptOf("f"), "0")[0] != "P"
	})
}

// acknowledged lets so many replicas acknowledge what is written now.
func (d *direct) acknowledged(replicas int) {
	d.Helper()
	conn, err := d.server.Dial(inTime(d))
	if err != nil {
		d.Fatal(err)
	}
	defer conn.Close()
	for _, args := range [][]string{
		{"FCALL", redislock.Library + "_prove", "2", "holdfast:lock:{x}", "holdfast:store", d.store}, {"WAIT", strconv.Itoa(replicas), "1000"},
	} {
		if _, err := conn.Do(inTime(d), args...); err != nil {
			d.Fatal(err)
		}
	}
}

// unproved waits until the engine has no proof any more.
func (d *direct) unproved() {
	d.Helper()
	until(d, "contact is not proved any more", func() bool { return d.call("renew", "x", attemptOf("f"), "0")[0] == "P" })
}

// Rule 5. A release at a primary whose contact is not proved frees the lock, and hands it to nobody.
func TestUnprovedReleaseHandsNothingOver(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2, minReplicas...)
	d := g.alone(0, 5*time.Second)
	listener, err := d.server.Dial(t.Context())
	g.do(err)
	defer listener.Close()
	if _, err := listener.Do(t.Context(), "SSUBSCRIBE", wants.Channel); err != nil {
		t.Fatal(err)
	}
	d.proved()
	long := wants
	long.TTL = 2 * time.Second
	if got := d.acquire("lock", attemptOf("a"), "wait", long); got != "G" {
		t.Fatalf("the holder is told %s", got)
	}
	if got := d.acquire("lock", attemptOf("b"), "wait", wants); got != "W" {
		t.Fatalf("the waiter is told %s", got)
	}
	g.isolate(0)
	d.unproved()
	d.release("lock", attemptOf("a")) // whatever it says: it may have run out
	if holders, _ := d.call("inspect", "lock")[2].([]any); len(holders) > 0 {
		t.Errorf("handed over without proof: %v", holders)
	}
	g.heal(0)
	d.proved()
	if got := d.acquire("lock", attemptOf("b"), "wait", wants); got != "G" {
		t.Errorf("with proof the waiter is told %s", got)
	}
}

// Rule 5. As many replicas as the store says, not one of them.
func TestProofByAllThatAreNeeded(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, minReplicas[1], minReplicasOf(2))
	d := g.alone(0, 5*time.Second)
	d.proved()
	g.do(g.all[2].Stop())
	defer g.all[2].Continue()
	d.unproved()
	d.acknowledged(1) // by the other one
	if got := d.acquire("lock", attemptOf("a"), "take", wants); got != "P" {
		t.Errorf("with one of two replicas: %s", got)
	}
}

// Rule 5. What is acknowledged must be more than what was noted: one who has everything, and has gone since, proves nothing by that.
func TestProofIsStrict(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2, append(minReplicas[:2:2], servers.RedisSet("repl-ping-replica-period", "1000"), servers.RedisSet("repl-timeout", "1000"))...)
	d := g.alone(0, 5*time.Second)
	d.proved()
	until(t, "the replica has everything", func() bool {
		info, err := d.server.Info(t.Context(), "replication")
		return err == nil && acknowledged(info) == info["master_repl_offset"]
	})
	g.do(g.all[1].Stop())
	defer g.all[1].Continue()
	d.unproved() // though nothing is written meanwhile: these calls look, and change nothing
}

func acknowledged(info map[string]string) string {
	var ip string
	var port, offset int
	fmt.Sscanf(info["slave0"], "ip=%9s,port=%d,state=online,offset=%d", &ip, &port, &offset)
	return strconv.Itoa(offset)
}

// Rule 5. Proof is of one reign: a primary that was demoted and promoted again meanwhile has none.
func TestProofIsOfOneReign(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2, minReplicas...)
	d := g.alone(0, 5*time.Second)
	d.proved()
	g.do(d.server.Follow(t.Context(), "127.0.0.1:1"))
	g.do(d.server.Promote(t.Context()))
	until(t, "the id is read again", func() bool { return d.call("renew", "x", attemptOf("f"), "0")[0] != "N" })
	if got := d.call("renew", "x", attemptOf("f"), "0")[0]; got != "P" {
		t.Errorf("with the proof of the reign before: %s", got)
	}
}

// Rule 4. Calls without proof neither begin the guard nor count for it.
func TestUnprovedCallsDoNotCount(t *testing.T) {
	t.Parallel()
	const guard = shortFence + 2*time.Second
	g := startNodes(t, 3, minReplicas...)
	g.alone(0, guard)
	g.all[0].Kill()
	g.do(g.all[1].Promote(inTime(t)))
	d := g.directly(1)
	began := time.Now()
	until(t, "as much time has passed as the guard takes", func() bool {
		if got := d.acquire("lock", attemptOf("a"), "leave", wants); got != "P" {
			t.Fatalf("without replicas: %s", got)
		}
		return time.Since(began) > guard+time.Second
	})
	g.do(g.all[2].Follow(inTime(t), g.links[1].Addr()))
	g.do(g.all[2].Linked(inTime(t)))
	d.proved()
	if got := d.call("renew", "x", attemptOf("f"), "0")[0]; got != "U" {
		t.Errorf("a renewal as soon as there is proof: %s, want that it is muted", got)
	}
}

// A primary that asks for replicas by its settings needs proof, though the store's key does not say so.
func TestProofByTheServersOwnSetting(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2)
	guardOver(t, dial(t, g.all[0].Addr(), "guard=5s"), "probe")
	d := g.directly(0)
	if got := d.call("renew", "x", attemptOf("f"), "0")[0]; got != "N" {
		t.Fatalf("without the setting: %s", got)
	}
	command(t, g.all[0], "CONFIG", "SET", "min-replicas-to-write", "1")
	g.followed(0, 1)
	until(t, "the setting is seen", func() bool { return d.call("renew", "x", attemptOf("f"), "0")[0] == "P" })
}

// Rule 3. While the guard is on a grant that was pushed cannot be claimed.
func TestGuardedPushIsNotClaimed(t *testing.T) {
	t.Parallel()
	server := startRedis(t, persistent...)
	s := dial(t, server.Addr(), "guard=3s")
	guardOver(t, s, "probe")
	id, _ := command(t, server, "HGET", "holdfast:store", "id").(string)
	d := &direct{TB: t, server: server, store: id}
	listener, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := listener.Do(t.Context(), "SSUBSCRIBE", wants.Channel); err != nil {
		t.Fatal(err)
	}
	pushed := wants
	pushed.TTL, pushed.Claim = 3*time.Second, 3*time.Second
	if got := d.acquire("lock", attemptOf("a"), "wait", pushed); got != "G" {
		t.Fatalf("the holder is told %s", got)
	}
	if got := d.acquire("lock", attemptOf("b"), "wait", pushed); got != "W" {
		t.Fatalf("the waiter is told %s", got)
	}
	if got := d.release("lock", attemptOf("a")); got != "G" {
		t.Fatalf("the release is told %s", got)
	}
	crash(t, server)
	if got := d.call("renew", "lock", attemptOf("b"), "3000000")[0]; got != "U" {
		t.Errorf("a claim while the guard is on is answered %s", got)
	}
}

// A new reign's tokens begin above what an old primary can have given within lag, by a clock that is ahead by less than the guard.
func TestTokensBeginAboveTheGuard(t *testing.T) {
	t.Parallel()
	const guard, lag = shortFence + time.Second, time.Second
	g := startNodes(t, 3, minReplicas...)
	first := g.join(0, fmt.Sprintf("guard=%v", guard))
	first.ready()
	g.all[0].Kill()
	promoted := time.Now()
	g.promote(1, 2)
	first.moves(1)
	if hold := first.lock(500 * time.Millisecond); hold.Token() < uint64(promoted.Add(guard+lag).UnixMicro()) {
		t.Errorf("the token is %v after the promotion, want %v at least", time.UnixMicro(int64(hold.Token())).Sub(promoted), guard+lag)
	}
}

// A new reign's tokens begin a fence above the last ceiling that was heard of.
func TestTokensBeginAboveTheCeiling(t *testing.T) {
	t.Parallel()
	const guard = shortFence + time.Second
	g := startNodes(t, 3, minReplicas...)
	first := g.join(0, fmt.Sprintf("guard=%v", guard))
	first.ready()
	ceiling := time.Now().Add(time.Hour).UnixMicro()
	command(t, g.all[0], "HSET", "holdfast:store", "ceiling", strconv.FormatInt(ceiling, 10))
	until(t, "the replica has it", func() bool {
		return command(t, g.all[1], "HGET", "holdfast:store", "ceiling") == strconv.FormatInt(ceiling, 10)
	})
	g.all[0].Kill()
	g.promote(1, 2)
	first.moves(1)
	if hold := first.lock(500 * time.Millisecond); hold.Token() < uint64(ceiling+shortFence.Microseconds()) {
		t.Errorf("the token is %d, %v above the ceiling", hold.Token(), time.Duration(int64(hold.Token())-ceiling)*time.Microsecond)
	}
}
