package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"holdfast.dev/bench/internal/recovery"
)

// measure runs everything, some of it side by side, and returns the outcomes in the order of cases and timings, whichever came first. With
// an error it returns what there is.
func measure(ctx context.Context, o *options, progress io.Writer) ([]*recovery.Outcome, error) {
	type job struct {
		c recovery.Case
		t recovery.Timing
	}
	var jobs []job
	for _, c := range o.cases {
		for _, t := range o.timings {
			for range o.runs {
				jobs = append(jobs, job{c, t})
			}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes, errs := make([]*recovery.Outcome, len(jobs)), make([]error, len(jobs))
	places := make(chan struct{}, o.parallel)
	var all sync.WaitGroup
	var said sync.Mutex
	for i, j := range jobs {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-places }()
			if outcomes[i], errs[i] = recovery.Measure(ctx, j.c, j.t); errs[i] != nil {
				cancel()
				return
			}
			said.Lock()
			defer said.Unlock()
			fmt.Fprintf(progress, "%s, timing %s: acquired after %.2f s, with a guard of %v\n", j.c.Name, j.t.Name,
				outcomes[i].Acquired.Seconds(), outcomes[i].Guard)
		})
	}
	all.Wait()
	outcomes = slices.DeleteFunc(outcomes, func(o *recovery.Outcome) bool { return o == nil })
	return outcomes, errors.Join(append(errs, ctx.Err())...)
}
