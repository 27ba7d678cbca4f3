package report

import (
	"fmt"
	"math"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/result"
)

// A column of the table of a scenario.
type column struct {
	title  string
	median func(*result.Contender) float64
	spread func(*result.Contender) figure.Summary
}

func plain(id figure.ID) column {
	return column{
		title:  id.Kind().Title,
		median: func(c *result.Contender) float64 { return c.Median[id] },
		spread: func(c *result.Contender) figure.Summary {
			return figure.Summary{Median: c.Median[id], Min: c.Min[id], Max: c.Max[id]}
		},
	}
}

func toLimit(title string, id figure.ID) column {
	return ratio(title, func(c *result.Contender, run result.Run) float64 { return c.ToLimitIn(run, id) })
}

func toPeer(title string, id figure.ID) column {
	return ratio(title, func(c *result.Contender, run result.Run) float64 { return c.ToBestIn(run, id) })
}

func toOff(title string, id figure.ID) column {
	return ratio(title, func(c *result.Contender, run result.Run) float64 { return c.ToOffIn(run, id) })
}

func toHealthy(title string, id figure.ID) column {
	return ratio(title, func(c *result.Contender, run result.Run) float64 { return c.ToHealthyIn(run, id) })
}

func ratio(title string, in func(*result.Contender, result.Run) float64) column {
	over := func(c *result.Contender) figure.Summary {
		return c.Over(func(run result.Run) float64 { return in(c, run) })
	}
	return column{title, func(c *result.Contender) float64 { return over(c).Median }, over}
}

// columns are those of every scenario.
var columns = []column{
	plain(figure.Throughput), toLimit("×limit", figure.Throughput), toPeer("×peer", figure.Throughput),
	plain(figure.WaitP50), plain(figure.WaitP99), toPeer("p99 ×peer", figure.WaitP99), plain(figure.WaitMax), plain(figure.ServedP99),
	plain(figure.ShareMin), plain(figure.ShareMax), plain(figure.ShareRatio),
	plain(figure.Commands), plain(figure.Calls),
	plain(figure.GapP50), plain(figure.GapP99), plain(figure.Failures),
}

// brief are the columns of a page: with all of them nobody could read it.
var brief = []column{
	plain(figure.Throughput), toLimit("×limit", figure.Throughput), toPeer("×peer", figure.Throughput),
	plain(figure.WaitP50), plain(figure.WaitP99), toPeer("p99 ×peer", figure.WaitP99), plain(figure.ShareRatio), plain(figure.Commands),
	plain(figure.GapP50),
}

// guard are the columns of a scenario that is about the guard: there is no limit there, and no peer.
var guard = []column{
	plain(figure.Throughput), toOff("×off", figure.Throughput), plain(figure.WaitP50), toOff("p50 ×off", figure.WaitP50),
	plain(figure.WaitP99), plain(figure.ShareRatio), plain(figure.Commands), plain(figure.Calls),
}

// majority are the columns of a scenario in which locks are kept in a majority of servers; the limit's lock is one round trip.
var majority = []column{
	plain(figure.Throughput), toLimit("×limit", figure.Throughput), toPeer("×peer", figure.Throughput),
	plain(figure.PairP50), toLimit("p50 ×limit", figure.PairP50), toPeer("p50 ×peer", figure.PairP50),
	plain(figure.WaitP50), toLimit("round trips", figure.WaitP50), plain(figure.WaitP99), toPeer("p99 ×peer", figure.WaitP99),
	plain(figure.UnlockP50), plain(figure.UnlockP99), plain(figure.ShareRatio), plain(figure.Commands), plain(figure.Calls), plain(figure.Failures),
}

// troubled are the columns of a scenario in which a node does not answer.
var troubled = []column{
	plain(figure.Throughput), toHealthy("×healthy", figure.Throughput), toPeer("×peer", figure.Throughput),
	plain(figure.WaitP50), plain(figure.WaitP99), toHealthy("p99 ×healthy", figure.WaitP99),
	plain(figure.UnlockP50), plain(figure.UnlockP99), toHealthy("p99 ×healthy", figure.UnlockP99), plain(figure.Failures),
}

// of are the columns of a scenario: usual, unless it is about something else.
func of(s *result.Scenario, usual []column) []column {
	switch {
	case s.Healthy != "":
		return troubled
	case s.Nodes > 0:
		return majority
	}
	for _, c := range s.Contenders {
		if c.Role == contender.Guarded {
			return guard
		}
	}
	return usual
}

func titles(columns []column) []string {
	row := []string{""}
	for _, c := range columns {
		row = append(row, c.title)
	}
	return row
}

func medians(columns []column, of *result.Contender) []string {
	row := []string{of.Name}
	for _, c := range columns {
		row = append(row, number(c.median(of)))
	}
	return row
}

// spreads is empty where there is nothing, or all repetitions had the same.
func spreads(columns []column, of *result.Contender) []string {
	row := []string{""}
	for _, c := range columns {
		s := c.spread(of)
		text := ""
		if !math.IsNaN(s.Median) && s.Min != s.Max {
			text = number(s.Min) + "…" + number(s.Max)
		}
		row = append(row, text)
	}
	return row
}

// judged has a row for every bar. What is missed is loud.
func judged(bars []result.Verdict) [][]string {
	var rows [][]string
	for _, v := range bars {
		switch {
		case !v.Measured:
			rows = append(rows, []string{"not measured", v.Bar, v.Wanted, ""})
		case v.Met:
			rows = append(rows, []string{"met", v.Bar, v.Wanted, got(v)})
		default:
			rows = append(rows, []string{"MISSED", v.Bar, v.Wanted, got(v)})
		}
	}
	return rows
}

func got(v result.Verdict) string {
	return fmt.Sprintf("%s (%s…%s)", number(v.Got), number(v.Min), number(v.Max))
}

func scaled(s *result.Scale) [][]string {
	return [][]string{
		{"locks held at once", fmt.Sprintf("%d, TTL %g s; taken at %s in a second", s.Locks, s.TTLSeconds, number(s.LocksASecond))},
		{"lost while watched", fmt.Sprintf("%d, in %s s", s.Lost, number(s.WatchedSeconds))},
		{"released late", fmt.Sprint(s.Late)},
		{"renewals", number(s.RenewalsASecond) + " in a second"},
		{"server CPU for renewals", fmt.Sprintf("%s of one processor (%s before there were locks); %s µs for each",
			percent(s.ServerCPU), percent(s.ServerCPUIdle), number(s.MicrosForRenewal))},
		{"server memory for a lock", number(s.BytesForLock) + " bytes"},
		{"this process's heap for a lock", number(s.ClientBytes) + " bytes"},
		{"waiters on one lock", fmt.Sprint(s.Waiters)},
		{"server memory for a waiter", number(s.BytesForWaiter) + " bytes"},
	}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// number prints three digits or so.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case v == math.Trunc(v) && size < 1e6:
		return fmt.Sprintf("%.0f", v)
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}
