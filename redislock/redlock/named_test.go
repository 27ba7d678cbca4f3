package redlock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"holdfast.dev/locktest/netfault"
	"holdfast.dev/redislock/redlock"
)

// inTime is a context for what must answer by itself: a hang fails the test.
func inTime(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// A place is a node of a list: its name there, and where it is.
type place struct{ name, address string }

// places are the nodes of the group under their usual names, n1 and so on; numbers begin with 0. No number: all.
func (g *group) places(numbers ...int) (all []place) {
	if len(numbers) == 0 {
		for i := range g.nodes {
			numbers = append(numbers, i)
		}
	}
	for _, i := range numbers {
		all = append(all, place{fmt.Sprintf("n%d", i+1), g.nodes[i].Addr()})
	}
	return all
}

// listing is the URL of a list, with parameters such as &guard=0.
func listing(places []place, params string) string {
	text, sign := "redlock://", "?"
	for _, p := range places {
		text += sign + "node=redis://" + p.address + "?name=" + p.name
		sign = "&"
	}
	return text + params
}

// opened opens a store that ends with the test.
func opened(t *testing.T, url string) *member {
	t.Helper()
	store, err := openURL(inTime(t), url)
	if err != nil {
		t.Fatal(err)
	}
	return joined(t, store.(*redlock.Store))
}

// joined is a store that ends with the test.
func joined(t *testing.T, store *redlock.Store) *member {
	t.Cleanup(func() { store.Close() })
	return &member{Store: store, t: t}
}

// clientsOf are clients of a program's own. Names says what the list calls them.
func clientsOf(t *testing.T, places []place) (all []rueidis.Client, names redlock.Option) {
	t.Helper()
	var called []string
	for _, p := range places {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.address}, ForceSingleClient: true, DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		all, called = append(all, client), append(called, p.name)
	}
	return all, redlock.Names(called...)
}

// made is a store over clients of a program's own.
func made(t *testing.T, places []place, options ...redlock.Option) *member {
	t.Helper()
	clients, names := clientsOf(t, places)
	return joined(t, redlock.New(clients, append(options, names)...))
}

// nowhere is a way to a node that leads there only when the test says so, by Retarget.
func nowhere(t *testing.T) *netfault.Proxy {
	t.Helper()
	way, err := netfault.New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { way.Close() })
	return way
}
