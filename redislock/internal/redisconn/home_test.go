package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
)

// TestInboxFollows: the connection for requests breaks and finds the primary elsewhere; so must the inbox.
func TestInboxFollows(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	p.move()
	if !isAt(t, c, p.old) || !hears(t, p.old) {
		t.Error("it has moved without a reason")
	}
	do(t, p.old, "CLIENT", "KILL", "TYPE", "normal")
	eventually(t, "requests are at the new primary", func() bool { return isAt(t, c, p.new) })
	d.await(t, "up", 2)
	eventually(t, "the inbox is at the new primary", func() bool { return hears(t, p.new) && !hears(t, p.old) })
}

// TestRequestsFollow: the same the other way round. The next request goes to the new primary and is answered.
func TestRequestsFollow(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	if !isAt(t, c, p.old) {
		t.Fatal("it is elsewhere")
	}
	p.move()
	do(t, p.old, "CLIENT", "KILL", "TYPE", "pubsub")
	d.await(t, "up", 2)
	if at, err := whereIs(t, c); err != nil || at != p.new.Addr() {
		t.Errorf("the next request: %s, %v", at, err)
	}
	eventually(t, "nothing is left at the old primary", func() bool { return connections(t, p.old) == "" })
}

// TestReadOnlyLeaves: READONLY is an answer, and final; but the next request is asked of the new primary, and the inbox is there, too.
func TestReadOnlyLeaves(t *testing.T) {
	for name, write := range map[string]func(*testing.T, rueidis.Client) error{"Do": set, "DoMulti": setAll} {
		p := newPair(t, "")
		c := dial(t, p.url)
		_, d := open(t, c, slowProbes)
		d.await(t, "up", 1)
		p.demote(t)
		isRefused(t, name, write(t, c), ErrReadOnly)
		if err := write(t, c); err != nil || !isAt(t, c, p.new) {
			t.Errorf("%s, once more: %v", name, err)
		}
		eventually(t, "the inbox is at the new primary", func() bool { return hears(t, p.new) && !hears(t, p.old) })
	}
}

// TestDemotedByReport: the caller has seen READONLY inside of an answer.
func TestDemotedByReport(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	p.move()
	Demoted(c)
	if at, err := whereIs(t, c); err != nil || at != p.new.Addr() {
		t.Errorf("the next request: %s, %v", at, err)
	}
	d.await(t, "up", 2)
	Demoted(Adopt(nil)) // of which nothing is known
}

// TestReplicaIsNotCutInALoop: somebody's URL names a replica. Every write is refused, and it is not connected to each time.
func TestReplicaIsNotCutInALoop(t *testing.T) {
	primary := start(t)
	replica := start(t, servers.RedisReplicaOf(primary))
	c := dial(t, "redis://"+replica.Addr())
	count := func() int {
		info, err := replica.Info(within(t, patience), "stats")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		fmt.Sscan(info["total_connections_received"], &n)
		return n
	}
	before, begin := count(), time.Now()
	for range 200 {
		isRefused(t, "writing", set(t, c), ErrReadOnly)
	}
	if n, most := count()-before, int(time.Since(begin)/cutPause)+3; n > most { // one for the counting itself
		t.Errorf("%d connections, %d at most were expected", n, most)
	}
}

// TestOldEra: an answer that comes late does not cut what was connected since.
func TestOldEra(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	w := c.(*client).wires
	before := connections(t, p.old)
	w.leave(w.era.Load() - 1)
	if !isAt(t, c, p.old) || connections(t, p.old) != before {
		t.Error("it was cut")
	}
	w.leave(w.era.Load())
	if !isAt(t, c, p.old) || connections(t, p.old) == before {
		t.Error("it was not cut")
	}
}

// TestTurns: of two connections that find different servers the one that was begun later knows better.
func TestTurns(t *testing.T) {
	w := newWires(options(t, "redis://h"))
	at := func(remote string, turn int64) ([]*wire, error) {
		return w.settle(&wire{of: w}, home{remote: remote, turn: turn})
	}
	for _, step := range []struct {
		remote string
		turn   int64
		cut    int
		err    error
	}{{"a", 1, 0, nil}, {"a", 3, 0, nil}, {"b", 2, 0, errMoved}, {"a", 2, 0, nil}, {"b", 4, 3, nil}, {"a", 3, 0, errMoved}} {
		cut, err := at(step.remote, step.turn)
		if len(cut) != step.cut || err != nil && err != step.err || err == nil && step.err != nil {
			t.Errorf("%s, begun as number %d: %d are cut, %v", step.remote, step.turn, len(cut), err)
		}
		for _, c := range cut {
			delete(w.open, c)
		}
	}
	w.end()
	if _, err := at("b", 9); err != rueidis.ErrClosing {
		t.Errorf("closed: %v", err)
	}
}

// TestDoubt: the old primary cannot know that it was replaced, and the Sentinels are asked.
func TestDoubt(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	before := connections(t, p.old)
	nothingLeft(t, func() { Doubt(c) })
	if !isAt(t, c, p.old) || connections(t, p.old) != before {
		t.Error("it was cut, though the primary is where it was")
	}
	p.move()
	eventually(t, "it has moved", func() bool { Doubt(c); return isAt(t, c, p.new) })
	Doubt(Adopt(nil))
}

