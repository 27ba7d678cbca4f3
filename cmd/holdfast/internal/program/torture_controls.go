package program

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/torture"
)

func (p *program) tortureControlsCommand() *cobra.Command {
	o := torture.ControlOptions{}
	output := new(outputFlags)
	c := &cobra.Command{
		Use:   "controls [NAME]... [flags]",
		Short: "Check that broken locks are caught",
		Long: `Controls runs locks that are broken on purpose, small ones on a Redis server,
each in one known way, and for each a twin that is right. It ends with 0 if
every broken one was caught and every twin passed, with every seed; otherwise
with 1: then the checks are too weak, or too strict, and prove nothing.

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
		if err := output.writable(); err != nil {
			return err
		}
		ctx, stop := stoppable()
		defer stop()
		o.Names = names
		o.Progress = func(s torture.ControlState) { p.voice.Notef("%s", describeTry(s)) }
		result, err := torture.Controls(ctx, o)
		return p.tortured(ctx, result, err, *output)
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
