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

// A sample is what the workers saw in a window: times in nanoseconds, and how often.
type sample struct {
	waits, served, gaps []int64
	unlocks, pairs      []int64
	shares              []int // holds of each worker
	failures            int
	problem             string // the last one
}

// result makes figures of what the workers saw.
func (w *window) result(direct []string, workers []*worker) *Result {
	s := &sample{shares: make([]int, len(workers))}
	for i, each := range workers {
		for _, t := range each.turns {
			w.add(s, i, t)
		}
		if each.asking >= 0 && each.asking <= w.to {
			s.waits = append(s.waits, w.to-each.asking)
		}
		for _, f := range each.failures {
			if w.contains(f.at) {
				s.failures++
				s.problem = f.err.Error()
			}
		}
	}
	s.waits = append(s.waits, s.served...)
	for _, times := range [][]int64{s.waits, s.served, s.gaps, s.unlocks, s.pairs} {
		slices.Sort(times)
	}
	lasted := time.Duration(w.to - w.from)
	return &Result{
		Figures: w.figures(direct, lasted, s), Lasted: lasted, Holds: len(s.served), Commands: w.calls, Problem: s.problem,
	}
}

// add takes in one turn of a worker.
func (w *window) add(s *sample, worker int, t turn) {
	if asked := t.got - t.wait; t.got > w.to && asked <= w.to { // the clock stopped during this wait, the goroutine a little later
		s.waits = append(s.waits, w.to-asked)
	}
	unlock := min(t.freed, w.to) - t.left
	if t.left <= w.to && t.freed > w.from {
		s.unlocks = append(s.unlocks, unlock)
	}
	if !w.contains(t.got) {
		return
	}
	s.shares[worker]++
	s.served = append(s.served, t.wait)
	if t.gap >= 0 {
		s.gaps = append(s.gaps, t.gap)
	}
	if t.left <= w.to {
		s.pairs = append(s.pairs, t.wait+unlock)
	}
}

func (w *window) figures(direct []string, lasted time.Duration, in *sample) figure.Set {
	s := figure.None()
	holds := float64(len(in.served))
	s[figure.Throughput] = figure.Ratio(holds, lasted.Seconds())
	s[figure.WaitP50] = ms(figure.Percentile(in.waits, 50))
	s[figure.WaitP99] = ms(figure.Percentile(in.waits, 99))
	s[figure.WaitMax] = ms(figure.Percentile(in.waits, 100))
	s[figure.ServedP99] = ms(figure.Percentile(in.served, 99))
	s[figure.UnlockP50] = ms(figure.Percentile(in.unlocks, 50))
	s[figure.UnlockP99] = ms(figure.Percentile(in.unlocks, 99))
	s[figure.PairP50] = ms(figure.Percentile(in.pairs, 50))
	s[figure.PairP99] = ms(figure.Percentile(in.pairs, 99))
	s[figure.ShareMin], s[figure.ShareMax], s[figure.ShareRatio] = figure.Shares(in.shares)
	s[figure.Commands] = figure.Ratio(float64(w.processed), holds)
	s[figure.Calls] = figure.Ratio(float64(sent(w.calls, direct)), holds)
	s[figure.GapP50] = ms(figure.Percentile(in.gaps, 50))
	s[figure.GapP99] = ms(figure.Percentile(in.gaps, 99))
	s[figure.Failures] = float64(in.failures)
	return s
}
