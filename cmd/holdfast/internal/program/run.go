package program

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/run"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
)

// runFlags are the flags of run, as they were given.
type runFlags struct {
	nonblock, shared, exclusive, close, verbose bool

	wait, ttl, grace, maxHold, minHold span

	conflict, limit int
	command, label  string
}

func (p *program) runCommand() *cobra.Command {
	f := new(runFlags)
	c := &cobra.Command{
		Use:        "run NAME... [flags] -- COMMAND [ARGUMENT]...",
		Short:      "Run a command while holding a lock",
		Long:       runLong,
		Example:    runExample,
		SuggestFor: []string{"lock", "exec", "with", "acquire", "flock"},
		Args:       cobra.ArbitraryArgs,

		DisableFlagsInUseLine: true,
		ValidArgsFunction:     p.completeRun,
	}
	f.define(c.Flags(), &p.quiet)
	c.RunE = func(c *cobra.Command, args []string) error {
		plan, err := p.plan(c, f, args)
		if err != nil {
			return err
		}
		p.action = func() error { return p.carryOut(plan, c.Flags().Changed("store")) }
		return nil
	}
	return c
}

func (f *runFlags) define(flags *pflag.FlagSet, quiet *bool) {
	flags.SortFlags = false
	flags.BoolVarP(&f.nonblock, "nonblock", "n", false, "do not wait: if the lock is held, end with code 1 at once")
	flags.VarP(&f.wait, "timeout", "w", "wait at most `SECONDS` (0.5 is half a second), then end with code 1; also --wait")
	flags.IntVarP(&f.conflict, "conflict-exit-code", "E", exit.NotGot, "end with `CODE` when the lock was not got")
	flags.BoolVarP(&f.shared, "shared", "s", false, "share the lock with others who give -s; only those without -s are kept out")
	flags.BoolVarP(&f.exclusive, "exclusive", "x", false, "have the lock alone, which is the default; also -e")
	flags.BoolVarP(&f.exclusive, "e", "e", false, "")
	flags.MarkHidden("e")
	flags.IntVar(&f.limit, "limit", 0, "let up to `N` commands under this name run at a time; everybody gives the same N")
	flags.StringVarP(&f.command, "command", "c", "", "run `STRING` in a shell ($SHELL, else /bin/sh) instead of a COMMAND behind --")
	flags.BoolVarP(&f.close, "close", "o", false, "do not wait for what the command leaves in the background: it goes on unprotected")
	flags.Var(&f.ttl, "ttl", "how long the store keeps the lock after this machine is lost (ttl= in the URL of the store, else 10s)")
	flags.Var(&f.grace, "grace", "how long before the lock is lost the command is told to end (5s, less where the TTL is short)")
	flags.Var(&f.maxHold, "max-hold", "end the command when it has run for this long")
	flags.Var(&f.minHold, "min-hold", "keep the lock for at least this long, even if the command ends sooner")
	flags.StringVar(&f.label, "label", "", "`TEXT` that others see as the holder (the name of the command)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "tell about waiting also where there is no terminal")
	flags.BoolVarP(quiet, "quiet", "q", false, "do not say that the lock is held, nor who holds it while waiting; losses and failures are printed all the same")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "wait":
			name = "timeout"
		case "nb", "nonblocking": // as flock(1) has it
			name = "nonblock"
		}
		return pflag.NormalizedName(name)
	})
}

// plan checks the command line of a run, and makes a Plan of it.
func (p *program) plan(c *cobra.Command, f *runFlags, args []string) (*run.Plan, error) {
	names, command, err := p.split(c, f, args)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := driver.CheckName(name); err != nil {
			return nil, exit.Usagef("%s: %v", say.Quote(name), err)
		}
	}
	if err := f.check(c.Flags()); err != nil {
		return nil, err
	}
	plan := &run.Plan{
		Names: names, Command: command, Shared: f.shared, Limit: f.limit, Leave: f.close, Label: f.label,
		NoWait: f.nonblock || f.wait.given && f.wait.Duration == 0, Wait: f.wait.Duration, NotGot: f.conflict,
		TTL: f.ttl.Duration, Grace: f.grace.Duration, MaxHold: f.maxHold.Duration, MinHold: f.minHold.Duration,
		Quiet: p.quiet, Verbose: f.verbose, Voice: p.voice,
	}
	if !c.Flags().Changed("label") {
		plan.Label = labelOf(command[0])
	}
	return plan, f.checkTimes()
}

// labelOf is how others see a run that was given no label: the name of its command, if that can be one.
func labelOf(command string) string {
	name := filepath.Base(command)
	if checkLabel(name) != nil {
		return ""
	}
	return name
}

