// Package figure names what is measured, and has the arithmetic: percentiles, shares, medians and ratios.
//
// A figure that could not be measured is NaN, never 0: it is left out of medians, ratios and documents, and is the best of nothing.
package figure

import (
	"encoding/json"
	"math"
)

// An ID names a figure.
type ID int

// The figures of one measurement. Times are in milliseconds.
const (
	Throughput ID = iota // holds in a second
	WaitP50              // from the call of Lock to its return; a wait that the end cut off counts as long as it had lasted
	WaitP99
	WaitMax
	ServedP99 // of the waits that ended with a hold only: who starves all others looks good in this one
	UnlockP50 // from the call of unlock to its return; one that the end cut off counts as long as it had lasted
	UnlockP99
	PairP50 // what one hold costs: the wait for it and its unlock together
	PairP99
	ShareMin // holds of the goroutine that had the fewest
	ShareMax
	ShareRatio // the fewest by the most
	Commands   // that the server carried out for one hold, in scripts and functions too
	Calls      // that clients sent for one hold
	GapP50     // from the call of one unlock to the return of the next Lock of the same lock
	GapP99
	Failures // calls of Lock that gave up before the end, and unlocks that failed
	count
)

// Kind describes a figure.
type Kind struct {
	Key   string // in documents
	Title string // in tables
	Unit  string
	// Better is +1 where more is better, −1 where less is, 0 where neither is.
	Better int
}

var kinds = [count]Kind{
	Throughput: {"holds_per_second", "holds/s", "1/s", +1},
	WaitP50:    {"wait_p50_ms", "wait p50", "ms", -1},
	WaitP99:    {"wait_p99_ms", "wait p99", "ms", -1},
	WaitMax:    {"wait_max_ms", "wait max", "ms", -1},
	ServedP99:  {"served_p99_ms", "served p99", "ms", -1},
	UnlockP50:  {"unlock_p50_ms", "unlock p50", "ms", -1},
	UnlockP99:  {"unlock_p99_ms", "unlock p99", "ms", -1},
	PairP50:    {"pair_p50_ms", "lock+unlock p50", "ms", -1},
	PairP99:    {"pair_p99_ms", "lock+unlock p99", "ms", -1},
	ShareMin:   {"share_min", "share min", "holds", 0},
	ShareMax:   {"share_max", "share max", "holds", 0},
	ShareRatio: {"share_ratio", "min/max", "", +1},
	Commands:   {"commands_per_hold", "commands", "per hold", -1},
	Calls:      {"calls_per_hold", "calls", "per hold", -1},
	GapP50:     {"gap_p50_ms", "gap p50", "ms", -1},
	GapP99:     {"gap_p99_ms", "gap p99", "ms", -1},
	Failures:   {"failures", "failures", "", -1},
}

// Kind returns the description.
func (id ID) Kind() Kind { return kinds[id] }

func (id ID) String() string { return kinds[id].Key }

// All returns every figure, in the order of tables.
func All() []ID {
	all := make([]ID, count)
	for i := range all {
		all[i] = ID(i)
	}
	return all
}

// A Set has a value for every figure.
type Set [count]float64

// None returns a set in which nothing was measured.
func None() Set {
	var s Set
	for i := range s {
		s[i] = math.NaN()
	}
	return s
}

// MarshalJSON writes an object with what was measured.
func (s Set) MarshalJSON() ([]byte, error) {
	m := make(map[string]float64)
	for i, v := range s {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			m[ID(i).String()] = v
		}
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *Set) UnmarshalJSON(text []byte) error {
	var m map[string]float64
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	*s = None()
	for i := range s {
		if v, ok := m[ID(i).String()]; ok {
			s[i] = v
		}
	}
	return nil
}
