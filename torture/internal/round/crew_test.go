package round_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// plan is one of an hour: whoever ends it has a reason.
func plan(t *testing.T, store string, command ...string) round.Plan {
	t.Helper()
	kind, known := arena.Find(store)
	if !known {
		t.Fatal(store)
	}
	mix := worker.Plan
	mix.Die = 0
	return round.Plan{Number: 1, Seed: 1, Kind: kind, Class: "none", TTL: 300 * time.Millisecond, Duration: time.Hour, Workers: 4,
		PerEach: 2, Locks: round.Locks(), Mix: mix, Command: command}
}

// A process that ends by itself is the end of the round, at once, and is named; what it said is in the log, and the round says that it is
// broken. One that cannot be started is no round at all.
func TestProcessEndsByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command []string
		want    string
		broken  bool
	}{
		{[]string{os.Args[0], "complain"}, "ended with code 3", true},
		{[]string{filepath.Join(t.TempDir(), "nowhere")}, "starting a worker process", false},
	} {
		dir := t.TempDir()
		err := round.Run(t.Context(), plan(t, "file", c.command...), dir, holdfast.Open)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.command[1:], err, c.want)
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log.txt"))
		if said := strings.Contains(string(log), complaint); said != (len(c.command) > 1) {
			t.Errorf("%q: the log: %q", c.command[1:], log)
		}
		broken := new(round.BrokenError)
		if errors.As(err, &broken) != c.broken {
			t.Errorf("%q: %T", c.command[1:], err)
		}
		h, err := round.Load(dir)
		switch {
		case c.broken && (err != nil || !strings.Contains(h.Meta.Broken, c.want)):
			t.Errorf("%q: %v, %+v", c.command[1:], err, h)
		case !c.broken && (err == nil || !strings.Contains(err.Error(), "did not come to its end")):
			t.Errorf("%q: it left a round: %v", c.command[1:], err)
		}
	}
}

// What ends the context ends the round, wherever it is, for that reason.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	reason := errors.New("enough")
	for _, phase := range []string{"starting", "running"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := plan(t, "file", os.Args[0])
		p.Watch = func(s round.State) {
			if s.Phase == phase && (phase == "starting" || s.Operations > 0) {
				cancel(reason)
			}
		}
		dir := t.TempDir()
		if err := round.Run(ctx, p, dir, holdfast.Open); !errors.Is(err, reason) {
			t.Errorf("%s: %v", phase, err)
		}
		if _, err := round.Load(dir); err == nil {
			t.Errorf("%s: it left a round", phase)
		}
		cancel(nil)
	}
}