func checkLabel(text string) error {
	switch {
	case len(text) > 200 || !utf8.ValidString(text):
		return exit.Usagef("--label takes at most 200 bytes of UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return exit.Usagef("--label %s contains a control character; leave it out", say.Quote(text))
	}
	return nil
}

// split tells names from command.
func (p *program) split(c *cobra.Command, f *runFlags, args []string) (names, command []string, err error) {
	dash, shell := c.ArgsLenAtDash(), c.Flags().Changed("command")
	if names = args; dash >= 0 {
		names, command = args[:dash], args[dash:]
	}
	switch {
	case shell && len(command) > 0:
		return nil, nil, exit.Usagef("-c and a command behind -- are both given; leave one of them out")
	case len(names) == 0 && slices.Index(command, "--") > 0:
		return nil, nil, exit.Usagef("the NAME of the lock stands before --; write: holdfast run %s", shellLine(command))
	case len(names) == 0 && len(command) > 0:
		return nil, nil, exit.Usagef("the NAME of the lock is missing; write: holdfast run NAME -- %s", shellLine(command))
	case len(names) == 0 && shell:
		return nil, nil, exit.Usagef("the NAME of the lock is missing; write: holdfast run NAME -c %s", shellWord(f.command))
	case len(names) == 0:
		return nil, nil, exit.Usagef("the NAME of the lock and the command are missing; write: holdfast run NAME -- COMMAND")
	case shell && strings.TrimSpace(f.command) == "":
		return nil, nil, exit.Usagef("-c is empty; give it what the shell is to run, as in: -c 'make && make install'")
	case shell:
		return names, []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh"), "-c", f.command}, nil
	case dash >= 0 && len(command) == 0:
		return nil, nil, exit.Usagef("there is no command behind --; write: holdfast run %s -- COMMAND", shellLine(names))
	case dash >= 0 && command[0] == "":
		return nil, nil, exit.Usagef("the command behind -- is an empty word; is a variable of your script not set?")
	case dash >= 0:
		return names, command, nil
	}
	if line := p.withDashes(c); line != "" {
		return nil, nil, exit.Usagef("put -- between the names of locks and the command: %s", line)
	}
	return nil, nil, exit.Usagef("the command is missing; write: holdfast run %s -- COMMAND", shellLine(names))
}

func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

// check refuses flags that contradict each other, or that no store could serve.
func (f *runFlags) check(flags *pflag.FlagSet) error {
	switch {
	case f.nonblock && f.wait.given:
		return exit.Usagef("-n does not wait and -w does; give one of them")
	case f.shared && f.exclusive:
		return exit.Usagef("-s shares the lock and -x does not; give one of them")
	case f.shared && flags.Changed("limit"):
		return exit.Usagef("-s shares a lock and --limit counts permits; give one of them")
	case f.exclusive && flags.Changed("limit"):
		return exit.Usagef("-x has the lock alone and --limit lets several in; give one of them")
	case f.conflict < 0 || f.conflict > 255:
		return wrongNumber(flags.Lookup("conflict-exit-code"), strconv.Itoa(f.conflict))
	case flags.Changed("limit") && f.limit < 1:
		return wrongNumber(flags.Lookup("limit"), strconv.Itoa(f.limit))
	}
	return checkLabel(f.label)
}

// checkTimes refuses durations that do not go together. Those that are not given follow from the others, in package run.
func (f *runFlags) checkTimes() error {
	ttl, grace := f.ttl.Duration, f.grace.Duration
	if !f.ttl.given && grace > holdfast.DefaultTTL/2 {
		ttl = 2 * grace
	}
	lasts := cmp.Or(ttl, holdfast.DefaultTTL)
	switch {
	case f.ttl.given && (ttl < holdfast.MinTTL || ttl > holdfast.MaxTTL):
		return exit.Usagef("--ttl is %v; from %v to %v are possible", ttl, holdfast.MinTTL, holdfast.MaxTTL)
	case f.grace.given && grace < time.Millisecond:
		return exit.Usagef("--grace is %v; give at least 1ms, or leave it out", grace)
	case f.grace.given && (grace > lasts/2 || grace > holdfast.MaxTTL/2):
		return exit.Usagef("--grace is %v; at most half the TTL is possible, %v here", grace, min(lasts, holdfast.MaxTTL)/2)
	case f.maxHold.given && f.maxHold.Duration < 10*time.Millisecond:
		return exit.Usagef("--max-hold is %v; give at least 10ms, or leave it out", f.maxHold.Duration)
	case f.maxHold.given && f.grace.given && f.maxHold.Duration <= grace:
		return exit.Usagef("--max-hold is %v and --grace %v; the command would be told to end before it begins", f.maxHold.Duration, grace)
	case f.minHold.given && (f.minHold.Duration <= 0 || f.minHold.Duration > holdfast.MaxTTL):
		return exit.Usagef("--min-hold is %v; more than 0 and at most %v are possible", f.minHold.Duration, holdfast.MaxTTL)
	}
	return nil
}

// carryOut finds the store and runs the plan.
func (p *program) carryOut(plan *run.Plan, given bool) error {
	url, err := p.storeURL(given)
	if err != nil {
		return err
	}
	p.warnOfPassword(given)
	plan.StoreTTL, plan.StoreAsks = ttlOf(url)
	plan.Open = func(ctx context.Context, opts ...holdfast.OpenOption) (*holdfast.Client, error) {
		if p.isNamed(given) { // not before: a command that is not found makes nothing
			p.noteNewStore(url)
		}
		return holdfast.Open(ctx, url, opts...)
	}
	return ended(plan.Run())
}
