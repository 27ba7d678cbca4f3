package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
)

const rootLong = `Holdfast runs commands one at a time, on one machine or on many, and shows who holds which lock.

A lock is a name. While one command runs under it, every other command under the same name waits. The first use of a name
makes the lock; nothing has to be set up.

  holdfast run nightly-report -- ./report.sh     run a command while holding the lock
  holdfast ls                                    who holds which lock, how many wait
  holdfast inspect nightly-report                one lock: its holders, and who waits, in order

Locks live in a store. Without --store and HOLDFAST_STORE that is a directory of yours on this machine.`

const storeUsage = "`URL` of the store; else that in HOLDFAST_STORE, else a directory of yours on this machine"

// root is the tree of commands.
func (p *program) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Run commands one at a time, on one machine or on many",
		Long:  rootLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case version:
				p.action = p.printVersion
				return nil
			case len(args) == 0:
				p.action = func() error { return p.noCommand(c) }
				return nil
			}
			return unknownCommand(c, args[0])
		},
		SuggestionsMinimumDistance: 2,
		SilenceErrors:              true,
		SilenceUsage:               true,
	}
	root.PersistentFlags().StringVar(&p.store, "store", "", storeUsage)
	root.PersistentFlags().BoolVarP(&p.quiet, "quiet", "q", false, "print nothing but errors")
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(p.flagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(p.out, helpOf(c)) })
	root.SetHelpCommand(p.helpCommand())
	root.AddCommand(p.runCommand(), p.lsCommand(), p.inspectCommand(), p.breakCommand(), p.versionCommand())
	root.RegisterFlagCompletionFunc("store", completeStore)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // cobra's own shows its help, and no error, for a shell that it does not know
			c.Short, c.Args, c.RunE = "Print a script that makes a shell complete holdfast", cobra.ArbitraryArgs, completionFor
		}
	}
	return root
}

// noCommand shows the help as an error: in a script, a command that is missing must not seem to have been run.
func (p *program) noCommand(c *cobra.Command) error {
	p.voice.Printf("no command is given")
	p.voice.Text("\n" + helpOf(c))
	return ended(exit.Usage)
}

func unknownCommand(root *cobra.Command, name string) error {
	next := `"holdfast help" lists the commands`
	if similar := root.SuggestionsFor(name); len(similar) > 0 {
		next = fmt.Sprintf(`did you mean "holdfast %s"?`, similar[0])
	}
	if slices.Contains([]string{"lock", "acquire", "exec", "with"}, name) {
		next = "to run a command while holding a lock, write: holdfast run NAME -- COMMAND"
	}
	return exit.Usagef("there is no command %s; %s", say.Quote(echo(name)), next)
}

func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show how a command is used",
		Long:    "Help shows how a command is used, with its flags and examples; without one it lists the commands.",
		Example: "  holdfast help run",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			about := c.Root()
			for _, name := range args {
				i := slices.IndexFunc(about.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
				if i < 0 {
					return unknownCommand(c.Root(), name)
				}
				about = about.Commands()[i]
			}
			about.InitDefaultHelpFlag()
			fmt.Fprint(p.out, helpOf(about))
			return nil
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, sub := range c.Root().Commands() {
				if len(args) == 0 && !sub.Hidden {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// helpOf is the page about a command.
func helpOf(c *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimRight(text, "\n "); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", title, text)
		}
	}
	fmt.Fprintln(&b, strings.TrimSpace(c.Long))
	usage := c.UseLine()
	if c.HasSubCommands() {
		usage = c.CommandPath() + " COMMAND [flags]"
	}
	section("Usage", "  "+usage)
	section("Examples", c.Example)
	var commands strings.Builder
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			fmt.Fprintf(&commands, "  %s  %s\n", say.Pad(sub.Name(), 10), sub.Short)
		}
	}
	section("Commands", commands.String())
	section("Flags", flagList(c.LocalFlags()))
	section("Flags of all commands", flagList(c.InheritedFlags()))
	if c.HasSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help tells more about a command.\n", c.CommandPath())
	}
	return b.String()
}

func flagList(flags *pflag.FlagSet) string {
	flags.SortFlags = false
	return flags.FlagUsagesWrapped(120)
}
