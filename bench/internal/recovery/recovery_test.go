package recovery

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

// measured runs one case with a timing of the test's own.
func measured(t *testing.T, name string, timing Timing) *Outcome {
	t.Helper()
	server, err := servers.StartRedis(t.Context()) // only to see whether it could
	servers.Need(t, err)
	server.Close()
	cases, err := SelectCases([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	timing.Name = "test"
	o, err := Measure(t.Context(), cases[0], timing)
	if err != nil {
		t.Fatal(err)
	}
	if o.Primary <= 0 || o.Acquired <= 0 || o.Renewed <= 0 {
		t.Errorf("not everything was measured: %+v", o)
	}
	return o
}

// TestCases: without a guard every case comes to its end, and holds go on wherever a server has heard of them. The TTL is longer than all of it.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o := measured(t, c.Name, Timing{TTL: 5 * time.Minute})
			if forgotten := c.Name == "restart-empty"; (o.Lost != "") != forgotten {
				t.Errorf("the hold was lost: %q; forgotten by the server: %v", o.Lost, forgotten)
			}
		})
	}
}

// TestGuardPasses: with a guard nobody acquires before it is over, and a server that forgot a hold does not renew it.
func TestGuardPasses(t *testing.T) {
	t.Parallel()
	const alone = 700 * time.Millisecond
	o := measured(t, "restart-empty", Timing{TTL: alone, Alone: alone})
	if o.Acquired < alone {
		t.Errorf("acquired after %v, in a guard of %v", o.Acquired, alone)
	}
	if o.Lost == "" {
		t.Error("a server that forgot the hold has renewed it")
	}
}

// TestFencePasses: with replicas a new primary renews nothing at first. A hold that is shorter than that is lost.
func TestFencePasses(t *testing.T) {
	t.Parallel()
	timing, err := SelectTimings([]string{"shortest"})
	if err != nil {
		t.Fatal(err)
	}
	o := measured(t, "promote", timing[0])
	if o.Guard != 4*time.Second || o.Acquired < o.Guard {
		t.Errorf("acquired after %v, with a guard of %v", o.Acquired, o.Guard)
	}
	if o.Lost != "expired" {
		t.Errorf("the hold: %q; want it expired", o.Lost)
	}
}

// TestMeasureFails: what cannot be done is told, and what waits for it ends.
func TestMeasureFails(t *testing.T) {
	t.Parallel()
	wrong := errors.New("no luck")
	err := together(t.Context(),
		func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		func(context.Context) error { return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ended, Cases()[0], Timing{Name: "test", TTL: time.Second}); err == nil {
		t.Error("it was measured though the context had ended")
	}
}
