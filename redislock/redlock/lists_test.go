package redlock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/redislock/redlock"
)

// otherList fails the test unless err says that a node has another list than the client, and which.
func otherList(t *testing.T, doing string, err error, node, asked, found string) {
	t.Helper()
	var list *redlock.ListError
	var at *driver.NodeError
	switch {
	case !errors.As(err, &list) || !errors.As(err, &at) || !driver.Answered(err):
		t.Errorf("%s: %v: want a *ListError, as an answer, in a *driver.NodeError", doing, err)
	case at.Node != node || list.Asked != asked || list.Found != found || list.Key != "holdfast:redlock:store":
		t.Errorf("%s: %+v at %s", doing, list, at.Node)
	default:
		says(t, err, asked, found, "stop all clients", "holdfast:redlock:store")
	}
}

// leavesNothing fails the test if there is anything at nodes after something was refused. Before a client writes it waits for nodes that may know
// better, but not for long: where the machine is too busy for that it is done again, a few times.
func (g *group) leavesNothing(doing string, nodes []int, refused func()) {
	g.t.Helper()
	var left []any
	for range 5 {
		refused()
		left = nil
		for _, node := range nodes {
			left = append(left, g.do(node, "KEYS", "*").([]any)...)
			g.do(node, "FLUSHALL")
		}
		if len(left) == 0 {
			return
		}
	}
	g.t.Errorf("%s: it has left %v, each time", doing, left)
}

const (
	oldList = "n1,n2,n3"
	newList = "n3,n4,n5"
)

// TestTwoLists: lists with one node in common have majorities without one. Who comes with another list than a node has is refused, though most of its own
// nodes are new, and leaves nothing there, also if the node that knows better is the last to answer. When all clients have stopped, and the
// list was deleted from every node, there can be another.
func TestTwoLists(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 5)
	first := opened(t, listing(g.places(0, 1, 2), "&guard=0"))
	held := ask("lock", patience)
	first.grant(held)

	slow, err := netfault.New(g.nodes[2].Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slow.Close() })
	slow.Delay(netfault.Replies, 10*time.Millisecond, 0, 1)
	for name, places := range map[string][]place{"at once": g.places(2, 3, 4), "late": append(g.places(3, 4), place{"n3", slow.Addr()})} {
		g.leavesNothing("opening, "+name, []int{3, 4}, func() {
			_, err := openURL(inTime(t), listing(places, "&guard=0"))
			otherList(t, "opening, "+name, err, "n3", newList, oldList)
		})
		g.leavesNothing("with clients of the program's own, "+name, []int{3, 4}, func() {
			m := made(t, places, redlock.Guard(0), redlock.NodeTimeout(time.Second))
			_, err := m.try(ask("lock", patience))
			otherList(t, "acquiring with clients of the program's own, "+name, err, "n3", newList, oldList)
			_, err = m.Guarantees(inTime(t))
			otherList(t, "Guarantees with clients of the program's own, "+name, err, "n3", newList, oldList)
			m.Close()
		})
	}

	if err := first.release(held); err != nil {
		t.Fatal(err)
	}
	first.Close()
	for node := range g.nodes {
		g.do(node, "DEL", "holdfast:redlock:store")
	}
	second := opened(t, listing(g.places(2, 3, 4), "&guard=0"))
	second.grant(ask("lock", patience))
	g.leavesNothing("opening with the old list", []int{0, 1}, func() {
		_, err := openURL(inTime(t), listing(g.places(0, 1, 2), "&guard=0"))
		otherList(t, "opening with the old list", err, "n3", oldList, newList)
	})
}

