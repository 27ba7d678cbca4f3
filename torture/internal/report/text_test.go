package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/report"
)

func TestText(t *testing.T) {
	golden(t, "passed.txt", []byte(text(t, sample(), 100)))
	golden(t, "failed.txt", []byte(text(t, broken(), 100)))
	golden(t, "narrow.txt", []byte(text(t, sample(), 72)))
}

// Everything but commands, which are to be copied, stays inside the terminal; and nothing that a terminal obeys is printed.
func TestTextFitsTheTerminal(t *testing.T) {
	for _, columns := range []int{72, 80, 100, 200} {
		for line := range strings.Lines(text(t, broken(), columns)) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > columns && !strings.Contains(line, "holdfast torture") {
				t.Errorf("%d columns: a line has %d: %s", columns, n, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%q has a control character", line)
			}
		}
	}
}

// At 100 columns nothing is left out, with millions of operations too.
func TestTextShowsEverythingAt100(t *testing.T) {
	d := sample()
	for i := range d.Rows {
		d.Rows[i].Operations, d.Rows[i].Holds = 999_999/2, 999_999/2
	}
	if got := text(t, d, 100); strings.Contains(got, "Left out") {
		t.Error(got)
	}
	if got := text(t, d, 60); !strings.Contains(got, "Left out, because the terminal is narrow: failed, holds") {
		t.Error(got)
	}
}

func TestVerdicts(t *testing.T) {
	uncaught := sample()
	uncaught.Controls[0].Caught--
	alarm := sample()
	alarm.Controls[0].TwinPassed--
	idle := sample()
	idle.Controls[0].Seeds, idle.Controls[0].Caught, idle.Controls[0].TwinPassed = 0, 0, 0
	counted := sample()
	counted.Rows[3].Violations = 1 // without a line of its own
	listed := sample()
	listed.Violations = broken().Violations // not in the rows
	controls := sample()
	controls.Rows = nil
	empty := sample()
	empty.Rows[3].Holds, empty.Rows[4].Holds = 0, 0 // of redis, beyond
	unused := sample()
	unused.Rows = append(unused.Rows, check.Row{Store: "file", Fault: "unlink", Class: "beyond", Faults: 1}) // the round ended with it
	one := sample()
	one.Rows[3].Holds, one.Rows[4].Holds = 0, 1
	for _, c := range []struct {
		name string
		of   *report.Document
		want string // "": it passes
	}{
		{"good", sample(), ""},
		{"only controls", controls, ""},
		{"nothing", &report.Document{}, "Nothing was done"},
		{"nobody got a lock", empty, "Nobody ever got a lock of redis (faults: beyond) in 18,445 operations, so nothing is proved about it."},
		{"somebody got a lock", one, ""},
		{"nobody asked for one", unused, ""},
		{"a violation", counted, "1 violation found"},
		{"two that are listed", listed, "2 violations found"},
		{"a control that survived", uncaught, "N1 was caught with 19 of 20"},
		{"a twin that was caught", alarm, "twin of N1 passed with 19 of 20"},
		{"a control that was not run", idle, "N1 was not run"},
	} {
		problems := strings.Join(c.of.Problems(), " ")
		if (c.want == "") != (problems == "") || !strings.Contains(problems, c.want) {
			t.Errorf("%s: %q, want %q", c.name, problems, c.want)
		}
		shown := text(t, c.of, 100)
		if strings.Contains(shown, "\nPASSED: ") == (c.want != "") || strings.Contains(shown, "\nFAILED: ") != (c.want != "") {
			t.Errorf("%s: the verdict is wrong:\n%s", c.name, shown)
		}
	}
}

func TestTotals(t *testing.T) {
	var shown []string
	for _, total := range report.Totals(sample().Rows) {
		shown = append(shown, fmt.Sprint(total.Store, " ", total.Class, " ", total.Fault, total.Faults, " ", total.Operations, " ", total.Faulted, " ", total.LongestHeal))
	}
	want := "memory within 31 1204882 1204882 55ms; redis within 401 88328 79208 1.203s; redis beyond 128 18445 18445 12ms"
	if got := strings.Join(shown, "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	alone := report.Totals([]check.Row{{Store: "file", Fault: "none", Class: "none", Operations: 4}})
	if len(alone) != 1 || alone[0].Class != "none" || alone[0].Operations != 4 || alone[0].Faulted != 0 {
		t.Errorf("%+v", alone)
	}
}

// The command that shows a round of a bundle can be copied into a shell, whatever the name of the bundle.
func TestCheckCommand(t *testing.T) {
	d := broken()
	d.Violations[0].Bundle = "it's here; rm -r"
	if got := text(t, d, 100); !strings.Contains(got, `look at it: holdfast torture show 'it'\''s here; rm -r' `) {
		t.Error(got)
	}
}

// What was not finished has not passed, and says so, also when it is merged with what was.
func TestNotFinished(t *testing.T) {
	rows := []check.Row{{Store: "memory", Fault: "starve", Class: "within", Faults: 1, Operations: 5, Holds: 5}}
	d := report.Merge(&report.Document{Rows: rows}, &report.Document{Rows: rows, Stopped: "stopped before the end"})
	var out strings.Builder
	if err := report.Text(&out, d, 80); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "NOT FINISHED: Not all was done that was to be: stopped before the end.") || strings.Contains(text, "PASSED") {
		t.Error(text)
	}
}
