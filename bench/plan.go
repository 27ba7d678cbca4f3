package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"holdfast.dev/bench/internal/bars"
	"holdfast.dev/bench/internal/choose"
	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scale"
	"holdfast.dev/bench/internal/scenario"
)

// scaleName is the scenario that is not run by all, and not repeated.
const scaleName = "scale"

// A plan is what to measure.
type plan struct {
	options    *options
	scenarios  []scenario.Scenario
	contenders []contender.Contender
	scale      bool
}

func newPlan(o *options) (*plan, error) {
	p := &plan{options: o}
	chosen := choose.Split(o.scenarios)
	p.scale = len(chosen) == 0 || slices.Contains(chosen, scaleName)
	others := slices.DeleteFunc(slices.Clone(chosen), func(name string) bool { return name == scaleName })
	var err error
	if len(chosen) == 0 || len(others) > 0 {
		if p.scenarios, err = scenario.Select(scenario.All(), others); err != nil {
			return nil, err
		}
	}
	p.contenders, err = contender.Select(contender.All(o.retry, o.guard), choose.Split(o.contenders))
	return p, err
}

// document measures, or reads what was measured. With an error it returns what there is.
func (p *plan) document(ctx context.Context, progress io.Writer) (*result.Document, error) {
	var d *result.Document
	var err error
	if p.options.from != "" {
		d, err = result.Read(p.options.from)
	} else {
		d, err = p.measure(ctx, progress)
	}
	if d != nil {
		d.Summarise(p.order())
		d.Bars = bars.Judge(d)
	}
	return d, err
}

// order is that of tables.
func (p *plan) order() []string {
	var order []string
	for _, c := range p.contenders {
		order = append(order, c.Name)
	}
	return order
}

func (p *plan) measure(ctx context.Context, progress io.Writer) (*result.Document, error) {
	o := p.options
	d := &result.Document{
		Began: time.Now().UTC(), Machine: result.ThisMachine(), Libraries: result.Versions(p.contenders),
		Runs: o.runs, For: o.forTime.String(), Warm: o.warm.String(),
	}
	server, err := connect(ctx, o.addr)
	if err != nil {
		return nil, err
	}
	defer server.close()
	followed, err := p.connectReplicated(ctx)
	if err != nil {
		return nil, err
	}
	defer followed.close()
	info, err := server.probe.Info(ctx)
	if err != nil {
		return nil, err
	}
	d.Server = result.Server{Product: info.Product, Version: info.Version, Own: o.addr == ""}
	fmt.Fprintf(progress, "%s %s at %s; this takes about %v\n", info.Product, info.Version, server.addr, p.lasts().Round(time.Second))
	if err := p.settle(ctx, server, followed, progress); err != nil {
		return nil, err
	}
	for number := range o.runs {
		if err := p.repetition(ctx, d, server, followed, number, progress); err != nil {
			return d, err
		}
	}
	if p.scale {
		say := func(text string) { fmt.Fprintln(progress, text) }
		d.Scale, err = scale.Measure(ctx, server.probe, server.addr, scale.Options{
			Locks: o.locks, Waiters: o.waiters, Watch: o.watch, Say: say,
		})
	}
	return d, err
}

// settle waits for the guard of the servers that it is measured on, of both at once.
func (p *plan) settle(ctx context.Context, alone, followed *server, progress io.Writer) error {
	var all sync.WaitGroup
	var errs [2]error
	for i, server := range []*server{alone, followed} {
		for _, c := range p.contenders {
			about := func(s scenario.Scenario) bool { return s.Guard && s.Replica == (server == followed) }
			if c.Role != contender.Guarded || !slices.ContainsFunc(p.scenarios, about) {
				continue
			}
			fmt.Fprintf(progress, "waiting until the guard of %s is over\n", server.addr)
			all.Go(func() {
				client, err := c.Open(ctx, server.addr, 1)
				if err == nil {
					err = client.Close()
				}
				errs[i] = err
			})
		}
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// repetition runs all scenarios once. In each the contenders come one after the other, and each time another is first: who comes after
// whom might matter.
func (p *plan) repetition(ctx context.Context, d *result.Document, alone, followed *server, number int, progress io.Writer) error {
	for _, s := range p.scenarios {
		entrants, server := p.entrants(s), alone
		if s.Replica {
			server = followed
		}
		for place := range entrants {
			c := entrants[(place+number)%len(entrants)]
			r, err := measure.Measure(ctx, server.probe, server.addr, measure.Run{
				Contender: c, Scenario: s, Warm: p.options.warm, For: p.options.forTime,
			})
			if err != nil {
				return err
			}
			d.Add(s, c, number+1, place+1, r)
			fmt.Fprintf(progress, "%d/%d %s %s: %.0f holds/s, p99 %.2f ms\n", number+1, p.options.runs, s.Name, c.Name,
				r.Figures[figure.Throughput], r.Figures[figure.WaitP99])
		}
	}
	return nil
}

// connectReplicated starts the server with a replica, if one is needed.
func (p *plan) connectReplicated(ctx context.Context) (*server, error) {
	if !slices.ContainsFunc(p.scenarios, func(s scenario.Scenario) bool { return s.Replica }) {
		return new(server), nil
	}
	return connectReplicated(ctx)
}

// entrants are the contenders that can run a scenario: the limit does not wait, and a guard is measured where that is the question.
func (p *plan) entrants(s scenario.Scenario) []contender.Contender {
	return slices.DeleteFunc(slices.Clone(p.contenders), func(c contender.Contender) bool {
		if s.Guard {
			return c.Role != contender.Ours && c.Role != contender.Guarded
		}
		return c.Role == contender.Guarded || (c.Role == contender.Limit || c.Role == contender.Reference) && s.Contended()
	})
}

// lasts is how long it takes, at least.
func (p *plan) lasts() time.Duration {
	var once time.Duration
	for _, s := range p.scenarios {
		once += time.Duration(len(p.entrants(s))) * (p.options.warm + p.options.forTime*time.Duration(s.Times))
	}
	total := once * time.Duration(p.options.runs)
	if slices.ContainsFunc(p.scenarios, func(s scenario.Scenario) bool { return s.Guard }) {
		total += p.options.guard
	}
	if p.scale {
		total += p.options.watch + 2*contender.TTL
	}
	return total
}
