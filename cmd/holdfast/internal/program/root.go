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

const rootLong = `Holdfast runs commands one at a time, and shows who holds which lock.

A lock is a name. While one command runs under it, every other command under
the same name waits. The first use of a name makes the lock; nothing has to be
set up.

  holdfast run nightly-report -- ./report.sh   run a command under the lock
  holdfast ls                                  who holds what, how many wait
  holdfast inspect nightly-report              who holds one lock, who waits

Locks live in a store, and exclude whoever uses the same one: on as many
machines as the store reaches. A directory (file:///directory) reaches one
machine and one user, a Redis (redis://host:port, rediss:// with TLS) all who
reach it, and so do one that fails over (redis+sentinel://host,host/name) and a
majority of several (redlock://host,host,host). Without --store and
HOLDFAST_STORE it is the directory .local/state/holdfast/locks in your home.`

const storeUsage = "`URL` of the store; else that in HOLDFAST_STORE, else a directory of yours on this machine"

// root is the tree of commands.
func (p *program) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Run commands one at a time",
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
	root.PersistentFlags().BoolVarP(&p.quiet, "quiet", "q", false, "print results and errors, but no notes")
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(p.flagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(p.out, helpOf(c)) })
	root.SetHelpCommand(p.helpCommand())
	root.AddCommand(p.runCommand(), p.lsCommand(), p.inspectCommand(), p.breakCommand(), p.versionCommand(), p.tortureCommand())
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
	if i := slices.IndexFunc(root.SuggestionsFor(name), func(s string) bool { return isMeant(root, name, s) }); i >= 0 {
		next = fmt.Sprintf(`did you mean "holdfast %s"?`, root.SuggestionsFor(name)[i])
	}
	if slices.Contains([]string{"lock", "acquire", "exec", "with"}, name) {
		next = "to run a command while holding a lock, write: holdfast run NAME -- COMMAND"
	}
	return exit.Usagef("there is no command %s; %s", say.Quote(echo(name)), next)
}

// isMeant reports whether a suggestion is worth making. Of two letters two are changed easily: "cp" is not "ls".
func isMeant(root *cobra.Command, name, suggested string) bool {
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == suggested })
	return i >= 0 && slices.Contains(root.Commands()[i].SuggestFor, name) || strings.HasPrefix(suggested, name) ||
		distance(name, suggested) < min(len(name), len(suggested))
}

func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show how a command is used",
		Long:    "Help shows how a command is used, with its flags and examples; without one it\nlists the commands.",
		Example: "  holdfast help run",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			about := c.Root()
			for _, name := range args {
				i := slices.IndexFunc(about.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
				if i < 0 && about.HasParent() {
					path := strings.TrimPrefix(about.CommandPath(), "holdfast ")
					return exit.Usagef("there is no command %s; write: holdfast help %s", say.Quote(path+" "+echo(name)), path)
				}
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
		if c.DisableFlagsInUseLine { // it does something itself
			usage = c.UseLine() + "\n  " + usage
		}
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
	return flags.FlagUsagesWrapped(80)
}
