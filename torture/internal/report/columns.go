package report

import (
	"slices"
	"strings"

	"holdfast.dev/torture/internal/check"
)

// A column of the tables of faults.
type column struct {
	title   string // for pages
	head    string // for text: narrow, on up to three lines
	meaning string
	value   func(check.Row) string
	show    func([]check.Row) bool // nil: always
	spare   int                    // in a narrow terminal those with the greatest number go first; 0: it stays
}

func count(of func(check.Row) int) func(check.Row) string {
	return func(r check.Row) string { return number(of(r)) }
}

// overlapping reports whether overlaps are shown: where they are measured, and where there should be none but are.
func overlapping(rows []check.Row) bool {
	return slices.ContainsFunc(rows, func(r check.Row) bool { return r.Class == beyond || r.Overlaps > 0 })
}

// columns are those behind the name of the fault. In beyond, where two may hold for a moment, the overlap comes first.
var columns = []column{
	{
		title: "faults", head: "faults", spare: 3,
		meaning: "how many times the fault was caused.",
		value:   count(func(r check.Row) int { return r.Faults }),
	}, {
		title: "operations", head: "opera-\ntions",
		meaning: "calls of Lock, TryLock, Campaign and Inspect that were begun after the fault had, and before the next one.",
		value:   count(func(r check.Row) int { return r.Operations }),
	}, {
		title: "holds", head: "holds", spare: 4,
		meaning: "how many of these calls got the lock.",
		value:   count(func(r check.Row) int { return r.Holds }),
	}, {
		title: "failed", head: "fail-\ned", spare: 5,
		meaning: "how many of these calls ended with an error. TryLock may, while the store cannot be reached. Lock and Campaign ask again instead: " +
			"there an error is a violation, but for one that a fault beyond the store's assumptions explains.",
		value: count(func(r check.Row) int { return r.Failed }),
	}, {
		title: "overlaps", head: "over-\nlaps", show: overlapping,
		meaning: "how many times two believed at once that they held the same lock. Within a store's assumptions each is a violation; beyond " +
			"them it is measured.",
		value: count(func(r check.Row) int { return r.Overlaps }),
	}, {
		title: "longest overlap, ms", head: "longest\noverlap\nms", show: overlapping, spare: 2,
		meaning: "for how long, at most.",
		value:   func(r check.Row) string { return ms(r.LongestOverlap) },
	}, {
		title: "losses told", head: "losses\ntold",
		meaning: "holds that were lost before they were released, and whose holder was told so. Every fault that makes holds run out causes some; " +
			"one that is not told in time is a violation.",
		value: count(func(r check.Row) int { return r.LossesTold }),
	}, {
		title: "told after, ms", head: "told\nafter\nms", show: overlapping, spare: 1,
		meaning: "the longest time from a fault that makes the store forget holds until the last of their holders was told.",
		value:   func(r check.Row) string { return ms(r.LongestTold) },
	}, {
		title: "unfenced loss", head: "un-\nfenced\nloss",
		meaning: "updates that were lost in a register without a fence. A lock alone cannot prevent them: a holder that stands still can wake up, and write, after its hold has run out.",
		value:   count(func(r check.Row) int { return r.UnfencedLost }),
	}, {
		title: "fenced loss", head: "fenced\nloss",
		meaning: "updates that were lost in a register that refuses old fencing tokens. It must be 0 within the assumptions, and wherever tokens are durable.",
		value:   count(func(r check.Row) int { return r.FencedLost }),
	}, {
		title: "violations", head: "viola-\ntions",
		meaning: "promises that were broken. One is a bug.",
		value:   count(func(r check.Row) int { return r.Violations }),
	}, {
		title: "heal to acquire, ms", head: "heal to\nacquire\nms",
		meaning: "the longest time from the end of a fault until somebody got a lock that others were waiting for.",
		value:   func(r check.Row) string { return ms(r.LongestHeal) },
	},
}

// A Meaning says what a number of the tables is.
type Meaning struct{ Name, Text string }

// Meanings explains the columns, in their order.
func Meanings() []Meaning { return meanings(columns) }

func meanings(shown []column) []Meaning {
	var all []Meaning
	for _, c := range shown {
		all = append(all, Meaning{c.title, c.meaning})
	}
	return all
}

// shown are the columns that rows need.
func shown(rows []check.Row) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.show != nil && !c.show(rows) })
}

// A group is the rows of one store and class: a table of its own.
type group struct {
	Store, Class string
	Rows         []check.Row
	Total        Total
}

// groups returns the rows as tables: the totals say in which order. What was begun before the first fault comes first; faults stay in
// the order in which they are.
func (d *Document) groups() []group {
	var all []group
	for _, total := range Totals(d.Rows) {
		g := group{total.Store, total.Class, nil, total}
		for _, row := range classed(d.Rows) {
			if row.Store == g.Store && row.Class == g.Class {
				g.Rows = append(g.Rows, row)
			}
		}
		slices.SortStableFunc(g.Rows, func(a, b check.Row) int {
			if (a.Fault == check.NoFault) == (b.Fault == check.NoFault) {
				return strings.Compare(a.Fault, b.Fault)
			} else if a.Fault == check.NoFault {
				return -1
			}
			return 1
		})
		all = append(all, g)
	}
	return all
}

// fault is the name of a row.
func fault(r check.Row) string {
	if r.Fault == check.NoFault {
		return "(no fault yet)"
	}
	return r.Fault
}

// about says what is asked of a class of faults.
func about(class string) string {
	switch class {
	case within:
		return "faults within its assumptions: no violation is allowed"
	case beyond:
		return "faults beyond its assumptions: two may hold for a moment; how long is measured, and the first must be told"
	case check.NoFault:
		return "no faults"
	}
	return "faults of class " + class
}
