package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/torture"
)

const tortureLong = `Torture proves that locks hold: it starts private stores on this machine, uses
their locks from many processes, and meanwhile stops, kills and cuts off those
and the servers. Then it checks, from what everybody recorded, that nobody ever
held a lock together with anybody else, that tokens rise, that nothing behind a
fence is lost, that whoever waits is served in turn, and that nothing is left.

Faults come in two classes. Within what a store promises to survive there must
be no violation. Beyond it (somebody deletes all keys) the overlap is measured,
holders must be told, and the fence must lose nothing.

The same seed gives the same schedule again. With --into the rounds are kept in
a directory, a bundle, and a later run into it adds to them; holdfast torture
check BUNDLE judges them again, from the histories alone.

It ends with 0, or with 1 if there was a violation.`

type tortureFlags struct {
	stores, faults []string
	seed           uint64
	duration       time.Duration
	workers        int
	into           string
	output         outputFlags
}

// outputFlags say where the result goes.
type outputFlags struct {
	json bool
	html string
}

func (f *outputFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	flags.StringVar(&f.html, "html", "", "also write the result as a page, with a timeline to look at, into `FILE`")
}

func (p *program) tortureCommand() *cobra.Command {
	f := new(tortureFlags)
	c := &cobra.Command{
		Use:   "torture [flags]",
		Short: "Prove that locks hold, under faults",
		Long:  tortureLong,
		Example: "  holdfast torture --store file --duration 1m\n" +
			"  holdfast torture --store redis --faults within --into proof --html proof.html\n" +
			"  holdfast torture check proof\n" +
			"  holdfast torture controls",
		DisableFlagsInUseLine: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef("there is no command %s; %s", say.Quote("torture "+echo(args[0])), `"holdfast help torture" lists what there is`)
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.stores, "store", []string{"all"}, "which `STORES`: all, "+strings.Join(torture.Stores(), ", "))
	flags.StringSliceVar(&f.faults, "faults", []string{"all"}, "which `FAULTS`: all, within, beyond, or names, such as server-kill")
	flags.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that all chance comes from; without it one is made, and printed")
	flags.DurationVar(&f.duration, "duration", time.Minute, "for each store; 0: until it is stopped by ^C")
	flags.IntVar(&f.workers, "workers", 16, "how many use the locks, two in a process")
	flags.StringVar(&f.into, "into", "", "keep the rounds in this `BUNDLE`, a directory, and add to those that are there")
	f.output.define(flags)
	c.RunE = p.then(func([]string) error {
		if !flags.Changed("seed") {
			f.seed = rand.Uint64N(1 << 32)
		}
		return p.torture(f)
	})
	c.AddCommand(p.tortureControlsCommand(), p.tortureCheckCommand(), p.tortureReportCommand(), p.tortureShowCommand())
	return c
}

func (p *program) torture(f *tortureFlags) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := fmt.Sprintf("holdfast torture --store %s --faults %s --seed %d --duration %v --workers %d",
		strings.Join(f.stores, ","), strings.Join(f.faults, ","), f.seed, f.duration, f.workers)
	p.voice.Notef("%s", command)
	progress := p.progress()
	result, err := torture.Run(ctx, torture.Options{Stores: f.stores, Faults: f.faults, Seed: f.seed, Duration: f.duration, Workers: f.workers,
		Into: f.into, Command: command, Program: []string{self}, Progress: progress.Update})
	progress.Done()
	if f.duration == 0 && errors.Is(err, torture.ErrStopped) {
		err = nil // as it was meant
	}
	return p.tortured(result, err, f.output)
}

// progress shows how a run goes, if somebody may look.
func (p *program) progress() *torture.Progress {
	terminal, on := p.voice.Terminal()
	switch {
	case p.quiet:
		return torture.NewProgress(io.Discard, false, nil)
	case on && terminal.InPlace():
		return torture.NewProgress(os.Stderr, true, terminal.Width)
	}
	return torture.NewProgress(os.Stderr, false, nil)
}

// tortured prints a result, as far as there is one.
func (p *program) tortured(result *torture.Result, err error, f outputFlags) error {
	if errors.Is(err, torture.ErrOption) {
		return exit.Usagef("%v", err)
	}
	if result == nil {
		return err
	}
	if f.html != "" {
		err = errors.Join(err, writeFile(f.html, result.HTML))
	}
	if f.json {
		err = errors.Join(err, result.JSON(p.out))
	} else {
		err = errors.Join(err, result.Text(p.out, p.columns()))
	}
	if err == nil && !result.Passed() {
		return ended(exit.NotGot)
	}
	return err
}

