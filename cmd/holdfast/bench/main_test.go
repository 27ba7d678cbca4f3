//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRun lets it measure stand-ins: what counts here is what it does with the times, not how long anything takes.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	standIn := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log := filepath.Join(dir, "log")
	good := standIn("holdfast", `echo "$* HOME=${HOME##`+dir+`/holdfast-bench-*}" >>`+log)
	standIn("flock", "echo flock >>"+log)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))

	var out strings.Builder
	if err := run(t.Context(), options{batches: 3, rounds: 2, bar: 1e9, program: good, dir: dir}, &out); err != nil {
		t.Fatal(err)
	}
	shape := `^ +true +flock +holdfast +ratio\n( +\d+\.\d\dms +\d+\.\d\dms +\d+\.\d\dms +\d+\.\d\d\n){3}` +
		`holdfast run takes \d+\.\d\d times as long as flock \(median of 3 batches of 2 rounds; the bar is 1e\+09\)\n$`
	if !regexp.MustCompile(shape).MatchString(out.String()) {
		t.Errorf("got:\n%s", out.String())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "holdfast-bench-*")); err != nil || len(left) != 0 {
		t.Errorf("it left %v behind", left)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	ours := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "run x -- /") && strings.HasSuffix(line, "/true HOME=") {
			ours++
		} else if line != "flock" {
			t.Errorf("an unknown command: %q", line)
		}
	}
	if ours != 9 || len(lines) != 18 { // 3 batches of 2 rounds and a first that is thrown away
		t.Errorf("%d runs, %d of them ours, want 18 and 9", len(lines), ours)
	}

	if err := run(t.Context(), options{batches: 1, rounds: 1, bar: 1e-9, program: good}, &out); err == nil || !strings.Contains(err.Error(), "above the bar") {
		t.Errorf("a bar that nothing can meet: %v", err)
	}
	bad := standIn("broken", "exit 3")
	if err := run(t.Context(), options{batches: 1, rounds: 1, bar: 3, program: bad}, &out); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := run(t.Context(), options{rounds: 1, bar: 3, program: bad}, &out); err == nil {
		t.Error("no batch is no measurement")
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []int
		want   int
	}{{[]int{5}, 5}, {[]int{9, 1, 5}, 5}, {[]int{4, 1, 3, 2}, 3}} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median of %v is %d, want %d", tt.values, got, tt.want)
		}
	}
}
