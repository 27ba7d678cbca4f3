package check

import (
	"cmp"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A Row is what happened to a store under one fault. Attempts belong to the fault that had begun last when they were asked for, and
// everything else to the one that had begun last when it happened; a violation to the one that it names. But what only a fault beyond the
// store's assumptions can have caused belongs to the last of these, in a round that has them: nobody else is to blame.
type Row struct {
	Store string `json:"store"`
	Fault string `json:"fault"` // none: before the first
	Class string `json:"class"` // of the fault; none for none

	Faults       int `json:"faults"`       // how often it happened
	Operations   int `json:"operations"`   // attempts, and looks at who holds
	Holds        int `json:"holds"`        // attempts that were granted
	Failed       int `json:"failed"`       // attempts that ended with an error, which says nothing about who has the lock
	LossesTold   int `json:"lossesTold"`   // holders who were told that they had lost their lock
	UnfencedLost int `json:"unfencedLost"` // updates of unfenced registers that were lost
	FencedLost   int `json:"fencedLost"`   // and of fenced ones
	Violations   int `json:"violations"`
	Overlaps     int `json:"overlaps"` // how often two held a lock at the same time

	LongestOverlap time.Duration `json:"longestOverlap"`
	LongestHeal    time.Duration `json:"longestHeal"` // until somebody had a lock that was free and waited for when the fault had healed
	LongestTold    time.Duration `json:"longestTold"` // until a holder was told that the fault had made the store forget it
}

// NoFault is the Fault, and the Class, of a row about what happened before the first fault.
const NoFault = "none"

// merge adds another row of the same store, fault and class.
func (w *Row) merge(o Row) {
	w.Faults += o.Faults
	w.Operations += o.Operations
	w.Holds += o.Holds
	w.Failed += o.Failed
	w.LossesTold += o.LossesTold
	w.UnfencedLost += o.UnfencedLost
	w.FencedLost += o.FencedLost
	w.Violations += o.Violations
	w.Overlaps += o.Overlaps
	w.LongestOverlap = max(w.LongestOverlap, o.LongestOverlap)
	w.LongestHeal = max(w.LongestHeal, o.LongestHeal)
	w.LongestTold = max(w.LongestTold, o.LongestTold)
}

// Add merges rows of the same store, fault and class: counts add up, and the longest stays. It returns them in order.
func Add(rows ...[]Row) []Row {
	var sum []Row
	places := make(map[[3]string]int)
	for _, row := range slices.Concat(rows...) {
		key := [3]string{row.Store, row.Fault, row.Class}
		place, known := places[key]
		if !known {
			place = len(sum)
			places[key] = place
			sum = append(sum, Row{Store: row.Store, Fault: row.Fault, Class: row.Class})
		}
		sum[place].merge(row)
	}
	slices.SortFunc(sum, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Store, b.Store), cmp.Compare(rank(a.Class), rank(b.Class)), cmp.Compare(a.Fault, b.Fault),
			cmp.Compare(a.Class, b.Class))
	})
	return sum
}

// rank orders classes.
func rank(class string) int { return slices.Index([]string{NoFault, "within", "beyond"}, class) }

// A table has the rows of a round: first that of no fault, then one for each of Meta.Faults.
type table struct {
	*round
	rows []Row
}

// under is the row of a fault that happened, by its index into the round's; −1: of none.
func (t *table) under(fault int) *Row {
	if fault < 0 {
		return &t.rows[0]
	}
	return &t.rows[1+t.faults[fault].Index]
}

// at is the row of what happened at a time.
func (t *table) at(when driver.Instant) *Row { return t.under(t.begun(when)) }

// blamed is the row of two holders at the same time, or of a fence that has failed.
func (t *table) blamed(when driver.Instant) *Row {
	last := t.begun(when)
	for i := last; i >= 0 && !within(&t.Meta); i-- {
		if t.fault(t.faults[i]).Class == "beyond" {
			return t.under(i)
		}
	}
	return t.under(last)
}

// named is the row of a fault that a violation names.
func (t *table) named(fault string) *Row {
	return &t.rows[1+slices.IndexFunc(t.Meta.Faults, func(m history.FaultMeta) bool { return m.Name == fault })]
}

// figures computes the rows of a round. Faults that never happened have none.
func (r *round) figures(violations []Violation) []Row {
	t := &table{round: r, rows: []Row{{Store: r.Meta.Store, Fault: NoFault, Class: NoFault}}}
	for _, m := range r.Meta.Faults {
		t.rows = append(t.rows, Row{Store: r.Meta.Store, Fault: m.Name, Class: cmp.Or(m.Class, r.Meta.Class)})
	}
	for i := range r.faults {
		t.under(i).Faults++
	}
	t.countOperations()
	t.countEvents()
	for _, v := range violations {
		t.named(v.Fault).Violations++
	}
	return slices.DeleteFunc(Add(t.rows), func(w Row) bool { return w == Row{Store: w.Store, Fault: w.Fault, Class: w.Class} })
}

func (t *table) countOperations() {
	for _, l := range t.locks {
		for _, a := range l.attempts {
			row := t.at(a.Asked)
			row.Operations++
			switch a.Outcome {
			case history.Granted:
				row.Holds++
			case history.Failed:
				row.Failed++
			}
			if a.LossTold != 0 {
				t.at(a.LossTold).LossesTold++
			}
		}
	}
	for _, rec := range t.Records {
		if rec.Op == history.Inspect && rec.Phase == history.Asked {
			t.at(rec.At).Operations++
		}
	}
}

func (t *table) countEvents() {
	for _, l := range t.lost {
		if l.fenced {
			t.blamed(l.At).FencedLost++
		} else {
			t.at(l.At).UnfencedLost++
		}
	}
	for _, o := range t.overlaps {
		row := t.blamed(o.From)
		row.Overlaps++
		row.LongestOverlap = max(row.LongestOverlap, o.length())
	}
	for _, h := range t.heals {
		row := t.under(h.fault)
		row.LongestHeal = max(row.LongestHeal, h.took)
	}
	for _, told := range t.tellings {
		row := t.under(told.fault)
		row.LongestTold = max(row.LongestTold, told.took)
	}
}
