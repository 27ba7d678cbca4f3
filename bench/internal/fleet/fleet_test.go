package fleet

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/locktest/servers"
)

const far = 20 * time.Millisecond

func start(t *testing.T) *Fleet {
	t.Helper()
	f, err := Start(t.Context(), 3, far)
	servers.Need(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func dial(t *testing.T, addr string) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestAddr: near and far lead to the same servers, and the far way is longer.
func TestAddr(t *testing.T) {
	f := start(t)
	near, away := strings.Split(f.Addr(2, false), ","), strings.Split(f.Addr(2, true), ",")
	if len(near) != 2 || len(away) != 2 || near[0] == near[1] || near[0] == away[0] {
		t.Fatalf("near %q, far %q", near, away)
	}
	for i := range near {
		one, other := dial(t, near[i]), dial(t, away[i])
		if err := one.Do(t.Context(), one.B().Set().Key("node").Value(near[i]).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := other.Do(t.Context(), other.B().Get().Key("node").Build()).ToString()
		if took := time.Since(began); err != nil || got != near[i] || took < far {
			t.Errorf("the far way to %s leads to %q, %v, in %v", near[i], got, err, took)
		}
	}
}

// TestProbe: it asks the nodes that there are to ask, and adds up what they did.
func TestProbe(t *testing.T) {
	f := start(t)
	probe, err := f.Probe(2)
	if err != nil {
		t.Fatal(err)
	}
	before, err := probe.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range strings.Split(f.Addr(3, false), ",") {
		client := dial(t, addr)
		if err := client.Do(t.Context(), client.B().Echo().Message("x").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := probe.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, calls := after.Since(before); calls["echo"] != 2 {
		t.Errorf("two of three nodes have carried out %d: %v", calls["echo"], calls)
	}
	if again, err := f.Probe(2); again != probe || err != nil {
		t.Error("a probe is opened again each time")
	}
}

// TestStop: a node that stands still answers nobody, and is not asked; mended it answers.
func TestStop(t *testing.T) {
	f := start(t)
	probe, err := f.Probe(3)
	if err != nil {
		t.Fatal(err)
	}
	mend, err := f.Stop(t.Context(), 1)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := probe.Info(ctx); err == nil {
		t.Error("it answers")
	}
	if _, err := probe.But(1).Info(t.Context()); err != nil {
		t.Errorf("the others do not: %v", err)
	}
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Info(t.Context()); err != nil {
		t.Errorf("mended: %v", err)
	}
}

// TestAged: what it waits for is what Redis calls the server's age.
func TestAged(t *testing.T) {
	f := start(t)
	if err := f.Aged(t.Context(), 0); err != nil || time.Since(f.since) > time.Minute {
		t.Errorf("without a guard: %v", err)
	}
	if err := f.Aged(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	for _, node := range f.nodes {
		info, err := node.Info(t.Context(), "server")
		if err != nil {
			t.Fatal(err)
		}
		if age, err := strconv.Atoi(info["uptime_in_seconds"]); err != nil || age < 2 {
			t.Errorf("it is %d seconds old, %v; a second more than the guard is wanted", age, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Aged(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
