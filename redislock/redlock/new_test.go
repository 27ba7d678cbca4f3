package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/redlock"
)

// uses is everything that asks the nodes for something.
var uses = map[string]func(ctx context.Context, s *redlock.Store) error{
	"Acquire": func(ctx context.Context, s *redlock.Store) error {
		_, err := s.Acquire(ctx, ask("lock", time.Second))
		return err
	},
	"Release":    func(ctx context.Context, s *redlock.Store) error { return s.Release(ctx, ask("lock", time.Second)) },
	"Guarantees": func(ctx context.Context, s *redlock.Store) error { _, err := s.Guarantees(ctx); return err },
	"Identity":   func(ctx context.Context, s *redlock.Store) error { _, err := s.Identity(ctx); return err },
	"Inspect": func(ctx context.Context, s *redlock.Store) error {
		_, err := s.Inspect(ctx, "lock", driver.Exclusive)
		return err
	},
	"List": func(ctx context.Context, s *redlock.Store) error {
		for _, err := range s.List(ctx, "") {
			return err
		}
		return nil
	},
	"Break": func(ctx context.Context, s *redlock.Store) error {
		return s.Break(ctx, &driver.BreakRequest{Name: "lock", Mode: driver.Exclusive, Token: 1})
	},
}

// TestNewMistakes: New has no error to return, so that a program's mistake is told by whatever is asked first, and by all that follows.
func TestNewMistakes(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 2)
	clients, _ := clientsOf(t, g.places())
	for name, store := range map[string]*redlock.Store{
		"no clients":               redlock.New(nil),
		"no clients, but names":    redlock.New(nil, redlock.Names("a")),
		"a client that is nil":     redlock.New([]rueidis.Client{clients[0], nil}),
		"all clients are nil":      redlock.New([]rueidis.Client{nil, nil, nil}, redlock.Names("a", "b", "c")),
		"too few names":            redlock.New(clients, redlock.Names("a")),
		"too many names":           redlock.New(clients, redlock.Names("a", "b", "c")),
		"a name twice":             redlock.New(clients, redlock.Names("a", "a")),
		"a client twice":           redlock.New([]rueidis.Client{clients[0], clients[0]}),
		"an empty name":            redlock.New(clients, redlock.Names("a", "")),
		"a name with a comma":      redlock.New(clients, redlock.Names("a", "b,c")),
		"a short TTL":              redlock.New(clients, redlock.TTL(99*time.Millisecond)),
		"a short guard":            redlock.New(clients, redlock.Guard(99*time.Millisecond)),
		"a long time-out":          redlock.New(clients, redlock.NodeTimeout(11*time.Second)),
		"a prefix with a space":    redlock.New(clients, redlock.Prefix("a b")),
		"a mistake, then none":     redlock.New(clients, redlock.Prefix("a b"), redlock.Names("a", "b")),
		"a mistake before a guard": redlock.New(clients, redlock.TTL(time.Millisecond), redlock.Guard(0)),
	} {
		for use, call := range uses {
			err := call(inTime(t), store)
			if !errors.Is(err, driver.ErrRequest) || !driver.Answered(err) {
				t.Errorf("%s, %s: %v: want driver.ErrRequest", name, use, err)
			}
		}
		if err := store.Close(); err != nil {
			t.Errorf("%s, Close: %v", name, err)
		}
	}
	for node := range g.nodes {
		if keys := g.do(node, "KEYS", "*").([]any); len(keys) > 0 {
			t.Errorf("a node has %v", keys)
		}
	}
}

// TestNewLeavesClients: the clients are the program's, which goes on using them when the store is closed. The store does not.
func TestNewLeavesClients(t *testing.T) {
	t.Parallel()
	g := startGroup(t, 3)
	clients, names := clientsOf(t, g.places())
	m := joined(t, redlock.New(clients, names, redlock.Guard(0)))
	r := ask("lock", patience)
	grant := m.grant(r)
	if grant.Token == 0 {
		t.Error("no token")
	}
	if err := m.release(r); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for use, call := range uses {
		if err := call(inTime(t), m.Store); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s of a closed store: %v", use, err)
		}
	}
	for i, client := range clients {
		if err := client.Do(inTime(t), client.B().Ping().Build()).Error(); err != nil {
			t.Errorf("the client of node %d was closed with the store: %v", i+1, err)
		}
	}
	next := joined(t, redlock.New(clients, names, redlock.Guard(0)))
	if again := next.grant(ask("lock", patience)); again.Token <= grant.Token {
		t.Errorf("token %d after %d", again.Token, grant.Token)
	}
}
