package program

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/torture"
)

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
		return p.tortured(context.Background(), result, err, *f)
	})
	return c
}

func (p *program) tortureReportCommand() *cobra.Command {
	f := new(outputFlags)
	c := &cobra.Command{
		Use:   "report BUNDLE... [flags]",
		Short: "Show what is known about bundles",
		Long: `Report puts together what was found in one bundle or several, without judging
them again, and what "holdfast torture controls --json" or another command with
--json has printed into a file. It ends with 0, or with 1 if there is a
violation.`,
		Example: "  holdfast torture report proof\n" +
			"  holdfast torture report controls.json proof --markdown > docs/proof.md",
		DisableFlagsInUseLine: true,
		Args:                  someBundles,
	}
	f.define(c.Flags())
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print a page of Markdown")
	c.RunE = p.then(func(bundles []string) error {
		result, err := torture.Report(bundles)
		return p.tortured(context.Background(), result, err, *f)
	})
	return c
}

func someBundles(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exit.Usagef("no bundle is given; name a directory that holdfast torture --into has made")
	}
	return nil
}

func (p *program) tortureShowCommand() *cobra.Command {
	lock := ""
	c := &cobra.Command{
		Use:   "show BUNDLE ROUND [flags]",
		Short: "Print the history of a round",
		Long: `Show prints what happened in a round, a line for each thing that was recorded:
when, in milliseconds since its beginning, who, and what.`,
		Example:               "  holdfast torture show proof 3 --lock hot",
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usagef("give a BUNDLE, and the number of a ROUND in it, as in: holdfast torture show proof 3")
			}
			if _, err := strconv.Atoi(args[1]); err != nil {
				return exit.Usagef("%s is no number of a round; write: holdfast torture show BUNDLE 3", say.Quote(echo(args[1])))
			}
			return nil
		},
	}
	c.Flags().StringVar(&lock, "lock", "", "only what is about the lock of this `NAME`")
	c.RunE = p.then(func(args []string) error {
		number, _ := strconv.Atoi(args[1])
		return p.tortured(context.Background(), nil, torture.Show(p.out, args[0], number, lock), outputFlags{})
	})
	return c
}
