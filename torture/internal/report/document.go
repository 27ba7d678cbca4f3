package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"holdfast.dev/torture/internal/check"
)

// Format is the version of Document as JSON. It rises when a reader of the old form would misunderstand the new one.
const Format = 1

// A Document is what a run, or several, came to. As JSON every length of time is in nanoseconds.
type Document struct {
	Format    int           `json:"format"`              // set by JSON
	Title     string        `json:"title"`               // "" is a title of its own making
	Command   []string      `json:"command"`             // command lines, as they were run
	Generator string        `json:"generator,omitempty"` // the command that makes docs/proof.md from the bundles
	Bundles   []string      `json:"bundles,omitempty"`   // where the histories are
	Versions  []string      `json:"versions"`            // of all that took part: "redis-server 7.0.15"
	Began     time.Time     `json:"began"`
	Lasted    time.Duration `json:"lasted"`
	Rounds    int           `json:"rounds"`
	Stopped   string        `json:"stopped,omitempty"` // why not all was done that was to be; "": all was
	Seeds     []uint64      `json:"seeds"`             // one is enough to run its rounds again

	Rows       []check.Row     `json:"rows"`
	Totals     []Total         `json:"totals"` // by Totals, of Rows
	Violations []ViolationLine `json:"violations"`
	Controls   []ControlLine   `json:"controls,omitempty"`
	Timeline   []RoundTimeline `json:"timeline,omitempty"`
}

// A Total is the sum of the rows of one store and class; its Fault is "".
type Total struct {
	check.Row
	Faulted int `json:"faulted"` // of Operations: those that were begun during a fault, or after one
}

// A ViolationLine is one violation, and where it was found.
type ViolationLine struct {
	Bundle  string `json:"bundle,omitempty"`
	Round   int    `json:"round"`
	Seed    uint64 `json:"seed"`
	Store   string `json:"store"`
	Checker string `json:"checker"`
	Lock    string `json:"lock,omitempty"`
	What    string `json:"what"`
	Fault   string `json:"fault,omitempty"`
	Rerun   string `json:"rerun,omitempty"` // the command that runs this round again
}

// A ControlLine is a lock that is broken on purpose: how often it was caught, and how often its correct twin passed.
type ControlLine struct {
	Name       string        `json:"name"`  // N1
	Title      string        `json:"title"` // what is wrong with it
	Seeds      int           `json:"seeds"` // how many it was run with
	Caught     int           `json:"caught"`
	By         []string      `json:"by"` // checkers
	TwinPassed int           `json:"twinPassed"`
	Took       time.Duration `json:"took"`
}

// Held reports whether the control did what it is for: it was run, caught with every seed, and its twin passed with every seed.
func (c ControlLine) Held() bool {
	return c.Seeds > 0 && c.Caught == c.Seeds && c.TwinPassed == c.Seeds
}

// Totals adds up rows by store and class. What was begun before the first fault has no class: it is counted with the first class that
// the store has, but not as Faulted.
func Totals(rows []check.Row) []Total {
	type key struct{ store, class string }
	faulted := make(map[key]int)
	summands := classed(rows)
	for i := range summands {
		row := &summands[i]
		if row.Fault != check.NoFault {
			faulted[key{row.Store, row.Class}] += row.Operations
		}
		row.Fault = ""
	}
	var totals []Total
	for _, sum := range check.Add(summands) {
		totals = append(totals, Total{sum, faulted[key{sum.Store, sum.Class}]})
	}
	slices.SortStableFunc(totals, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Store, b.Store), cmp.Compare(order(a.Class), order(b.Class)), cmp.Compare(a.Class, b.Class))
	})
	return totals
}

// classed returns the rows with the class under which each is shown.
func classed(rows []check.Row) []check.Row {
	first := make(map[string]string) // class, by store
	for _, row := range rows {
		if class, known := first[row.Store]; !known || order(row.Class) < order(class) {
			first[row.Store] = row.Class
		}
	}
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].Class == check.NoFault {
			rows[i].Class = first[rows[i].Store]
		}
	}
	return rows
}

// order is that in which classes are shown.
func order(class string) int {
	if i := slices.Index([]string{within, beyond}, class); i >= 0 {
		return i
	} else if class == check.NoFault {
		return 3
	}
	return 2
}

// The classes, as rows have them; check.NoFault is the third.
const (
	within = "within"
	beyond = "beyond"
)

// Problems says, in a sentence each, why the run proves that something is wrong, or proves nothing. None: it passed.
func (d *Document) Problems() []string {
	var problems []string
	if d.Stopped != "" {
		problems = append(problems, "Not all was done that was to be: "+d.Stopped+".")
	}
	if n := d.violations(); n > 0 {
		problems = append(problems, counted(n, "violation", "violations")+" found.")
	}
	for _, c := range d.Controls {
		switch {
		case c.Seeds <= 0:
			problems = append(problems, fmt.Sprintf("The control %s was not run.", c.Name))
		case c.Caught < c.Seeds:
			problems = append(problems, fmt.Sprintf("The broken lock %s was caught with %d of %d seeds only: the checkers, or the faults, are too weak.", c.Name, c.Caught, c.Seeds))
		case c.TwinPassed < c.Seeds:
			problems = append(problems, fmt.Sprintf("The correct twin of %s passed with %d of %d seeds only: a false alarm.", c.Name, c.TwinPassed, c.Seeds))
		}
	}
	if d.operations() == 0 && len(d.Controls) == 0 {
		problems = append(problems, "Nothing was done, so nothing is proved.")
	}
	for _, t := range Totals(d.Rows) {
		if t.Operations > 0 && t.Holds == 0 {
			problems = append(problems, fmt.Sprintf("Nobody ever got a lock of %s (faults: %s) in %s, so nothing is proved about it.",
				t.Store, t.Class, counted(t.Operations, "operation", "operations")))
		}
	}
	return problems
}

// violations counts them. Rows and lines count the same things; whoever wrote the document may have kept the first lines only.
func (d *Document) violations() int {
	n := 0
	for _, row := range d.Rows {
		n += row.Violations
	}
	return max(n, len(d.Violations))
}

func (d *Document) operations() int {
	n := 0
	for _, row := range d.Rows {
		n += row.Operations
	}
	return n
}

// title is what the outputs begin with.
func (d *Document) title() string { return cmp.Or(d.Title, "Torture: what the locks came to") }
