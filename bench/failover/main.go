// Command failover measures how long locks on Redis cannot be had when the primary goes away: restarts, promotions, hand-overs and what
// Sentinels do, each with several guards.
//
//	go run ./bench/failover
//	go run ./bench/failover --cases promote,sentinel --timings shortest,10s --runs 5 --markdown
//
// It starts servers of its own. Most of the time is waiting, so several measurements run beside each other. Figures go to stdout,
// progress to stderr. It ends with code 0; 1 if something failed; 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"holdfast.dev/bench/internal/choose"
	"holdfast.dev/bench/internal/recovery"
	"holdfast.dev/bench/internal/report"
)

// The exit codes.
const (
	failed = 1
	usage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options is the command line.
type options struct {
	cases          []recovery.Case
	timings        []recovery.Timing
	runs, parallel int
	markdown, list bool
}

func parse(args []string, errs io.Writer) (*options, error) {
	o := new(options)
	var cases, timings string
	f := flag.NewFlagSet("failover", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&cases, "cases", "", "`names` of what happens, with commas between them; all if there are none")
	f.StringVar(&timings, "timings", "", "`names` of guards, with commas between them; all if there are none")
	f.IntVar(&o.runs, "runs", 1, "repetitions of everything")
	f.IntVar(&o.parallel, "parallel", 4, "how many measurements run beside each other")
	f.BoolVar(&o.markdown, "markdown", false, "print a table for a page")
	f.BoolVar(&o.list, "list", false, "list cases and timings")
	f.Usage = func() {
		fmt.Fprint(errs, "Usage: go run ./bench/failover [flags]\n\nMeasures how long locks on Redis cannot be had when the primary goes away. "+
			"All of it once takes about three minutes.\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	var wrong [2]error
	o.cases, wrong[0] = recovery.SelectCases(choose.Split(cases))
	o.timings, wrong[1] = recovery.SelectTimings(choose.Split(timings))
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag; what to measure is chosen by --cases and --timings", f.Arg(0))
	case o.runs < 1 || o.parallel < 1:
		return nil, errors.New("--runs and --parallel must be above 0")
	}
	return o, errors.Join(wrong[:]...)
}

// run is everything but the exit.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "failover:", err)
		return usage
	case o.list:
		list(out, o)
		return 0
	}
	outcomes, err := measure(ctx, o, errs)
	if len(outcomes) > 0 { // also what was measured before something failed
		report.Table(out, recovery.Table(outcomes), o.markdown)
	}
	if err != nil {
		fmt.Fprintln(errs, "failover:", err)
		return failed
	}
	return 0
}

func list(out io.Writer, o *options) {
	fmt.Fprintln(out, "cases:")
	for _, c := range o.cases {
		fmt.Fprintf(out, "  %-18s %s\n", c.Name, c.Title)
	}
	fmt.Fprintln(out, "timings:")
	for _, t := range o.timings {
		fmt.Fprintf(out, "  %-18s TTL %v; guard %v, with replicas %v\n", t.Name, t.TTL, t.Alone, t.Guard)
	}
}
