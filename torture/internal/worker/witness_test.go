package worker_test

import (
	"testing"

	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/worker"
)

// What is left of a process at its end it says: nothing, or how much.
func TestRest(t *testing.T) {
	for store, want := range map[string]map[history.Flag]int64{
		"mem://tidy": {history.Goroutines: 0, history.Descriptors: 0},
		leaking:      {history.Goroutines: 2, history.Descriptors: 2},
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			c := start(t, store, worker.Mix{Use: 1})
			c.until(history.Release, history.Done, some, nothing)
			c.tell("drain")
			if code := c.ends(); code != 0 {
				t.Errorf("it ended with %d", code)
			}
			rest := c.records(history.Process, history.Rest)
			if len(rest) != 2 {
				t.Fatalf("%+v", rest)
			}
			for _, r := range rest {
				if r.Value != want[r.Flags] && procfs(r.Flags) {
					t.Errorf("of %d there are %d left; want %d", r.Flags, r.Value, want[r.Flags])
				}
			}
			if left := c.records(history.Round, history.Leak); len(left) != 1 || left[0].Value != 0 {
				t.Errorf("what is left in the store: %+v", left)
			}
		})
	}
}

// A holder that is broken is told so, and its process said who it was.
func TestBreak(t *testing.T) {
	t.Parallel()
	c := start(t, "mem://broken", worker.Mix{Long: 1})
	c.until(history.Hold, history.LossTold, func(r history.Record) bool { return r.Outcome == history.Broken }, func() { c.tell("break 0") })
	c.tell("drain")
	if code := c.ends(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// A hold that lasts is renewed, and its holder says that it believes in it.
func TestLong(t *testing.T) {
	t.Parallel()
	c := start(t, "mem://long", worker.Mix{Long: 1})
	c.until(history.Hold, history.Renewed, func(r history.Record) bool { return r.Token > 0 && r.Value > int64(r.At) }, nothing)
	c.until(history.Hold, history.Claimed, func(r history.Record) bool { return r.Attempt > 0 && r.Value > int64(r.At) }, nothing)
	c.tell("drain")
	if code := c.ends(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// Whoever ends its input ends the process, with all that it holds.
func TestInputEnds(t *testing.T) {
	t.Parallel()
	c := start(t, "mem://left", worker.Mix{Long: 1})
	c.until(history.Acquire, history.Done, some, nothing)
	c.input.Close()
	if code := c.ends(); code != 1 {
		t.Errorf("it ended with %d", code)
	}
}
