package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
)

// breakFlags are the flags of break, as they were given.
type breakFlags struct {
	lookFlags
	token          string
	now, semaphore bool
}

func (p *program) breakCommand() *cobra.Command {
	f := new(breakFlags)
	c := &cobra.Command{
		Use:        "break NAME --token T [flags]",
		SuggestFor: []string{"unlock", "release", "kill", "rm", "delete", "free"},
		Short:      "End somebody's hold of a lock",
		Long: `Break ends exactly the hold of NAME that has the token T, as inspect shows it;
of readers, all that share the token. Nothing else is touched: if the lock has
moved on meanwhile, break says so and ends with code 1.

The holder is told, and a command under holdfast run is ended: TERM, then KILL.
The lock goes to the next when the holder has let go, or when its time in the
store is over, so that two never work at once. Where nothing runs out (a
directory), it stays taken until the holder lets go or ends.

With --now the lock is free at once, though its holder may still be at work. Use
it when the holder is known to be dead, or when what it writes to checks the
tokens.`,
		Example:               "  holdfast inspect nightly-report\n  holdfast break nightly-report --token 42",
		DisableFlagsInUseLine: true,
		Args:                  oneName,
		ValidArgsFunction:     p.completeName,
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&f.token, "token", "", "the `TOKEN` of the hold to end")
	c.Flags().BoolVar(&f.now, "now", false, "free the lock at once, though its holder may still be at work")
	c.Flags().BoolVar(&f.semaphore, "semaphore", false, "the hold is one of the semaphore of that name (run --limit)")
	f.defineTimeout(c.Flags())
	c.RegisterFlagCompletionFunc("token", p.completeToken)
	c.RunE = func(c *cobra.Command, args []string) error {
		token, err := strconv.ParseUint(f.token, 10, 64)
		switch {
		case f.token == "":
			return exit.Usagef("--token is missing; holdfast inspect %s shows the tokens", shellWord(args[0]))
		case err != nil:
			return exit.Usagef("--token takes a number, not %s; holdfast inspect %s shows the tokens", say.Quote(echo(f.token)), shellWord(args[0]))
		}
		p.action = func() error {
			return p.use(c.Flags().Changed("store"), look{
				as: "holdfast break", timeout: f.timeout,
				do: func(ctx context.Context, locks *holdfast.Client) error {
					return p.breakHold(ctx, locks, args[0], token, f)
				},
				nothing: func(bool) error { return p.noSuchHold(args[0], token, f, nil, nil) },
			})
		}
		return nil
	}
	return c
}

func (p *program) breakHold(ctx context.Context, locks *holdfast.Client, name string, token uint64, f *breakFlags) error {
	lock, semaphore, err := both(ctx, locks, name)
	if err != nil {
		return err
	}
	seen, end := lock, locks.Break
	if f.semaphore {
		seen = semaphore
		end = func(ctx context.Context, _ string, token uint64, opts ...holdfast.BreakOption) error {
			return locks.Semaphore(name, 1).Break(ctx, token, opts...)
		}
	}
	var opts []holdfast.BreakOption
	if f.now {
		opts = append(opts, holdfast.Now())
	}
	err = end(ctx, name, token, opts...)
	switch {
	case errors.Is(err, holdfast.ErrNotHeld):
		return p.noSuchHold(name, token, f, lock, semaphore)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(p.out, outcome(f.kind(), name, f.now, withToken(seen, token)))
	return err
}

// kind is what the hold is one of.
func (f *breakFlags) kind() string {
	if f.semaphore {
		return "semaphore"
	}
	return "lock"
}

// noSuchHold says that nothing was broken, and what there is instead.
func (p *program) noSuchHold(name string, token uint64, f *breakFlags, lock, semaphore *holdfast.Info) error {
	seen, other := lock, semaphore
	if f.semaphore {
		seen, other = semaphore, lock
	}
	p.voice.Printf("no hold of the %s %s has the token %d; %s", f.kind(), say.Quote(name), token, instead(f.kind(), name, token, seen, other))
	return ended(exit.NotGot)
}

// withToken returns the holds with a token, as they were seen before they were broken.
func withToken(info *holdfast.Info, token uint64) []holdfast.Holder {
	if info == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(info.Holders), func(h holdfast.Holder) bool { return h.Token != token })
}

// instead says what there is, where there is no such hold.
func instead(kind, name string, token uint64, seen, other *holdfast.Info) string {
	if len(withToken(other, token)) > 0 {
		if kind == "lock" {
			return "but the semaphore of that name has one: add --semaphore"
		}
		return "but the lock of that name has one: leave --semaphore out"
	}
	if seen == nil || len(seen.Holders) == 0 {
		return "it is free"
	}
	var tokens []string
	for _, h := range seen.Holders {
		if t := strconv.FormatUint(h.Token, 10); h.Token != token && !slices.Contains(tokens, t) {
			tokens = append(tokens, t)
		}
	}
	if len(tokens) == 0 { // it was there when we looked
		return "it ended just now"
	}
	return fmt.Sprintf("it is held now with token %s; holdfast inspect %s shows by whom", strings.Join(tokens, ", "), shellWord(name))
}

// outcome says what was done, and what happens next.
func outcome(kind, name string, now bool, holders []holdfast.Holder) string {
	var labels []string
	last := holdfast.Holder{}
	for _, h := range holders {
		labels = append(labels, who(h))
		if h.Left > last.Left {
			last = h
		}
	}
	what := fmt.Sprintf("the %s %s", kind, say.Quote(name))
	by := strings.Join(labels, ", ")
	switch {
	case now && by == "":
		return "freed " + what + " at once"
	case now:
		return fmt.Sprintf("freed %s at once; its holder is told, but may still be at work: %s", what, by)
	case by == "":
		return fmt.Sprintf("told the holder of %s to end", what)
	case last.Kept:
		return fmt.Sprintf("broke the hold of %s; it stays taken until its minimum hold is over, in %s; add --now to free it at once", what, left(last.Left))
	case last.Left == driver.Forever:
		return fmt.Sprintf("told the holder of %s to end: %s\nOn this store nothing runs out: the %s is free when the holder lets go or ends. "+
			"If it does neither, add --now.", what, by, kind)
	}
	return fmt.Sprintf("told the holder of %s to end: %s\nIt is not renewed any more: the %s is free when the holder lets go, in %s at the latest.",
		what, by, kind, left(last.Left))
}