// TestReplicasGone: a primary that has lost its replicas may have been replaced. It refuses; and the Sentinels are asked.
func TestReplicasGone(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	do(t, p.old, "CONFIG", "SET", "min-replicas-to-write", "1")
	isRefused(t, "without replicas", set(t, c), ErrReplicas)
	p.move()
	eventually(t, "it has moved", func() bool { return set(t, c) == nil })
}

// TestDoubtIsPatient: the Sentinels are asked once per second at most, and never by a client that nobody doubts.
func TestDoubtIsPatient(t *testing.T) {
	p := newPair(t, "")
	c := dial(t, p.url)
	for range 100 {
		if !isAt(t, c, p.old) {
			t.Fatal("it is elsewhere")
		}
	}
	begin := time.Now()
	for range 5 {
		nothingLeft(t, func() { Doubt(c); Doubt(c) })
	}
	if n, most := p.sentinels[0].times(), 2+int(time.Since(begin)/doubtPause); n > most { // connecting, and once
		t.Errorf("it was asked %d times, want %d at most", n, most)
	}
	single := dial(t, "redis://"+p.old.Addr())
	before := connections(t, p.old)
	Doubt(single)
	if !isAt(t, single, p.old) || connections(t, p.old) != before {
		t.Error("a single server was cut")
	}
}

// TestIsolated: nobody answers any more at the old primary, which is reached by nat=. timeout= is ten minutes: it is the Sentinels who tell.
func TestIsolated(t *testing.T) {
	old, fresh := start(t), start(t)
	proxy := proxyTo(t, old.Addr())
	told := [2]string{"192.0.2.1:6379", "192.0.2.2:6379"} // addresses that nobody has
	all, hosts := fakes(t, place{told[0], 1})
	c := dial(t, "redis+sentinel://"+hosts+"/m?timeout=10m&nat="+told[0]+"="+proxy.Addr()+","+told[1]+"="+fresh.Addr())
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	if !isAt(t, c, old) {
		t.Fatal("it is elsewhere")
	}
	if n := together(t, c, 8, patience); n[0] != nil { // the connection is shared from now on
		t.Fatal(n)
	}
	proxy.HoldReplies()
	allDeadline(t, "isolated", together(t, c, 2, 50*time.Millisecond))
	all[0].change(func() { all[0].place = place{told[1], 2} })
	eventually(t, "requests are at the new primary", func() bool { return together(t, c, 1, 100*time.Millisecond)[0] == nil })
	if !isAt(t, c, fresh) {
		t.Error("it is elsewhere")
	}
	eventually(t, "the inbox is at the new primary", func() bool { return hears(t, fresh) })
}

// TestNotPromotedYet: what the Sentinels name is a replica still.
func TestNotPromotedYet(t *testing.T) {
	primary := start(t)
	replica := start(t, servers.RedisReplicaOf(primary))
	_, hosts := fakes(t, place{replica.Addr(), 1})
	err := refuse(t, "redis+sentinel://"+hosts+"/m")
	if !errors.Is(err, ErrTemporary) || driver.Answered(err) || !strings.Contains(err.Error(), "no primary") {
		t.Errorf("%v", err)
	}
	if err := replica.Promote(within(t, patience)); err != nil {
		t.Fatal(err)
	}
	if c := dial(t, "redis+sentinel://"+hosts+"/m/2"); !isAt(t, c, replica) {
		t.Error("it is elsewhere")
	}
}

// TestNameMoves: a single server by its name, which gets another address.
func TestNameMoves(t *testing.T) {
	old, fresh := start(t), start(t)
	var address atomic.Value
	address.Store(old.Addr())
	o := options(t, "redis://example.org")
	o.DialCtxFn = func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", address.Load().(string))
	}
	c, err := Dial(within(t, patience), o)
	if err != nil {
		t.Fatal(err)
	}
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	address.Store(fresh.Addr())
	do(t, old, "CLIENT", "KILL", "TYPE", "normal")
	eventually(t, "requests are at the new address", func() bool { return isAt(t, c, fresh) })
	eventually(t, "the inbox is at the new address", func() bool { return hears(t, fresh) && !hears(t, old) })
}

// TestNear: a name with several addresses does not look like one that moves.
func TestNear(t *testing.T) {
	w := newWires(options(t, "redis://localhost:7001"))
	for _, step := range []struct{ remote, want string }{
		{"127.0.0.1:7001", "127.0.0.1:7001"}, {"127.0.0.1:7002", "localhost:7001"}, {"192.0.2.1:7001", "localhost:7001"},
	} {
		w.home.remote = step.remote
		w.open = map[*wire]struct{}{{}: {}}
		if got := w.near(within(t, patience), "localhost:7001"); got != step.want {
			t.Errorf("beside %s: %s", step.remote, got)
		}
		if got := w.near(within(t, patience), "10.0.0.1:7001"); got != "10.0.0.1:7001" {
			t.Errorf("an address: %s", got)
		}
		clear(w.open)
		if got := w.near(within(t, patience), "localhost:7001"); got != "localhost:7001" {
			t.Errorf("alone: %s", got)
		}
	}
	s := start(t)
	_, port, _ := net.SplitHostPort(s.Addr())
	c := dial(t, "redis://localhost:"+port)
	_, d := open(t, c, slowProbes)
	d.await(t, "up", 1)
	if !isAt(t, c, s) {
		t.Error("it is elsewhere")
	}
}
