// Package bars has what Holdfast wants to reach, as data, and says of each whether it was reached.
//
// A bar is judged by the median over the repetitions. One that was not measured is not met.
package bars

import (
	"fmt"
	"math"

	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
)

// base is what a figure is compared with.
type base int

const (
	itself       base = iota // with nothing: the figure as it is
	theLimit                 // with the limit's, in the same repetition
	bestPeer                 // with the best peer's, in the same repetition
	guardOff                 // ours with the guard on with ours without it, in the same repetition
	smallest                 // the largest of several scenarios with the smallest, in the same repetition
	healthy                  // with its own without trouble, in the same repetition
	oneRound                 // how much more it is for each node than ours without tokens, in the same repetition
	oneRoundTrip             // by how many times the limit's it is more than ours without tokens, in the same repetition
)

// The contenders that bars are about.
const (
	ours      = "holdfast"
	guarded   = "holdfast-guard"
	untokened = "holdfast-no-tokens"
	plain     = "holdfast-plain"
)

// A bar is one line of the table: what the subject, one of ours, is wanted to reach.
type bar struct {
	subject   string
	scenarios []string
	figure    figure.ID
	against   base
	wanted    relation
	value     float64
}

type relation string

const (
	atLeast relation = "≥"
	atMost  relation = "≤"
	above   relation = ">"
)

func (r relation) met(got, bar float64) bool {
	switch r {
	case atLeast:
		return got >= bar
	case atMost:
		return got <= bar
	default:
		return got > bar
	}
}

// table has those of one server.
func table() []bar {
	all := []bar{
		{ours, []string{"solo"}, figure.Throughput, theLimit, atLeast, 0.85},
		{ours, []string{"apart"}, figure.Throughput, theLimit, atLeast, 0.65},
		{ours, []string{"apart"}, figure.Throughput, bestPeer, above, 1},
	}
	for _, working := range []bool{false, true} {
		crowd := []string{scenario.Crowd(256, working)}
		all = append(all,
			bar{ours, crowd, figure.WaitP99, bestPeer, atMost, 0.2},
			bar{ours, crowd, figure.ShareRatio, itself, atLeast, 0.9},
			bar{ours, crowd, figure.Throughput, bestPeer, above, 1},
		)
	}
	for _, name := range []func(int) string{
		scenario.Strangers,
		func(n int) string { return scenario.Crowd(n, false) }, // within a client the lock is passed on: the more wait, the less is asked
		func(n int) string { return scenario.Crowd(n, true) },
	} {
		var crowds []string
		for _, n := range scenario.Crowds {
			crowds = append(crowds, name(n))
		}
		all = append(all, bar{ours, crowds, figure.Commands, smallest, atMost, 1.1})
	}
	for _, name := range scenario.Guards() {
		all = append(all, bar{guarded, []string{name}, figure.Throughput, guardOff, atLeast, 0.97})
	}
	return all
}

// Judge holds the document against what is wanted of locks on one server.
func Judge(d *result.Document) []result.Verdict { return judge(d, table()) }

func judge(d *result.Document, table []bar) []result.Verdict {
	var verdicts []result.Verdict
	for _, b := range table {
		got := b.measured(d)
		verdict := result.Verdict{Bar: b.String(), Wanted: fmt.Sprintf("%s %g", b.wanted, b.value)}
		if !math.IsNaN(got.Median) {
			verdict.Measured = true
			verdict.Got, verdict.Min, verdict.Max = got.Median, got.Min, got.Max
			verdict.Met = b.wanted.met(got.Median, b.value)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

// measured returns the bar's number over the repetitions: NaN if there is none.
func (b bar) measured(d *result.Document) figure.Summary {
	var subjects []*result.Contender
	for _, name := range b.scenarios {
		s := d.Scenario(name)
		if s == nil || s.Contender(b.subject) == nil {
			return figure.Summarise(nil)
		}
		subjects = append(subjects, s.Contender(b.subject))
	}
	first := subjects[0]
	return first.Over(func(run result.Run) float64 {
		switch b.against {
		case theLimit:
			return first.ToLimitIn(run, b.figure)
		case bestPeer:
			return first.ToBestIn(run, b.figure)
		case guardOff:
			return first.ToOffIn(run, b.figure)
		case smallest:
			return b.spread(subjects, run.Number)
		case healthy:
			return first.ToHealthyIn(run, b.figure)
		case oneRound:
			return b.inCalls(d, run)
		case oneRoundTrip:
			return b.inTime(d, first, run)
		default:
			return run.Figures[b.figure]
		}
	})
}

// spread returns the largest of the scenarios by the smallest, in one repetition. All of them must have been measured.
func (b bar) spread(subjects []*result.Contender, number int) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, c := range subjects {
		run, ok := c.Run(number)
		if !ok || math.IsNaN(run.Figures[b.figure]) {
			return math.NaN()
		}
		least, most = min(least, run.Figures[b.figure]), max(most, run.Figures[b.figure])
	}
	return figure.Ratio(most, least)
}

func (b bar) String() string {
	title := b.figure.Kind().Title
	where := b.scenarios[0]
	switch b.subject {
	case untokened:
		where += ", tokens off"
	case plain:
		where += ", without functions"
	}
	switch b.against {
	case theLimit:
		return fmt.Sprintf("%s: %s by the limit's", where, title)
	case bestPeer:
		return fmt.Sprintf("%s: %s by the best peer's", where, title)
	case guardOff:
		return fmt.Sprintf("%s: %s by that without the guard", where, title)
	case smallest:
		return fmt.Sprintf("%s … %s: %s per hold, largest by smallest", where, b.scenarios[len(b.scenarios)-1], title)
	case healthy:
		return fmt.Sprintf("%s: %s by its own with all nodes", where, title)
	case oneRound:
		return fmt.Sprintf("%s: %s to each node, less those without tokens", where, title)
	case oneRoundTrip:
		return fmt.Sprintf("%s: %s less that without tokens, in round trips", where, title)
	default:
		return fmt.Sprintf("%s: shares of holds, %s", where, title)
	}
}
