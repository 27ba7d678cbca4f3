package torture_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/locktest/servers"
	"holdfast.dev/torture"
)

// one is one control, with one seed.
func one(name string) torture.ControlOptions {
	return torture.ControlOptions{Names: []string{name}, Seed: 1, Seeds: 1, Parallel: 2}
}

// A broken lock is caught by a checker that is meant to, its twin passes, and both can be looked at afterwards.
func TestControl(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ended []torture.ControlState
	o := one("N1")
	o.Names = []string{"N1", "N1"}
	o.Into = t.TempDir()
	o.Progress = func(s torture.ControlState) {
		mu.Lock()
		defer mu.Unlock()
		ended = append(ended, s)
	}
	r, err := torture.Controls(t.Context(), o)
	servers.Need(t, err)
	d := read(t, r)
	if !r.Passed() || len(d.Controls) != 1 || d.Controls[0].Caught != 1 || d.Controls[0].TwinPassed != 1 || len(d.Controls[0].By) == 0 {
		t.Errorf("%s\n%+v", text(t, r), ended)
	}
	if len(ended) != 2 || !ended[0].Good || !ended[1].Good || ended[0].Broken == ended[1].Broken {
		t.Errorf("progress: %+v", ended)
	}
	for kind, passes := range map[string]bool{"broken": false, "twin": true} {
		if r, err := torture.Check([]string{filepath.Join(o.Into, "N1-"+kind+"-1")}, nil); err != nil || r.Passed() != passes {
			t.Errorf("%s: %v, passed %v", kind, err, !passes)
		}
	}
}

// The gate can fail: a broken lock that is none is not caught, and a twin that is broken does not pass.
func TestControlsCanFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken bool
		want   string
	}{
		"all are right":  {false, "FAILED: The broken lock N1 was caught with 0 of 1 seeds only"},
		"all are broken": {true, "FAILED: The correct twin of N1 passed with 0 of 1 seeds only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var good []bool
			o := one("N1").Instead(func(bool) bool { return c.broken })
			o.Progress = func(s torture.ControlState) {
				mu.Lock()
				defer mu.Unlock()
				good = append(good, s.Good == (s.Broken == c.broken))
			}
			r, err := torture.Controls(t.Context(), o)
			servers.Need(t, err)
			if r.Passed() || !strings.Contains(text(t, r), c.want) || !slices.Equal(good, []bool{true, true}) {
				t.Errorf("%v\n%s", good, text(t, r))
			}
		})
	}
}

// What cannot be tried is refused, with words that say what can.
func TestBadControls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*torture.ControlOptions)
		want   string
	}{
		{func(o *torture.ControlOptions) { o.Names = []string{"N1", "N0"} }, `there is no control "N0"; there are N1, N2, `},
		{func(o *torture.ControlOptions) { o.Seeds = 0 }, "0 seeds"},
		{func(o *torture.ControlOptions) { o.Parallel = 0 }, "0 at the same time"},
	} {
		o := one("N1")
		c.change(&o)
		if r, err := torture.Controls(t.Context(), o); r != nil || !errors.Is(err, torture.ErrOption) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v; want %q", r, err, c.want)
		}
	}
	if names := torture.ControlNames(); len(names) < 10 || !slices.Contains(names, "N3") {
		t.Errorf("%v", names)
	}
}

// A stop is no verdict: what was not tried to its end is not in the result. Neither is what could not be tried.
func TestControlsEndEarly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := torture.Controls(ctx, torture.ControlOptions{Seed: 1, Seeds: 3, Parallel: 2})
	if !errors.Is(err, torture.ErrStopped) || len(read(t, r).Controls) != 0 || r.Passed() {
		t.Errorf("stopped: %v\n%s", err, text(t, r))
	}
	o := one("N1")
	o.Program = []string{filepath.Join(t.TempDir(), "nowhere")}
	r, err = torture.Controls(t.Context(), o)
	if errors.Is(err, servers.ErrMissing) {
		servers.Need(t, err)
	}
	if err == nil || !strings.Contains(err.Error(), "control N1, seed 1, broken true: starting a worker process") || r.Passed() || len(read(t, r).Controls) != 0 {
		t.Errorf("without workers: %v\n%s", err, text(t, r))
	}
}
