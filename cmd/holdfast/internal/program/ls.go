package program

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
)

func (p *program) lsCommand() *cobra.Command {
	f := new(lookFlags)
	c := &cobra.Command{
		Use:     "ls [PREFIX] [flags]",
		Aliases: []string{"list"},
		Short:   "List the locks that are held or waited for",
		Long: `Ls lists the locks and semaphores that somebody holds or waits for, sorted by
name; with a PREFIX, those whose names begin with it. A lock that is free is not
listed.

There is a line for each holder. LEFT is how long the store keeps the hold
unless it is renewed; — where nothing runs out. WAITING is how many wait for
the lock.
` + jsonHelp + `
With --json ls prints an array of such objects.`,
		Example:               "  holdfast ls\n  holdfast ls orders/ --json",
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     p.completeName,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("one PREFIX is taken, %d are given; put a prefix with spaces into quotes", len(args))
			}
			if len(args) == 1 && args[0] != "" && driver.CheckName(args[0]) != nil {
				return exit.Usagef("no name begins with %s: %v", say.Quote(args[0]), driver.CheckName(args[0]))
			}
			return nil
		},
	}
	f.define(c.Flags())
	c.RunE = p.then(func(args []string) error {
		prefix := append(args, "")[0]
		return p.use(c.Flags().Changed("store"), look{
			as: "holdfast ls", timeout: f.timeout,
			do:      func(ctx context.Context, locks *holdfast.Client) error { return p.list(ctx, locks, prefix, f.json) },
			nothing: func(told bool) error { return p.printList(nil, prefix, f.json, !told) },
		})
	})
	return c
}

func (p *program) list(ctx context.Context, locks *holdfast.Client, prefix string, asArray bool) error {
	var infos []*holdfast.Info
	var problem error // what could be read is shown all the same
	for info, err := range locks.List(ctx, prefix) {
		if err != nil {
			problem = err
			break
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, compareInfos)
	if err := p.printList(infos, prefix, asArray, problem == nil); err != nil {
		return err
	}
	return problem
}

func (p *program) printList(infos []*holdfast.Info, prefix string, asArray, complete bool) error {
	if asArray {
		array := []*jsonLock{}
		for _, info := range infos {
			array = append(array, asJSON(info))
		}
		return say.JSON(p.out, array)
	}
	if len(infos) == 0 {
		about := ""
		if prefix != "" {
			about = " whose name begins with " + say.Quote(prefix)
		}
		if complete {
			p.voice.Notef("nobody holds or waits for a lock%s", about)
		}
		return nil
	}
	t := new(table)
	t.add("NAME", "HOW", "HOLDER", "TOKEN", "HELD FOR", "LEFT", "WAITING")
	for _, info := range infos {
		addInfo(t, info)
	}
	var b bytes.Buffer
	t.print(&b)
	_, err := p.out.Write(b.Bytes())
	return err
}

// addInfo adds the lines of one lock.
func addInfo(t *table, info *holdfast.Info) {
	name, waiting := say.Name(info.Name), strconv.Itoa(len(info.Waiters))
	guard := ""
	if info.Guard > 0 {
		guard = fmt.Sprintf(" (nothing is granted for %s)", say.Duration(info.Guard))
	}
	for _, h := range info.Holders {
		t.add(name, how(h.Mode, h.N, info.Limit), who(h)+guard, strconv.FormatUint(h.Token, 10), say.Duration(h.Held), left(h.Left), waiting)
	}
	if len(info.Holders) == 0 {
		t.add(name, none, "(nobody)"+guard, none, none, none, waiting)
	}
}

// compareInfos orders them by their names, and the lock before the semaphore of the same name.
func compareInfos(a, b *holdfast.Info) int {
	space := func(i *holdfast.Info) int {
		if i.Mode == holdfast.Permits {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), space(a)-space(b))
}
