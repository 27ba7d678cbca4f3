package measure

import (
	"slices"
	"time"

	"holdfast.dev/bench/internal/figure"
)

// A window is the time between the two looks at the server, and what that did meanwhile.
type window struct {
	from, to  int64
	processed int64
	calls     map[string]int64
}

func (w *window) contains(at int64) bool { return w.from < at && at <= w.to }

// result makes figures of what the workers saw.
func (w *window) result(direct []string, workers []*worker) *Result {
	var waits, served, gaps []int64
	shares := make([]int, len(workers))
	failures, problem := 0, ""
	for i, each := range workers {
		for _, t := range each.turns {
			if asked := t.got - t.wait; t.got > w.to && asked <= w.to { // the clock stopped during this wait, the goroutine a little later
				waits = append(waits, w.to-asked)
			}
			if !w.contains(t.got) {
				continue
			}
			shares[i]++
			served = append(served, t.wait)
			if t.gap >= 0 {
				gaps = append(gaps, t.gap)
			}
		}
		if each.asking >= 0 && each.asking <= w.to {
			waits = append(waits, w.to-each.asking)
		}
		for _, f := range each.failures {
			if w.contains(f.at) {
				failures++
				problem = f.err.Error()
			}
		}
	}
	waits = append(waits, served...)
	for _, s := range [][]int64{waits, served, gaps} {
		slices.Sort(s)
	}
	lasted := time.Duration(w.to - w.from)
	return &Result{
		Figures: w.figures(direct, lasted, waits, served, gaps, shares, failures),
		Lasted:  lasted, Holds: len(served), Commands: w.calls, Problem: problem,
	}
}

func (w *window) figures(direct []string, lasted time.Duration, waits, served, gaps []int64, shares []int, failures int) figure.Set {
	s := figure.None()
	holds := float64(len(served))
	s[figure.Throughput] = figure.Ratio(holds, lasted.Seconds())
	s[figure.WaitP50] = ms(figure.Percentile(waits, 50))
	s[figure.WaitP99] = ms(figure.Percentile(waits, 99))
	s[figure.WaitMax] = ms(figure.Percentile(waits, 100))
	s[figure.ServedP99] = ms(figure.Percentile(served, 99))
	s[figure.ShareMin], s[figure.ShareMax], s[figure.ShareRatio] = figure.Shares(shares)
	s[figure.Commands] = figure.Ratio(float64(w.processed), holds)
	s[figure.Calls] = figure.Ratio(float64(sent(w.calls, direct)), holds)
	s[figure.GapP50] = ms(figure.Percentile(gaps, 50))
	s[figure.GapP99] = ms(figure.Percentile(gaps, 99))
	s[figure.Failures] = float64(failures)
	return s
}
