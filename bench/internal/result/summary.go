package result

import (
	"slices"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
)

// Summarise computes medians, spreads and ratios from the repetitions. The contenders come in the order of names.
func (d *Document) Summarise(names []string) {
	for _, s := range d.Scenarios {
		slices.SortStableFunc(s.Contenders, func(a, b *Contender) int {
			return slices.Index(names, a.Name) - slices.Index(names, b.Name)
		})
		for _, c := range s.Contenders {
			c.summarise(s, d.Scenario(s.Healthy))
		}
	}
}

// summarise: healthy is the same scenario without trouble, or nil.
func (c *Contender) summarise(s, healthy *Scenario) {
	c.limitRuns, c.bestRuns = make(map[int]figure.Set), make(map[int]figure.Set)
	c.offRuns, c.wellRuns = make(map[int]figure.Set), make(map[int]figure.Set)
	for _, run := range c.Runs {
		c.limitRuns[run.Number] = run.Figures.Against(figure.Best(s.figures(contender.Limit, run.Number)))
		c.bestRuns[run.Number] = run.Figures.Against(figure.Best(s.figures(contender.Peer, run.Number)))
		c.offRuns[run.Number], c.wellRuns[run.Number] = figure.None(), figure.None()
		if c.Role == contender.Guarded {
			c.offRuns[run.Number] = run.Figures.Against(figure.Best(s.figures(contender.Ours, run.Number)))
		}
		if healthy == nil || healthy.Contender(c.Name) == nil {
			continue
		}
		if well, ok := healthy.Contender(c.Name).Run(run.Number); ok {
			c.wellRuns[run.Number] = run.Figures.Against(well.Figures)
		}
	}
	c.Median, c.Min, c.Max = figure.None(), figure.None(), figure.None()
	c.ToLimit, c.ToBest, c.ToOff, c.ToHealthy = figure.None(), figure.None(), figure.None(), figure.None()
	for _, id := range figure.All() {
		all := c.Over(func(run Run) float64 { return run.Figures[id] })
		c.Median[id], c.Min[id], c.Max[id] = all.Median, all.Min, all.Max
		c.ToLimit[id] = c.Over(func(run Run) float64 { return c.limitRuns[run.Number][id] }).Median
		c.ToBest[id] = c.Over(func(run Run) float64 { return c.bestRuns[run.Number][id] }).Median
		c.ToOff[id] = c.Over(func(run Run) float64 { return c.offRuns[run.Number][id] }).Median
		c.ToHealthy[id] = c.Over(func(run Run) float64 { return c.wellRuns[run.Number][id] }).Median
	}
}

// figures returns what the contenders of a role did in a repetition.
func (s *Scenario) figures(role contender.Role, number int) []figure.Set {
	var sets []figure.Set
	for _, c := range s.Contenders {
		if run, ok := c.Run(number); ok && c.Role == role {
			sets = append(sets, run.Figures)
		}
	}
	return sets
}

// Over summarises something of each repetition.
func (c *Contender) Over(of func(Run) float64) figure.Summary {
	var values []float64
	for _, run := range c.Runs {
		values = append(values, of(run))
	}
	return figure.Summarise(values)
}

// ToLimitIn returns the ratio of a figure to the limit's, in one repetition.
func (c *Contender) ToLimitIn(run Run, id figure.ID) float64 { return c.limitRuns[run.Number][id] }

// ToBestIn returns the ratio of a figure to the best peer's, in one repetition.
func (c *Contender) ToBestIn(run Run, id figure.ID) float64 { return c.bestRuns[run.Number][id] }

// ToOffIn returns the ratio of a figure to that of ours without the guard, in one repetition, if this is ours with it.
func (c *Contender) ToOffIn(run Run, id figure.ID) float64 { return c.offRuns[run.Number][id] }

// ToHealthyIn returns the ratio of a figure to the contender's own without trouble, in one repetition.
func (c *Contender) ToHealthyIn(run Run, id figure.ID) float64 { return c.wellRuns[run.Number][id] }

// Run returns the repetition of that number.
func (c *Contender) Run(number int) (Run, bool) {
	for _, r := range c.Runs {
		if r.Number == number {
			return r, true
		}
	}
	return Run{}, false
}
