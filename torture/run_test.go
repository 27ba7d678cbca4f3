package torture_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/torture"
)

// A run leaves a bundle; another one into it adds up; whoever judges it again, or only reads it, gets the same numbers.
func TestRunsAddUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	o := options(dir)
	var states []torture.State
	o.Progress = func(s torture.State) { states = append(states, s) }
	one, err := torture.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, one)
	if !one.Passed() || first.Rounds != 1 || first.operations() == 0 || !slices.Equal(first.Bundles, []string{dir}) {
		t.Fatalf("%s", text(t, one))
	}
	if last := states[len(states)-1]; last.Store != "memory" || last.Round != 1 || last.Operations == 0 || last.Violations != 0 || states[0].Left == 0 {
		t.Errorf("progress: from %+v to %+v", states[0], last)
	}
	o.Seed = 2
	two, err := torture.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	both := read(t, two)
	if both.Rounds != 2 || both.operations() <= first.operations() || !slices.Equal(both.Seeds, []uint64{1, 2}) || len(both.Timeline) != 2 {
		t.Errorf("after the second run: %d rounds, %d operations after %d, seeds %v, %d timelines", both.Rounds, both.operations(),
			first.operations(), both.Seeds, len(both.Timeline))
	}
	if err := os.Remove(filepath.Join(dir, "round-000001.json")); err != nil { // as if the run had been killed before it was judged
		t.Fatal(err)
	}
	judged := 0
	checked, err := torture.Check([]string{dir, filepath.Join(dir, ".")}, func(_ string, round int) { judged += round })
	reported, failed := torture.Report([]string{dir})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if got := read(t, checked); !reflect.DeepEqual(got, both) || judged != 3 {
		t.Errorf("Check: %+v\nwant %+v; told of %d", got, both, judged)
	}
	if got := read(t, reported); !reflect.DeepEqual(got, both) {
		t.Errorf("Report: %+v\nwant %+v", got, both)
	}
	expectOutputs(t, checked)
}

// expectOutputs looks into all forms of a result.
func expectOutputs(t *testing.T, r *torture.Result) {
	t.Helper()
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  []string
	}{
		"text":     {func(w io.Writer) error { return r.Text(w, 100) }, []string{"$ a test\n", "2 rounds in", "PASSED", "holdfast torture check "}},
		"JSON":     {r.JSON, []string{`"rounds":2`, `"store":"memory"`}},
		"HTML":     {r.HTML, []string{"<!doctype html>", "memory", "</html>"}},
		"Markdown": {r.Markdown, []string{"# ", "| ", "memory"}},
	} {
		var b strings.Builder
		err := c.write(&b)
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) || err != nil {
				t.Errorf("%s: %v; it lacks %q:\n%.300s", name, err, want, b.String())
			}
		}
	}
}

// A run that is not kept says nothing about where to look.
func TestRunIsNotKept(t *testing.T) {
	t.Parallel()
	o := options("")
	o.Duration, o.Faults = 500*time.Millisecond, []string{"break-now"}
	r, err := torture.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if d := read(t, r); len(d.Bundles) != 0 || d.Rounds != 1 || strings.Contains(text(t, r), "torture check") {
		t.Errorf("%+v\n%s", d, text(t, r))
	}
}

// A context that ends in the middle of a round ends the run: what was done before is kept, and the bundle is good.
func TestStopped(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bundle")
	o := options(dir)
	o.Stores, o.Faults = []string{"memory", "file"}, []string{"worker-stop"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := 0
	o.Progress = func(s torture.State) {
		switch {
		case s.Round == 1:
			before = s.Operations
		case s.Store == "file" && s.Operations > before:
			cancel()
		}
	}
	r, err := torture.Run(ctx, o)
	if !errors.Is(err, torture.ErrStopped) {
		t.Fatal(err)
	}
	stopped := read(t, r)
	if stopped.Rounds != 1 || r.Passed() || r.Violations() > 0 || stopped.Rows[0].Store != "memory" {
		t.Errorf("%s", text(t, r))
	}
	checked, err := torture.Check([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, checked); !reflect.DeepEqual(got, stopped) {
		t.Errorf("Check: %+v\nwant %+v", got, stopped)
	}
	o.Stores, o.Duration, o.Progress = []string{"memory"}, 500*time.Millisecond, nil
	if r, err = torture.Run(t.Context(), o); err != nil || read(t, r).Rounds != 2 {
		t.Errorf("it does not go on: %v", err)
	}
}

// Without a duration a run goes on until it is stopped. Nothing was done by then, which proves nothing.
func TestRunsUntilStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options("")
	o.Duration = 0
	o.Progress = func(s torture.State) {
		if s.Left != 0 {
			t.Errorf("%v are left of what has no end", s.Left)
		}
		if s.Operations > 0 {
			cancel()
		}
	}
	r, err := torture.Run(ctx, o)
	if !errors.Is(err, torture.ErrStopped) || read(t, r).Rounds != 0 || r.Passed() {
		t.Errorf("%v, %s", err, text(t, r))
	}
	if r, err := torture.Run(ctx, o); !errors.Is(err, torture.ErrStopped) || read(t, r).Rounds != 0 {
		t.Errorf("it had been stopped before it began: %v", err)
	}
}

// A round whose processes do not work is none, and the error has what they said.
func TestNoWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program []string
		rounds  int // that have begun, and count as violations
		want    []string
	}{
		{[]string{filepath.Join(t.TempDir(), "nowhere")}, 0, []string{"round 1 (file)", "starting a worker process", "nowhere"}},
		{[]string{os.Args[0], complain}, 3, []string{"3 rounds in a row", "(3, file)", "ended with code 1", "The worker processes said:\n" + complaint}},
	} {
		dir := filepath.Join(t.TempDir(), "bundle")
		o := options(dir)
		o.Stores, o.Program, o.Duration = []string{"file"}, c.program, time.Hour
		r, err := torture.Run(t.Context(), o)
		if err == nil || errors.Is(err, torture.ErrOption) || errors.Is(err, torture.ErrStopped) || read(t, r).Rounds != c.rounds || r.Violations() != c.rounds || r.Passed() {
			t.Fatalf("%v", err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nlacks %q", err, want)
			}
		}
	}
}

// Two runs never write into one bundle: the second is refused, and says why.
func TestTwoRunsIntoOneBundle(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a bundle")
	begun, done := make(chan struct{}), make(chan error, 1)
	begin := sync.OnceFunc(func() { close(begun) })
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, err := torture.Run(ctx, torture.Options{Stores: []string{"memory"}, Workers: 2, Into: dir, Duration: time.Minute,
			Progress: func(torture.State) { begin() }})
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		t.Fatalf("the first run: %v", err)
	}
	options := torture.Options{Stores: []string{"memory"}, Workers: 2, Into: dir, Duration: time.Second}
	if _, err := torture.Run(t.Context(), options); !errors.Is(err, torture.ErrBusy) {
		t.Errorf("the second run: %v", err)
	}
	stop()
	if err := <-done; !errors.Is(err, torture.ErrStopped) {
		t.Errorf("the first run: %v", err)
	}
	if _, err := torture.Run(t.Context(), options); err != nil {
		t.Errorf("the third run, when nobody writes any more: %v", err)
	}
}
