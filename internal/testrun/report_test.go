package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// script is what go test -json says, as one line "action test output" for each event of package p; a dash stands for no test.
func script(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		name, output, _ := strings.Cut(rest, " ")
		e := event{Action: action, Package: "p", Test: strings.TrimPrefix(name, "-"), Output: output, Elapsed: 0.5}
		if output != "" {
			e.Output += "\n"
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

// reports are runs of go test, and what must be said of them.
var reports = []struct {
	name    string
	events  []string
	all     bool
	want    []string
	not     []string
	wantErr string
}{
	{
		name:   "a package that passes is one line",
		events: []string{"output A chatter", "pass A", "output - PASS", "output - noise", "output - ok  \tp\t0.1s", "pass -"},
		want:   []string{"ok  \tp\t0.1s\n", "0.50s  p A", "1 tests passed, 0 failed, 0 were skipped; 1 packages"},
		not:    []string{"chatter", "noise", "PASS"},
	},
	{
		name: "a failure is printed in full, without those that passed",
		events: []string{"run A", "output A === RUN   A", "run A/x", "output A/x === RUN   A/x", "output A/x why", "output A/x --- FAIL: A/x",
			"fail A/x", "output A --- FAIL: A", "fail A", "run B", "output B chatter", "pass B", "output - FAIL", "output - exit status 1",
			"output - FAIL\tp\t0.1s", "fail -"},
		want:    []string{"--- FAIL: A\n--- FAIL: A/x\nwhy\nexit status 1\nFAIL\tp\t0.1s\n", "1 tests passed, 2 failed"},
		not:     []string{"=== RUN", "chatter", "s  p A\n"},
		wantErr: "tests failed",
	},
	{
		name:    "a test that never ended is printed when its package fails",
		events:  []string{"run A", "output A panic: gone", "output - FAIL\tp\t0.1s", "fail -"},
		want:    []string{"panic: gone\n"},
		wantErr: "no test ran",
	},
	{
		name:    "a package that never ended is a failure",
		events:  []string{"pass A", "run B", "output B last words"},
		want:    []string{"FAIL\tp\t[did not end]\nlast words\n"},
		wantErr: "tests failed",
	},
	{
		name:   "a skip is shown with its reason",
		events: []string{"pass A", "output B === RUN   B", "output B     b_test.go:7: no server", "output B --- SKIP: B", "skip B", "pass -"},
		want:   []string{"skipped: p B: b_test.go:7: no server\n", "1 were skipped"},
	},
	{
		name:    "where everything is required a skip is a failure",
		events:  []string{"pass A", "skip B", "pass -"},
		all:     true,
		want:    []string{"skipped: p B: no reason given\n"},
		wantErr: "1 tests were skipped",
	},
	{
		name:    "nothing tested is a failure",
		events:  []string{"output - ?   \tp\t[no test files]", "skip -"},
		want:    []string{"?   \tp\t[no test files]\n"},
		wantErr: "no test ran",
	},
	{
		name:   "compiler errors are passed on",
		events: []string{"build-output - a.go:1:1: syntax error", "pass A", "pass -"},
		want:   []string{"a.go:1:1: syntax error\n"},
	},
}

func TestReport(t *testing.T) {
	for _, tt := range reports {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(script(t, tt.events...))); err != nil {
				t.Fatal(err)
			}
			r.summary()
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, out.String())
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q should not be in:\n%s", not, out.String())
				}
			}
			err := r.verdict(tt.all)
			if (err == nil) != (tt.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("verdict %v, want %q", err, tt.wantErr)
			}
		})
	}
}

func TestSlowestAreTenLeavesInOrder(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	for i := range 12 {
		r.add(event{Action: "run", Package: "p", Test: "A"})
		r.add(event{Action: "pass", Package: "p", Test: "A/" + string(rune('a'+i)), Elapsed: float64(i)})
	}
	r.add(event{Action: "pass", Package: "p", Test: "A", Elapsed: 66})
	r.add(event{Action: "pass", Package: "p"})
	r.summary()
	_, list, _ := strings.Cut(out.String(), "slowest tests:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	lines := strings.Split(list, "\n")
	if len(lines) != 10 || !strings.HasSuffix(lines[0], "11.00s  p A/l") || !strings.HasSuffix(lines[9], "2.00s  p A/c") {
		t.Errorf("got:\n%s", list)
	}
}

// A subtest may have a slash in its own name; the test above it is no leaf all the same.
func TestSlowestLeavesOutParentsOfNamesWithSlashes(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	r.add(event{Action: "run", Package: "p", Test: "A"})
	r.add(event{Action: "pass", Package: "p", Test: "A/./x", Elapsed: 2})
	r.add(event{Action: "pass", Package: "p", Test: "A", Elapsed: 2})
	r.summary()
	if !strings.Contains(out.String(), "s  p A/./x\n") || strings.Contains(out.String(), "s  p A\n") {
		t.Errorf("got:\n%s", out.String())
	}
}

func TestReadPassesOnWhatIsNoEvent(t *testing.T) {
	var out strings.Builder
	if err := newReport(&out).read(strings.NewReader("go: warning\nno newline at the end")); err != nil {
		t.Fatal(err)
	}
	if out.String() != "go: warning\nno newline at the end" {
		t.Errorf("got %q", out.String())
	}
}
