package bars

import (
	"math"

	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
)

// JudgeMajorities holds the document against what is wanted of locks in a majority of servers.
func JudgeMajorities(d *result.Document) []result.Verdict { return judge(d, majorities()) }

// majorities has those of several servers: each near, and with every node far away.
func majorities() []bar {
	var all []bar
	for _, far := range []bool{false, true} {
		for _, n := range scenario.Fleets {
			all = append(all, majority(n, far)...)
		}
	}
	return all
}

func majority(nodes int, far bool) []bar {
	in := func(kind string) []string { return []string{scenario.Of(kind, nodes, far)} }
	all := []bar{
		{untokened, in("solo"), figure.PairP50, bestPeer, atMost, 1},
		{plain, in("solo"), figure.PairP50, bestPeer, atMost, 1},
		{ours, in("solo"), figure.Calls, oneRound, atMost, 1},
	}
	if far { // near, a round trip is mostly what the processors do, and that is not the same for all
		all = append(all, bar{ours, in("solo"), figure.WaitP50, oneRoundTrip, atMost, 1})
	}
	for _, subject := range []string{ours, untokened} {
		if nodes == 5 {
			all = append(all,
				bar{subject, in("stopped"), figure.WaitP99, healthy, atMost, 1.5},
				bar{subject, in("stopped"), figure.UnlockP99, healthy, atMost, 1.5})
		}
		all = append(all, bar{subject, in("apart"), figure.Throughput, bestPeer, above, 1})
		crowds := []string{"crowd-1ms"}
		if nodes == 5 {
			crowds = []string{"crowd", "crowd-1ms", "strangers-1ms"}
		}
		for _, kind := range crowds {
			all = append(all, bar{subject, in(kind), figure.WaitP99, bestPeer, atMost, 0.5})
		}
	}
	return append(all, bar{plain, in("apart"), figure.Throughput, bestPeer, above, 1})
}

// inTime returns by how many of the limit's a figure is more than that of ours without tokens, in one repetition. The limit's lock is one round trip.
func (b bar) inTime(d *result.Document, c *result.Contender, run result.Run) float64 {
	without, other, ok := b.without(d, run)
	if !ok {
		return math.NaN()
	}
	return c.ToLimitIn(run, b.figure) - without.ToLimitIn(other, b.figure)
}

// inCalls returns how many more requests go to each node than without tokens, in one repetition. The beginning and the end of the measurement cut
// through a hold, so that a hundredth is no difference.
func (b bar) inCalls(d *result.Document, run result.Run) float64 {
	_, other, ok := b.without(d, run)
	if !ok {
		return math.NaN()
	}
	more := (run.Figures[b.figure] - other.Figures[b.figure]) / float64(d.Scenario(b.scenarios[0]).Nodes)
	return math.Round(100*more) / 100
}

// without returns ours without tokens, and what that did in the same repetition.
func (b bar) without(d *result.Document, run result.Run) (*result.Contender, result.Run, bool) {
	c := d.Scenario(b.scenarios[0]).Contender(untokened)
	if c == nil {
		return nil, result.Run{}, false
	}
	other, ok := c.Run(run.Number)
	return c, other, ok
}
