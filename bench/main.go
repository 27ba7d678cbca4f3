// Command bench measures lock libraries on one Redis: Holdfast, others, and what the round trips alone would allow.
//
//	go run ./bench
//	go run ./bench --scenarios solo,crowd-256 --contenders limit,holdfast,redsync-best --runs 5 --for 1s
//	go run ./bench --json > figures.json
//	go run ./bench --from figures.json --markdown
//
// It starts a server of its own, which nothing else uses, one more with a replica where that is the question, and lets all contenders run each scenario one after the other, in an order
// that turns with every repetition. So whatever else the machine does meanwhile troubles all of them, and what counts is their ratio, not
// the numbers. Every hold is checked for mutual exclusion.
//
// At the end stand the bars: what Holdfast wants to reach, and whether it did. A bar that was missed is printed, and does not make the
// program fail, unless --strict says so: a noisy machine must not fail a change.
//
// It ends with code 0; 1 if something failed, above all if a lock did not exclude; 2 if the command line is wrong; 3 with --strict
// if a bar was missed or not measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/report"
	"holdfast.dev/bench/internal/scenario"
	"holdfast.dev/redislock"
)

// The exit codes.
const (
	failed = 1
	usage  = 2
	missed = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options is the command line.
type options struct {
	addr, from            string
	runs                  int
	forTime, warm, retry  time.Duration
	watch, guard          time.Duration
	scenarios, contenders string
	json, markdown        bool
	list, strict          bool
	locks, waiters        int
}

func parse(args []string, errs io.Writer) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.addr, "addr", "", "`host:port` of a server that is there, instead of one of its own; nothing else should use it")
	f.IntVar(&o.runs, "runs", 5, "repetitions of everything; less than 5 are good for a look only")
	f.DurationVar(&o.forTime, "for", 2*time.Second, "how long one measurement lasts")
	f.DurationVar(&o.warm, "warm", 300*time.Millisecond, "how long the contenders run before each measurement")
	f.StringVar(&o.scenarios, "scenarios", "", "`names` of scenarios, with commas between them; all if there are none")
	f.StringVar(&o.contenders, "contenders", "", "`names` of contenders, with commas between them; all if there are none")
	f.DurationVar(&o.retry, "retry", 0, "the pause of contenders that poll, at their best settings, instead of the best one that was found")
	f.BoolVar(&o.json, "json", false, "print one JSON document, with every repetition")
	f.BoolVar(&o.markdown, "markdown", false, "print tables for a page")
	f.StringVar(&o.from, "from", "", "measure nothing, and print what is in this `file`, written with --json")
	f.BoolVar(&o.list, "list", false, "list scenarios and contenders")
	f.BoolVar(&o.strict, "strict", false, "end with code 3 if a bar was missed or not measured")
	f.IntVar(&o.locks, "locks", 100_000, "locks of the scenario scale")
	f.IntVar(&o.waiters, "waiters", 10_000, "waiters of the scenario scale")
	f.DurationVar(&o.watch, "watch", contender.TTL, "how long renewals are watched in the scenario scale")
	f.DurationVar(&o.guard, "guard", redislock.DefaultGuard, "the guard of the scenarios that are about it; each server makes its first client wait for so long")
	f.Usage = func() {
		fmt.Fprint(errs, "Usage: go run ./bench [flags]\n\nMeasures lock libraries on one Redis, in one run, as ratios. "+
			"All of it takes about half an hour;\n--list shows what can be chosen from. Figures go to stdout, progress to stderr.\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag; scenarios and contenders are chosen by --scenarios and --contenders", f.Arg(0))
	case o.runs < 1 || o.forTime <= 0 || o.warm < 0 || o.retry < 0:
		return nil, errors.New("--runs and --for must be above 0, --warm and --retry not below")
	case o.guard <= 0:
		return nil, errors.New("--guard must be above 0: it is compared with none")
	case o.locks < 1 || o.waiters < 1 || o.watch <= 0:
		return nil, errors.New("--locks, --waiters and --watch must be above 0")
	case o.json && o.markdown:
		return nil, errors.New("--json or --markdown: choose one, and print the other with --from")
	}
	return o, nil
}

// run is everything but the exit.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var p *plan
	if err == nil {
		p, err = newPlan(o)
	}
	if err != nil {
		fmt.Fprintln(errs, "bench:", err)
		return usage
	}
	if o.list {
		list(out, p)
		return 0
	}
	d, err := p.document(ctx, errs)
	if d != nil { // also what was measured before something failed
		if problem := report.Print(out, d, o.json, o.markdown); err == nil {
			err = problem
		}
	}
	switch {
	case err != nil:
		fmt.Fprintln(errs, "bench:", err)
		return failed
	case o.strict && !d.AllMet():
		return missed
	}
	return 0
}

func list(out io.Writer, p *plan) {
	fmt.Fprintln(out, "scenarios:")
	for _, s := range scenario.All() {
		fmt.Fprintf(out, "  %-18s %s\n", s.Name, s.Title)
	}
	fmt.Fprintf(out, "  %-18s %s\n", scaleName, "what many held locks and waiters of Holdfast cost the server")
	fmt.Fprintln(out, "contenders:")
	for _, c := range contender.All(p.options.retry, p.options.guard) {
		fmt.Fprintf(out, "  %-18s %s: %s\n", c.Name, c.Module, c.Settings)
	}
}
