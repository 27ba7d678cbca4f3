package report_test

import (
	"bytes"
	"strings"
	"testing"

	"holdfast.dev/torture/internal/report"
)

func markdown(t *testing.T, d *report.Document, record ...report.Bug) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Markdown(&b, d, record); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	golden(t, "proof.md", []byte(markdown(t, sample(),
		report.Bug{What: "a waiter that gave up was served", Where: "redislock", Found: "holdfast torture --seed 81", Mended: "what is undone leaves a mark", Test: "TestGivenUp"},
		report.Bug{What: "a file was read while it was written", Where: "filelock", Mended: "it is renamed", Test: "TestTorn|TestTornTwice"})))
	golden(t, "proof-failed.md", []byte(markdown(t, broken())))
}

// A name is text, and nothing else: no markup, no cell, no line of its own.
func TestMarkdownEscapes(t *testing.T) {
	const name = "a|b <img src=x> [l](http://x) `c` *d* \n# e\x1b"
	d := broken()
	for i := range d.Rows {
		d.Rows[i].Fault, d.Rows[i].Store = name, name
	}
	d.Versions = []string{name}
	d.Controls[0].Title, d.Controls[0].By = name, []string{name}
	d.Violations[0].What, d.Violations[0].Lock = name, name
	got := markdown(t, d, report.Bug{What: name, Where: name, Mended: name, Test: name})
	for _, bad := range []string{"<img", "a|b", " [l]", "\n# e", "\x1b", " *d*"} {
		prose := strings.ReplaceAll(got, "`` a\\|b <img src=x> [l](http://x) `c` *d* \\n# e\\x1b ``", "") // inline code is text as well
		if strings.Contains(prose, bad) {
			t.Errorf("%q is in the page:\n%s", bad, prose)
		}
	}
	// Every line of a table has as many cells as its head.
	bars := func(line string) int { return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") }
	want := 0
	for line := range strings.Lines(got) {
		switch {
		case !strings.HasPrefix(line, "|"):
			want = 0
		case want == 0:
			want = bars(line)
		case bars(line) != want:
			t.Errorf("%d bars, and not %d: %s", bars(line), want, line)
		}
	}
}
