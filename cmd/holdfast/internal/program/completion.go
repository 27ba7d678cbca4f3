package program

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// completing reports whether a shell asks what could be typed next.
func (p *program) completing() bool {
	return len(p.args) > 0 && (p.args[0] == cobra.ShellCompRequestCmd || p.args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete answers a shell. It prints nothing else: cobra would repeat the command line, with all that is in it, on standard error.
func (p *program) complete() int {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
	p.parse()
	return 0
}

// completionFor is asked when no shell that cobra knows was named.
func completionFor(c *cobra.Command, args []string) error {
	var shells []string
	for _, sub := range c.Commands() {
		shells = append(shells, sub.Name())
	}
	given := "no shell is given"
	if len(args) > 0 {
		given = "there is no completion for " + say.Quote(echo(args[0]))
	}
	return exit.Usagef("%s; name one of: %s", given, strings.Join(shells, ", "))
}

// completionTime is how long somebody who pressed the tab key waits for a store.
const completionTime = time.Second

// completeName completes the name of a lock that is in use.
func (p *program) completeName(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.fromStore(c, namesInUse(typed))
}

// completeRun completes the names of locks and, behind --, files: the command and its arguments.
func (p *program) completeRun(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if slices.Contains(p.args[:len(p.args)-1], "--") { // pflag does not tell while completing
		return nil, cobra.ShellCompDirectiveDefault
	}
	return p.fromStore(c, namesInUse(typed, args...))
}

// completeToken completes the tokens with which a lock, or the semaphore of that name, is held.
func (p *program) completeToken(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.fromStore(c, func(ctx context.Context, locks *holdfast.Client) (tokens []cobra.Completion) {
		lock, semaphore, err := both(ctx, locks, args[0])
		if f := c.Flags().Lookup("semaphore"); f.Changed {
			lock = semaphore
		}
		if err != nil || lock == nil {
			return nil
		}
		for _, h := range lock.Holders {
			if token := strconv.FormatUint(h.Token, 10); strings.HasPrefix(token, typed) {
				tokens = append(tokens, cobra.CompletionWithDesc(token, who(h)))
			}
		}
		return tokens
	})
}

// A question is what a store is asked for a completion.
type question func(context.Context, *holdfast.Client) []cobra.Completion

// fromStore asks the store what could be typed next, for as long as somebody waits for that. It makes no store.
func (p *program) fromStore(c *cobra.Command, ask question) ([]cobra.Completion, cobra.ShellCompDirective) {
	const nothingElse = cobra.ShellCompDirectiveNoFileComp
	url, err := p.storeURL(c.Flags().Changed("store"))
	if dir, _ := missing(url); err != nil || dir != "" {
		return nil, nothingElse
	}
	found := make(chan []cobra.Completion, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		locks, err := openToLook(ctx, url)
		if err != nil {
			found <- nil
			return
		}
		defer locks.Close()
		found <- ask(ctx, locks)
	}()
	select {
	case answer := <-found:
		return answer, nothingElse
	case <-time.After(completionTime): // of a store that does not even notice that its context has ended
		return nil, nothingElse
	}
}

// namesInUse returns the names that begin as was typed, but for those that are there already.
func namesInUse(typed string, but ...string) question {
	return func(ctx context.Context, locks *holdfast.Client) (names []cobra.Completion) {
		for info, err := range locks.List(ctx, "") {
			if err != nil {
				break
			}
			if strings.HasPrefix(info.Name, typed) && completable(info.Name) && !slices.Contains(slices.Concat(names, but), info.Name) {
				names = append(names, info.Name)
			}
		}
		return names
	}
}

// plainUsages takes the quotes out of what flags do: they mark the word that stands for the value in the help, and a shell shows them.
func plainUsages(c *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		plainUsages(sub)
	}
}

func completeStore(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return completeSchemes(typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// completable reports whether a name can be given to a shell, which shows it and puts it in, as it is.
func completable(name string) bool { return name == shellWord(name) }
