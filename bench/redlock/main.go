// Command redlock measures locks that are kept in a majority of independent Redis servers: Holdfast with tokens, without, and on servers without
// functions, redsync, and what the round trips alone would allow.
//
//	go run ./bench/redlock
//	go run ./bench/redlock --scenarios solo-of-5,solo-of-5-far --contenders limit,holdfast,redsync-best --runs 20
//	go run ./bench/redlock --json > figures.json
//	go run ./bench/redlock --from figures.json --markdown
//
// It starts five servers of its own, and five without functions, and lets all contenders run each scenario one after the other, in an order that turns with every repetition: whatever
// else the machine does meanwhile troubles all of them, and what counts is their ratio, not the numbers. Every hold is checked for mutual
// exclusion. In the scenarios that end with -far a proxy in this process adds 1 ms to each round trip to each node, on
// the way back. Where a node is stopped it is another one in each repetition; it stands still (SIGSTOP) from before the warm-up on.
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

	"holdfast.dev/bench/internal/choose"
	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/report"
	"holdfast.dev/bench/internal/scenario"
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
	from                        string
	runs                        int
	forTime, warm, retry, guard time.Duration
	json, markdown              bool
	list, strict                bool
	scenarios                   []scenario.Scenario
	contenders                  []contender.Contender
}

func parse(args []string, errs io.Writer) (*options, error) {
	o := new(options)
	var scenarios, contenders string
	f := flag.NewFlagSet("redlock", flag.ContinueOnError)
	f.SetOutput(errs)
	f.IntVar(&o.runs, "runs", 5, "repetitions of everything; less than 5 are good for a look only")
	f.DurationVar(&o.forTime, "for", 300*time.Millisecond, "how long one measurement lasts")
	f.DurationVar(&o.warm, "warm", 100*time.Millisecond, "how long the contenders run before each measurement")
	f.StringVar(&scenarios, "scenarios", "", "`names` of scenarios, with commas between them; all if there are none")
	f.StringVar(&contenders, "contenders", "", "`names` of contenders, with commas between them; all if there are none")
	f.DurationVar(&o.retry, "retry", 0, "the pause of redsync at its best, instead of the best one that was found")
	f.DurationVar(&o.guard, "guard", contender.TTL, "the guard of our nodes, which are that old when it begins; as long as the TTL, or 0 for none")
	f.BoolVar(&o.json, "json", false, "print one JSON document, with every repetition")
	f.BoolVar(&o.markdown, "markdown", false, "print tables for a page")
	f.StringVar(&o.from, "from", "", "measure nothing, and print what is in this `file`, written with --json")
	f.BoolVar(&o.list, "list", false, "list scenarios and contenders")
	f.BoolVar(&o.strict, "strict", false, "end with code 3 if a bar was missed or not measured")
	f.Usage = func() {
		fmt.Fprint(errs, "Usage: go run ./bench/redlock [flags]\n\nMeasures locks in a majority of Redis servers, in one run, as ratios. "+
			"All of it takes about ten minutes;\n--list shows what can be chosen from. Figures go to stdout, progress to stderr.\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	var wrong [2]error
	o.scenarios, wrong[0] = scenario.Select(scenario.Majorities(), choose.Split(scenarios))
	o.contenders, wrong[1] = contender.Select(contender.Majorities(o.retry, o.guard), choose.Split(contenders))
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag; scenarios and contenders are chosen by --scenarios and --contenders", f.Arg(0))
	case o.runs < 1 || o.forTime <= 0 || o.warm < 0 || o.retry < 0 || o.guard < 0:
		return nil, errors.New("--runs and --for must be above 0, --warm, --retry and --guard not below")
	case o.json && o.markdown:
		return nil, errors.New("--json or --markdown: choose one, and print the other with --from")
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
		fmt.Fprintln(errs, "redlock:", err)
		return usage
	case o.list:
		list(out, o)
		return 0
	}
	d, err := document(ctx, o, errs)
	if d != nil { // also what was measured before something failed
		if problem := report.Print(out, d, o.json, o.markdown); err == nil {
			err = problem
		}
	}
	switch {
	case err != nil:
		fmt.Fprintln(errs, "redlock:", err)
		return failed
	case o.strict && !d.AllMet():
		return missed
	}
	return 0
}

func list(out io.Writer, o *options) {
	fmt.Fprintln(out, "scenarios:")
	for _, s := range o.scenarios {
		fmt.Fprintf(out, "  %-20s %s\n", s.Name, s.Title)
	}
	fmt.Fprintln(out, "contenders:")
	for _, c := range o.contenders {
		fmt.Fprintf(out, "  %-20s %s: %s\n", c.Name, c.Module, c.Settings)
	}
}