// TestLateList: a client's majority has its list, and the node that has another one can be reached only later. From then on nothing is granted and nothing
// renewed, nor by whoever comes with that list next.
func TestLateList(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 5)
	opened(t, listing(g.places(0, 1, 2), "&guard=0"))
	for name, begin := range map[string]func(places []place) *member{
		"opened": func(places []place) *member { return opened(t, listing(places, "&guard=0&node-timeout=500ms")) },
		"made": func(places []place) *member {
			return made(t, places, redlock.Guard(0), redlock.NodeTimeout(500*time.Millisecond))
		},
	} {
		way := nowhere(t)
		if name == "made" { // whose client must have been connected once
			if err := way.Retarget(startRedis(t).Addr()); err != nil {
				t.Fatal(err)
			}
		}
		m := begin(append(g.places(3, 4), place{"n3", way.Addr()}))
		if name == "made" {
			way.Refuse()
			way.Cut()
		}
		r := ask("held", patience)
		held := m.grant(r)
		way.Accept()
		if err := way.Retarget(g.nodes[2].Addr()); err != nil {
			t.Fatal(err)
		}
		until(t, "the list of n3 is found", func() bool {
			own := ask("lock", patience)
			_, err := m.try(own)
			if err == nil {
				if err := m.release(own); err != nil {
					t.Fatal(err)
				}
				return false
			}
			if driver.Answered(err) {
				otherList(t, name+", acquiring", err, "n3", newList, oldList)
			}
			return driver.Answered(err)
		})
		for range 3 {
			_, err := m.try(ask("lock", patience))
			otherList(t, name+", acquiring again", err, "n3", newList, oldList)
		}
		var list *redlock.ListError
		if _, err := held.Lease.Renew(inTime(t), patience); !errors.As(err, &list) {
			t.Errorf("%s, renewing: %v", name, err)
		}
		if err := m.release(r); err != nil {
			t.Errorf("%s, releasing: %v", name, err)
		}
		m.Close()
	}
	_, err := openURL(inTime(t), listing(g.places(2, 3, 4), "&guard=0")) // n4 and n5 have this list by now
	otherList(t, "opening", err, "n3", newList, oldList)
}

// TestReplacedNode: an empty server takes the place of a node, under its name. It votes when its guard is over, and clients that were there before
// and those that come find it.
func TestReplacedNode(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=300ms&node-timeout=500ms")
	warm := ask("lock", 200*time.Millisecond)
	first := a.grant(warm)
	if err := a.release(warm); err != nil {
		t.Fatal(err)
	}
	g.nodes[0].Kill()
	g.nodes[0] = startRedis(t)
	if err := a.ways[0].Retarget(g.nodes[0].Addr()); err != nil {
		t.Fatal(err)
	}
	a.ways[0].Cut()
	g.block("lock", 1) // so that the new node's vote is needed
	next := a.grant(ask("lock", 200*time.Millisecond))
	if next.Token <= first.Token {
		t.Errorf("token %d after %d", next.Token, first.Token)
	}
	b := g.open("&node-timeout=500ms") // with whatever guard is there
	if last := b.grant(ask("lock", 200*time.Millisecond)); last.Token <= next.Token {
		t.Errorf("token %d after %d", last.Token, next.Token)
	}
	if kept := g.do(0, "HGET", "holdfast:redlock:store", "list"); kept != oldList {
		t.Errorf("the new node has the list %v", kept)
	}
}

// TestNotStopped: the list was changed, and one client of the old one was not stopped. It finds out at the node that both have, and grants and renews
// nothing any more.
func TestNotStopped(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 5)
	forgotten := opened(t, listing(g.places(0, 1, 2), "&guard=0&node-timeout=500ms"))
	held := forgotten.grant(ask("held", patience))
	for node := range g.nodes {
		g.do(node, "DEL", "holdfast:redlock:store")
	}
	opened(t, listing(g.places(2, 3, 4), "&guard=0"))
	until(t, "the client with the old list is refused", func() bool {
		own := ask("lock", patience)
		_, err := forgotten.try(own)
		if err == nil {
			if err := forgotten.release(own); err != nil {
				t.Fatal(err)
			}
			return false
		}
		otherList(t, "acquiring", err, "n3", oldList, newList)
		return true
	})
	_, err := forgotten.try(ask("lock", patience))
	otherList(t, "acquiring again", err, "n3", oldList, newList)
	_, err = held.Lease.Renew(inTime(t), patience)
	otherList(t, "renewing", err, "n3", oldList, newList)
}

// TestVetoLasts: a client that has heard of another list at one node grants nothing until that has changed there, though a majority has its own.
func TestVetoLasts(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	a := g.open("&guard=0&node-timeout=1s")
	a.grant(ask("before", time.Minute))
	g.do(0, "HSET", "holdfast:redlock:store", "list", newList)
	g.forgets(2) // it is set up anew, and the others are asked
	refused := func() bool {
		_, err := a.try(ask("lock", time.Minute))
		return errors.As(err, new(*redlock.ListError))
	}
	until(t, "the other list is found", refused)
	for i := 0; i < 300; time.Sleep(time.Millisecond) { // for longer than it takes to be reconsidered
		if i++; !refused() {
			t.Fatalf("try %d was granted, though a node still has another list", i)
		}
	}
	g.do(0, "HSET", "holdfast:redlock:store", "list", oldList)
	until(t, "it is used again", func() bool { _, err := a.try(ask("after", time.Minute)); return err == nil })
}
