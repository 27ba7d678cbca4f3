package program

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

// completeName completes the names of locks that are in use.
func (p *program) completeName(c *cobra.Command, args []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	const nothingElse = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, nothingElse
	}
	found := make(chan []cobra.Completion, 1)
	go func() { found <- p.namesInUse(c, typed) }()
	select {
	case names = <-found:
	case <-time.After(completionTime): // of a store that does not even notice that its context has ended
	}
	return names, nothingElse
}

func (p *program) namesInUse(c *cobra.Command, typed string) (names []cobra.Completion) {
	url, err := p.storeURL(c.Flags().Changed("store"))
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	locks, err := holdfast.Open(ctx, url)
	if err != nil {
		return nil
	}
	defer locks.Close()
	for info, err := range locks.List(ctx, "") {
		if err != nil {
			break
		}
		if strings.HasPrefix(info.Name, typed) && completable(info.Name) {
			names = append(names, info.Name)
		}
	}
	return names
}

func completeStore(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return completeSchemes(typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// completable reports whether a name can be given to a shell, which shows it and puts it in, as it is.
func completable(name string) bool { return name == shellWord(name) }
