package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/report"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is written now (-update writes it anew, if this is right):\n%s", path, got)
	}
}

const thousandth = time.Millisecond

// sample is a run without problems.
func sample() *report.Document {
	rows := []check.Row{
		{Store: "redis", Fault: "worker-stop-inside", Class: "within", Faults: 211, Operations: 41_207, Holds: 29_881, Failed: 12, LossesTold: 640, UnfencedLost: 188, LongestHeal: 1203 * thousandth},
		{Store: "redis", Fault: "none", Class: "none", Operations: 9_120, Holds: 6_002},
		{Store: "redis", Fault: "late-reply", Class: "within", Faults: 190, Operations: 38_001, Holds: 21_410, LossesTold: 512, UnfencedLost: 3, LongestHeal: 940 * thousandth},
		{Store: "redis", Fault: "flush", Class: "beyond", Faults: 88, Operations: 12_345, Holds: 8_001, Failed: 1_204, LossesTold: 342, UnfencedLost: 71, Overlaps: 93,
			LongestOverlap: 164*thousandth + 400*time.Microsecond, LongestTold: 171 * thousandth, LongestHeal: 12 * thousandth},
		{Store: "redis", Fault: "clock-forward", Class: "beyond", Faults: 40, Operations: 6_100, Holds: 4_040, LossesTold: 77, Overlaps: 12,
			LongestOverlap: 90 * time.Microsecond, LongestTold: 158 * thousandth, LongestHeal: 4*thousandth + 300*time.Microsecond},
		{Store: "memory", Fault: "starve", Class: "within", Faults: 31, Operations: 1_204_882, Holds: 903_112, LossesTold: 4, LongestHeal: 55 * thousandth},
	}
	return &report.Document{
		Title:     "Torture of memory and redis",
		Command:   []string{"holdfast torture --store memory --seed 7 --duration 10m", "holdfast torture --store redis --seed 7 --duration 10m"},
		Generator: "make proof",
		Bundles:   []string{"bundles/redis 7"},
		Versions:  []string{"holdfast (devel)", "go1.26.8", "redis-server 7.0.15"},
		Began:     time.Date(2026, 11, 15, 17, 0, 0, 0, time.UTC),
		Lasted:    20 * time.Minute,
		Rounds:    120,
		Seeds:     []uint64{7, 18_446_744_073_709_551_615},
		Rows:      rows,
		Totals:    report.Totals(rows),
		Controls: []report.ControlLine{
			{Name: "N1", Title: "DEL without compare", Seeds: 20, Caught: 20, By: []string{"windows", "registers"}, TwinPassed: 20, Took: 81 * time.Second},
			{Name: "N9", Title: "no fence, and a client that stands still", Seeds: 20, Caught: 20, By: []string{"registers"}, TwinPassed: 20, Took: 76 * time.Second},
		},
	}
}

// broken is a run that found something, with names that nobody would choose.
func broken() *report.Document {
	d := sample()
	d.Rows[0].Violations = 3
	d.Rows[0].Overlaps = 1
	d.Rows[0].LongestOverlap = 35 * thousandth
	d.Totals = report.Totals(d.Rows)
	d.Controls[1].Caught = 19
	d.Controls[0].TwinPassed = 18
	d.Violations = []report.ViolationLine{
		{Bundle: "bundles/redis 7", Round: 12, Seed: 99, Store: "redis", Checker: "windows", Lock: "hot\x1b[31m", Fault: "worker-stop-inside",
			What: "worker 3 (token 17) and worker 5 (token 18) both held it, for 35.0 ms: from 1,200.4 ms after the beginning of the round to 1,235.4 ms"},
		{Round: 13, Seed: 100, Store: "redis", Checker: "leaks", What: "2 keys are left"},
	}
	return d
}

func text(t *testing.T, d *report.Document, columns int) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, d, columns); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
