package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"holdfast.dev/bench/internal/bars"
	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/fleet"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
	"holdfast.dev/locktest/servers"
)

// document measures, or reads what was measured. With an error it returns what there is.
func document(ctx context.Context, o *options, progress io.Writer) (*result.Document, error) {
	var d *result.Document
	var err error
	if o.from != "" {
		d, err = result.Read(o.from)
	} else {
		d, err = measureAll(ctx, o, progress)
	}
	if d != nil {
		var order []string
		for _, c := range o.contenders {
			order = append(order, c.Name)
		}
		d.Summarise(order)
		d.Bars = bars.JudgeMajorities(d)
	}
	return d, err
}

func measureAll(ctx context.Context, o *options, progress io.Writer) (*result.Document, error) {
	most := slices.MaxFunc(o.scenarios, func(a, b scenario.Scenario) int { return a.Nodes - b.Nodes }).Nodes
	nodes, err := fleet.Start(ctx, most, scenario.Far)
	if err != nil {
		return nil, err
	}
	defer nodes.Close()
	others, err := plainFleet(ctx, o, most)
	if err != nil {
		return nil, err
	}
	defer others.Close()
	probe, err := nodes.Probe(most)
	if err != nil {
		return nil, err
	}
	info, err := probe.Info(ctx)
	if err != nil {
		return nil, err
	}
	d := &result.Document{
		Began: time.Now().UTC(), Machine: result.ThisMachine(), Libraries: result.Versions(o.contenders),
		Server: result.Server{Product: info.Product, Version: info.Version, Own: true, Nodes: most},
		Runs:   o.runs, For: o.forTime.String(), Warm: o.warm.String(),
	}
	fmt.Fprintf(progress, "%d servers of %s %s; this takes about %v\n", most, info.Product, info.Version, lasts(o).Round(time.Second))
	if err := nodes.Aged(ctx, o.guard); err != nil {
		return nil, err
	}
	for number := range o.runs {
		for _, s := range o.scenarios {
			if err := measureOne(ctx, o, d, fleets{nodes, others}, s, number, progress); err != nil {
				return d, err
			}
		}
	}
	return d, nil
}

// fleets are the servers, and those without functions.
type fleets struct{ usual, plain *fleet.Fleet }

func (f fleets) of(c contender.Contender) *fleet.Fleet {
	if c.Role == contender.Plain {
		return f.plain
	}
	return f.usual
}

// plainFleet starts as many servers without functions, if somebody runs on them.
func plainFleet(ctx context.Context, o *options, most int) (*fleet.Fleet, error) {
	if !slices.ContainsFunc(o.contenders, func(c contender.Contender) bool { return c.Role == contender.Plain }) {
		return new(fleet.Fleet), nil
	}
	return fleet.Start(ctx, most, scenario.Far, servers.RedisRename("FCALL", ""))
}

// measureOne runs one scenario once. The contenders come one after the other, and each time another is first: who comes after whom might matter.
func measureOne(ctx context.Context, o *options, d *result.Document, all fleets, s scenario.Scenario, number int, progress io.Writer) error {
	entrants := entrants(o.contenders, s)
	for place := range entrants {
		c := entrants[(place+number)%len(entrants)]
		nodes := all.of(c)
		probe, err := nodes.Probe(s.Nodes)
		if err != nil {
			return err
		}
		r := measure.Run{Contender: c, Scenario: s, Warm: o.warm, For: o.forTime}
		asked := probe
		if s.Stopped {
			which := number % s.Nodes
			asked = probe.But(which)
			r.Spoil = func() (func() error, error) { return nodes.Stop(ctx, which) }
		}
		found, err := measure.Measure(ctx, asked, nodes.Addr(s.Nodes, s.Far > 0), r)
		if v, ok := errors.AsType[*measure.Violation](err); ok && c.Role == contender.Peer { // a fact about it, and no reason to end
			d.AddViolation(s, c, number+1, place+1, v)
			fmt.Fprintf(progress, "%d/%d %v\n", number+1, o.runs, err)
			continue
		}
		if err != nil {
			return err
		}
		d.Add(s, c, number+1, place+1, found)
		fmt.Fprintf(progress, "%d/%d %s %s: %.0f holds/s, lock+unlock %.3f ms, p99 of lock %.2f ms, of unlock %.2f ms\n", number+1, o.runs, s.Name, c.Name,
			found.Figures[figure.Throughput], found.Figures[figure.PairP50], found.Figures[figure.WaitP99], found.Figures[figure.UnlockP99])
	}
	return nil
}

// entrants are the contenders that can run a scenario: the limit neither waits for a lock, nor does without a node; and what ours is without functions is
// a question where nothing else happens.
func entrants(all []contender.Contender, s scenario.Scenario) []contender.Contender {
	return slices.DeleteFunc(slices.Clone(all), func(c contender.Contender) bool {
		return (c.Role == contender.Limit || c.Role == contender.Plain) && (s.Contended() || s.Stopped)
	})
}

// lasts is how long it takes, at least.
func lasts(o *options) time.Duration {
	total := o.guard
	for _, s := range o.scenarios {
		total += time.Duration(len(entrants(o.contenders, s))*o.runs) * (o.warm + o.forTime*time.Duration(s.Times))
	}
	return total
}
