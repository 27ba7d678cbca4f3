package redlock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/redislock/redlock"
)

// sameServer fails the test unless err says that a node is the same server as another one, and which.
func sameServer(t *testing.T, doing string, err error, nodes ...string) {
	t.Helper()
	var node *driver.NodeError
	if !errors.Is(err, redlock.ErrSameServer) || !driver.Answered(err) || !errors.As(err, &node) {
		t.Errorf("%s: %v: want ErrSameServer, as an answer, in a *driver.NodeError", doing, err)
		return
	}
	for _, name := range nodes {
		if node.Node == name {
			return
		}
	}
	t.Errorf("%s: it names %s, not one of %v", doing, node.Node, nodes)
}

// TestTwins: one server under two names would have two votes. Nothing is granted, nothing is written, and the reason is told.
func TestTwins(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	address := g.nodes[0].Addr()
	way, err := netfault.New(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { way.Close() })
	twins := []place{{"a", address}, {"b", way.Addr()}, {"c", g.nodes[2].Addr()}}

	for name, url := range map[string]string{
		"two addresses": listing(twins, "&guard=0"),
		"two names":     listing([]place{{"a", address}, {"b", address}}, "&guard=0"),
		"two databases": "redlock://?node=redis://" + address + "/0&node=redis://" + address + "/1&node=redis://" + g.nodes[2].Addr() + "&guard=0",
	} {
		g.leavesNothing("opening, by "+name, []int{0, 2}, func() { // else the right list would be refused afterwards
			store, err := openURL(inTime(t), url)
			if err == nil {
				store.Close()
			}
			sameServer(t, "opening, by "+name, err, "a", "b", address, address+"/1")
		})
	}
	for _, use := range []string{"Acquire", "Guarantees"} {
		g.leavesNothing(use+", with clients of the program's own", []int{0, 2}, func() {
			m := made(t, twins, redlock.Guard(0), redlock.NodeTimeout(time.Second))
			for range 3 {
				sameServer(t, use+", with clients of the program's own", uses[use](inTime(t), m.Store), "a", "b")
			}
			m.Close()
		})
	}

	opened(t, listing([]place{{"a", address}, {"b", g.nodes[1].Addr()}, {"c", g.nodes[2].Addr()}}, "&guard=0")).Close()
	way.Delay(netfault.Replies, 20*time.Millisecond, 0, 1) // so that the others could have voted before
	for _, use := range []string{"Acquire", "Guarantees"} {
		var err error
		for i := 0; i < 5 && err == nil; i++ { // where the machine is too busy it is not waited for long enough
			m := made(t, twins, redlock.Guard(0), redlock.NodeTimeout(time.Second))
			err = uses[use](inTime(t), m.Store)
			m.Close()
			g.unblock("lock", 0, 2)
		}
		sameServer(t, use+", where the others know the list, and the second name is slow", err, "a", "b")
	}
}

// TestLateTwin: the second name of a server leads to it only when the store is open, and in use. From then on nothing is granted or renewed; when it
// leads elsewhere all is well again.
func TestLateTwin(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	way := nowhere(t)
	m := opened(t, listing([]place{{"a", g.nodes[0].Addr()}, {"b", way.Addr()}, {"c", g.nodes[2].Addr()}}, "&guard=0&node-timeout=500ms"))
	r := ask("held", patience)
	held := m.grant(r)
	if err := way.Retarget(g.nodes[0].Addr()); err != nil {
		t.Fatal(err)
	}
	until(t, "a client whose list has a server twice is refused", func() bool {
		own := ask("lock", patience)
		_, err := m.try(own)
		if err == nil { // the second name has not been found yet
			if err := m.release(own); err != nil {
				t.Fatal(err)
			}
			return false
		}
		if driver.Answered(err) {
			sameServer(t, "acquiring", err, "a", "b")
		}
		return driver.Answered(err)
	})
	for range 3 {
		_, err := m.try(ask("lock", patience))
		sameServer(t, "acquiring again", err, "a", "b")
	}
	if _, err := held.Lease.Renew(inTime(t), patience); !errors.Is(err, redlock.ErrSameServer) {
		t.Errorf("renewing: %v", err)
	}
	if err := way.Retarget(g.nodes[1].Addr()); err != nil {
		t.Fatal(err)
	}
	way.Cut()
	until(t, "all is well again", func() bool {
		own := ask("lock", patience)
		_, err := m.try(own)
		return err == nil && m.release(own) == nil
	})
}
