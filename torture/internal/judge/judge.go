// Package judge says what a round has shown: all checkers together, as it is kept beside the round in a bundle.
package judge

import (
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
)

// A Verdict is what was found in a round. Violations mean that something is wrong; what was measured only is in the rows.
type Verdict struct {
	Format     int               `json:"format"` // Format
	Sum        string            `json:"sum"`    // of the file that it is about; by whoever keeps it
	Number     int               `json:"number"`
	Run        uint64            `json:"run"`  // see history.Meta
	Turn       int               `json:"turn"` // see history.Meta
	Seed       uint64            `json:"seed"`
	Began      time.Time         `json:"began"`
	Lasted     time.Duration     `json:"lasted"`
	Store      string            `json:"store"`
	Class      string            `json:"class"`
	Versions   []string          `json:"versions"`
	Rows       []check.Row       `json:"rows"`
	Violations []check.Violation `json:"violations"` // the first of each checker; the rows count all

	// Page is porcupine's, of what is not linearizable; nil if all is.
	Page []byte `json:"-"`
}

// patience is how long the search for an order may take, for one stretch of one lock. One that is not decided is a violation.
const patience = 20 * time.Second

// Format is the version of verdicts: what it says and by which checkers. It rises when either changes, and older ones are made anew.
const Format = 3

// Round judges a round. An error means that there is nothing to judge.
func Round(h *history.History) (*Verdict, error) {
	m := h.Meta
	if m.Broken != "" {
		return broken(h), nil
	}
	found, err := check.Round(h)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Format: Format, Number: m.Number, Run: m.Run, Turn: m.Turn, Seed: m.Seed, Began: m.Began, Lasted: h.Records[len(h.Records)-1].At.Sub(h.Records[0].At),
		Store: m.Store, Class: m.Class, Versions: m.Versions, Rows: found.Rows, Violations: first(found.Violations)}
	if m.Class == driver.Beyond.String() {
		return v, nil // two may hold at once: there is no order to be found
	}
	return v, v.addLinear(h)
}

// kept is how many violations of one checker are kept: a lock that is broken has them by the ten thousand.
const kept = 20

// first returns the first ones of each checker.
func first(all []check.Violation) []check.Violation {
	var some []check.Violation
	seen := make(map[string]int)
	for _, v := range all {
		if seen[v.Checker]++; seen[v.Checker] <= kept {
			some = append(some, v)
		}
	}
	return some
}

// broken is about a round that came to no proper end: nothing is known about its locks but that, and it counts as a violation.
func broken(h *history.History) *Verdict {
	m, first := h.Meta, h.Records[0].At
	lasted := h.Records[len(h.Records)-1].At.Sub(first)
	return &Verdict{Format: Format, Number: m.Number, Run: m.Run, Turn: m.Turn, Seed: m.Seed, Began: m.Began, Lasted: lasted, Store: m.Store,
		Class: m.Class, Versions: m.Versions,
		Rows:       []check.Row{{Store: m.Store, Fault: check.NoFault, Class: check.NoFault, Violations: 1}},
		Violations: []check.Violation{{Checker: "round", At: first, What: "it came to no proper end: " + m.Broken}}}
}
