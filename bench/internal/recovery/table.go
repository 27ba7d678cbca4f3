package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/bench/internal/figure"
)

// Table makes rows of outcomes, titles first: one for each case and timing, in the order in which these are first met. Where one was measured
// several times it has the median, and the spread.
func Table(outcomes []*Outcome) [][]string {
	rows := [][]string{{"what happens", "guard", "TTL", "primary again", "next acquire", "beyond the guard", "the hold"}}
	for _, group := range grouped(outcomes) {
		o := group[0]
		rows = append(rows, []string{
			o.Case.Title, length(o.Guard), length(o.Timing.TTL),
			seconds(group, func(o *Outcome) time.Duration { return o.Primary }),
			seconds(group, func(o *Outcome) time.Duration { return o.Acquired }),
			seconds(group, func(o *Outcome) time.Duration { return o.Acquired - o.Guard }),
			holds(group),
		})
	}
	return rows
}

func grouped(outcomes []*Outcome) [][]*Outcome {
	var groups [][]*Outcome
	for _, o := range outcomes {
		same := func(g []*Outcome) bool { return g[0].Case.Name == o.Case.Name && g[0].Timing.Name == o.Timing.Name }
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], o)
		} else {
			groups = append(groups, []*Outcome{o})
		}
	}
	return groups
}

func length(d time.Duration) string {
	if d == 0 {
		return "off"
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// seconds prints the median, and the spread if there is one.
func seconds(group []*Outcome, of func(*Outcome) time.Duration) string {
	var values []float64
	for _, o := range group {
		values = append(values, of(o).Seconds())
	}
	s := figure.Summarise(values)
	if len(group) == 1 {
		return fmt.Sprintf("%.2f s", s.Median)
	}
	return fmt.Sprintf("%.2f s (%.2f…%.2f)", s.Median, s.Min, s.Max)
}

// holds tells when the hold was confirmed, or why and when it was lost: each by itself, because these do not mix.
func holds(group []*Outcome) string {
	ends := make(map[string][]*Outcome)
	var reasons []string
	for _, o := range group {
		if ends[o.Lost] == nil {
			reasons = append(reasons, o.Lost)
		}
		ends[o.Lost] = append(ends[o.Lost], o)
	}
	slices.SortFunc(reasons, cmp.Compare)
	var texts []string
	for _, reason := range reasons {
		text := "renewed after "
		if reason != "" {
			text = "lost (" + reason + ") after "
		}
		text += seconds(ends[reason], func(o *Outcome) time.Duration { return o.Renewed })
		if len(reasons) > 1 {
			text = fmt.Sprintf("%d× %s", len(ends[reason]), text)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
