package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/exit"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
)

// lookFlags are those of the commands that only look.
type lookFlags struct {
	timeout span
	json    bool
}

func (f *lookFlags) define(flags *pflag.FlagSet) {
	f.defineTimeout(flags)
	flags.BoolVar(&f.json, "json", false, "print JSON, for programs")
}

func (f *lookFlags) defineTimeout(flags *pflag.FlagSet) {
	flags.SortFlags = false
	f.timeout.Duration = defaultTimeout
	flags.Var(&f.timeout, "timeout", "how many `SECONDS` to wait for the store")
}

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments; leave %s out", c.CommandPath(), say.Quote(echo(args[0])))
	}
	return nil
}

// oneName asks for exactly one name of a lock.
func oneName(c *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return exit.Usagef("the NAME of the lock is missing; write: %s", c.UseLine())
	case 1:
		if err := driver.CheckName(args[0]); err != nil {
			return exit.Usagef("%s: %v", say.Quote(args[0]), err)
		}
		return nil
	}
	return exit.Usagef("one NAME is taken, %d are given; put a name with spaces into quotes", len(args))
}

// both shows the lock and the semaphore of a name; nil for a semaphore that nobody uses, and in a store that has none.
func both(ctx context.Context, locks *holdfast.Client, name string) (lock, semaphore *holdfast.Info, err error) {
	if lock, err = locks.Inspect(ctx, name); err != nil {
		return nil, nil, err
	}
	semaphore, err = locks.Semaphore(name, 1).Inspect(ctx)
	if errors.Is(err, holdfast.ErrUnsupported) {
		return lock, nil, nil
	}
	if err == nil && len(semaphore.Holders)+len(semaphore.Waiters) == 0 {
		semaphore = nil // that nothing is granted is said of the lock
	}
	return lock, semaphore, err
}

func inUse(info *holdfast.Info) bool {
	return info != nil && (len(info.Holders)+len(info.Waiters) > 0 || info.Guard > 0)
}

// A table has columns that are as wide as what stands in them.
type table struct {
	indent string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes it. What is in the cells is harmless already.
func (t *table) print(out io.Writer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], say.Width(cell))
		}
	}
	for _, row := range t.rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(say.Pad(cell, widths[i]+2))
		}
		fmt.Fprintln(out, t.indent+strings.TrimRight(b.String(), " "))
	}
}

// none stands in a cell where there is nothing to tell.
const none = "—"

// how says in which way a lock is held or wanted.
func how(mode holdfast.Mode, n, limit int) string {
	switch {
	case mode != holdfast.Permits:
		return mode.String()
	case limit > 0:
		return fmt.Sprintf("%d of %d permits", n, limit)
	}
	return fmt.Sprintf("%d permits", n)
}

// who names a holder, and what is odd about its hold.
func who(h holdfast.Holder) string {
	switch {
	case h.Kept:
		return "(nobody: kept by a minimum hold)"
	case h.Broken:
		return label(h.Label) + " (broken: told to end)"
	}
	return label(h.Label)
}

func label(text string) string {
	if text == "" {
		return "(without a label)"
	}
	return say.Name(text)
}

// left says how long a hold lasts unless it is renewed.
func left(d time.Duration) string {
	if d == driver.Forever {
		return none
	}
	return say.Duration(d)
}
