package program

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

The same seed gives the same schedule again, and --round one round of it. With
--into the rounds are kept in a directory, a bundle, and a later run into it
adds to them; holdfast torture check BUNDLE judges them again, from the
histories alone. What has violations is kept in any case.

It ends with 0, or with 1 if there was a violation. ^C ends it early: what was
done until then is printed, and it ends with 130; a second ^C ends it at once.`

type tortureFlags struct {
	stores, faults []string
	seed           uint64
	duration       span
	workers, round int
	into           string
	output         outputFlags
}

func (p *program) tortureCommand() *cobra.Command {
	f := &tortureFlags{duration: span{Duration: time.Minute}}
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
	flags.Var(&f.duration, "duration", "for each store; 0: until it is stopped by ^C")
	flags.IntVar(&f.workers, "workers", 16, "how `MANY` use the locks, two in a process")
	flags.IntVar(&f.round, "round", 0, "only the round of this `NUMBER`: with the other flags as they were, it is the same one again")
	flags.StringVar(&f.into, "into", "", "keep the rounds in this `BUNDLE`, a directory, and add to those that are there")
	f.output.define(flags)
	c.RunE = p.then(func([]string) error {
		for name, empty := range map[string]bool{"store": len(f.stores) == 0, "faults": len(f.faults) == 0, "into": f.into == ""} {
			if flags.Changed(name) && empty {
				return exit.Usagef("--%s is given, and says nothing: leave it out, or is a variable empty?", name)
			}
		}
		if !flags.Changed("seed") {
			f.seed = rand.Uint64N(1 << 32)
		}
		return p.torture(f)
	})
	c.AddCommand(p.tortureControlsCommand(), p.tortureCheckCommand(), p.tortureReportCommand(), p.tortureShowCommand())
	return c
}

func (p *program) torture(f *tortureFlags) error {
	for _, store := range f.stores {
		if strings.Contains(store, ":") { // and perhaps a password in it
			return exit.Usagef("torture starts stores of its own and takes no URL; --store takes all, %s", strings.Join(torture.Stores(), ", "))
		}
	}
	if err := f.output.writable(); err != nil {
		return err
	}
	ctx, stop := stoppable()
	defer stop()
	command := fmt.Sprintf("holdfast torture --store %s --faults %s --seed %d --duration %v --workers %d",
		strings.Join(f.stores, ","), strings.Join(f.faults, ","), f.seed, f.duration.Duration, f.workers)
	if f.round != 0 {
		command += fmt.Sprintf(" --round %d", f.round)
	}
	p.voice.Notef("%s", command)
	progress := p.progress()
	result, err := torture.Run(ctx, torture.Options{Stores: f.stores, Faults: f.faults, Seed: f.seed, Duration: f.duration.Duration,
		Workers: f.workers, Round: f.round, Into: f.into, Command: command, Progress: progress.Update})
	progress.Done()
	if f.duration.Duration == 0 && errors.Is(err, torture.ErrStopped) {
		err = nil // as it was meant
	}
	return p.tortured(ctx, result, err, f.output)
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
