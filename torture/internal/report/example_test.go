package report_test

import (
	"fmt"
	"os"
	"time"

	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/report"
)

func ExampleMerge() {
	one := &report.Document{Rounds: 3, Lasted: time.Minute, Rows: []check.Row{{Store: "file", Fault: "unlink", Class: "beyond", Operations: 400, Holds: 200}}}
	two := &report.Document{Rounds: 2, Lasted: time.Minute, Rows: []check.Row{{Store: "file", Fault: "unlink", Class: "beyond", Operations: 250, Holds: 200}}}
	all := report.Merge(one, two)
	fmt.Println(all.Rounds, "rounds,", all.Totals[0].Operations, "operations, problems:", all.Problems())
	// Output: 5 rounds, 650 operations, problems: []
}

func ExampleText() {
	d := &report.Document{
		Title:    "A broken lock",
		Command:  []string{"holdfast torture controls --seed 1"},
		Lasted:   6 * time.Second,
		Controls: []report.ControlLine{{Name: "N4", Title: "renew without compare", Seeds: 3, Caught: 2, By: []string{"windows"}, TwinPassed: 3, Took: 6 * time.Second}},
	}
	if err := report.Text(os.Stdout, d, 80); err != nil {
		fmt.Println(err)
	}
	// Output:
	// A broken lock
	//   $ holdfast torture controls --seed 1
	//   It took 6.0s
	//
	// Broken locks
	//   Each is wrong on purpose, in one way, and must be caught with every seed; its
	//   correct twin must pass with the same faults. A checker that lets a broken lock
	//   pass proves nothing about a good one.
	//   FAILED  N4: renew without compare
	//           caught with 2 of 3 seeds, by windows; its twin passed with 3; took
	//           6.0s
	//
	// FAILED: The broken lock N4 was caught with 2 of 3 seeds only: the checkers, or
	// the faults, are too weak.
}