// columns is how wide the result may be.
func (p *program) columns() int {
	if terminal, on := p.voice.Terminal(); on && terminal.Width() > 0 {
		return terminal.Width()
	}
	return 100
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func (p *program) tortureControlsCommand() *cobra.Command {
	o := torture.ControlOptions{}
	output := new(outputFlags)
	c := &cobra.Command{
		Use:   "controls [NAME]... [flags]",
		Short: "Check that broken locks are caught",
		Long: `Controls runs locks that are broken on purpose, small ones on a Redis server, each
in one known way, and for each a twin that is right. It ends with 0 if every
broken one was caught and every twin passed, with every seed; otherwise with 1:
then the checks are too weak, or too strict, and prove nothing.

They are: ` + strings.Join(torture.ControlNames(), " ") + `.`,
		Example:               "  holdfast torture controls\n  holdfast torture controls N3 --seeds 20",
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
	}
	flags := c.Flags()
	flags.IntVar(&o.Seeds, "seeds", 3, "how many `TIMES` each is tried")
	flags.Uint64Var(&o.Seed, "seed", 1, "`NUMBER` that the first try's chance comes from; the others follow")
	flags.StringVar(&o.Into, "into", "", "keep each try as a bundle in this `DIRECTORY`")
	flags.IntVar(&o.Parallel, "parallel", 2, "how many are tried at the same time")
	output.define(flags)
	c.RunE = p.then(func(names []string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		o.Names, o.Program = names, []string{self}
		o.Progress = func(s torture.ControlState) { p.voice.Notef("%s", describeTry(s)) }
		result, err := torture.Controls(ctx, o)
		return p.tortured(result, err, *output)
	})
	return c
}

// describeTry is a line about a try of a control.
func describeTry(s torture.ControlState) string {
	what, came := "the twin", "passed"
	if s.Broken {
		what, came = "the broken lock", "was not caught"
	}
	if len(s.By) > 0 {
		came = "was accused by " + strings.Join(s.By, ", ")
	}
	if !s.Good {
		came += ": WRONG"
		for _, text := range s.What {
			came += "\n  " + text
		}
	}
	return fmt.Sprintf("%s, seed %d: %s %s", s.Name, s.Seed, what, came)
}

func (p *program) tortureCheckCommand() *cobra.Command {
	f := new(outputFlags)
	c := &cobra.Command{
		Use:   "check BUNDLE... [flags]",
		Short: "Judge the rounds of a bundle again",
		Long: `Check reads the histories of a bundle, which "holdfast torture --into BUNDLE"
has made, and judges each round again: nothing else is needed, no store and no
server. It ends with 0, or with 1 if there is a violation.`,
		Example:               "  holdfast torture check proof\n  holdfast torture check proof --html proof.html",
		DisableFlagsInUseLine: true,
		Args:                  someBundles,
	}
	f.define(c.Flags())
	c.RunE = p.then(func(bundles []string) error {
		result, err := torture.Check(bundles, func(bundle string, round int) { p.voice.Notef("%s: round %d", bundle, round) })
		return p.tortured(result, err, *f)
	})
	return c
}

func (p *program) tortureReportCommand() *cobra.Command {
	f := new(outputFlags)
	markdown := false
	c := &cobra.Command{
		Use:                   "report BUNDLE... [flags]",
		Short:                 "Show what is known about bundles",
		Long:                  "Report puts together what was found in one bundle or several, without judging\nthem again.",
		Example:               "  holdfast torture report proof\n  holdfast torture report memory file redis --markdown > docs/proof.md",
		DisableFlagsInUseLine: true,
		Args:                  someBundles,
	}
	f.define(c.Flags())
	c.Flags().BoolVar(&markdown, "markdown", false, "print a page of Markdown")
	c.RunE = p.then(func(bundles []string) error {
		result, err := torture.Report(bundles)
		if err == nil && markdown {
			return result.Markdown(p.out)
		}
		return p.tortured(result, err, *f)
	})
	return c
}

func someBundles(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exit.Usagef("name a bundle: a directory that holdfast torture --into has made")
	}
	return nil
}

func (p *program) tortureShowCommand() *cobra.Command {
	lock := ""
	c := &cobra.Command{
		Use:   "show BUNDLE ROUND [flags]",
		Short: "Print the history of a round",
		Long: `Show prints what happened in a round, a line for each thing that was recorded: when,
in milliseconds since its beginning, who, and what.`,
		Example:               "  holdfast torture show proof 3 --lock hot",
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usagef("give a BUNDLE, and the number of a ROUND in it")
			}
			if _, err := strconv.Atoi(args[1]); err != nil {
				return exit.Usagef("%s is no number of a round", say.Quote(echo(args[1])))
			}
			return nil
		},
	}
	c.Flags().StringVar(&lock, "lock", "", "only what is about the lock of this `NAME`")
	c.RunE = p.then(func(args []string) error {
		number, _ := strconv.Atoi(args[1])
		return p.tortured(nil, torture.Show(p.out, args[0], number, lock), outputFlags{})
	})
	return c
}
