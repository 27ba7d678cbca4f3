package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

func (p *program) inspectCommand() *cobra.Command {
	f := new(lookFlags)
	c := &cobra.Command{
		Use:        "inspect NAME [flags]",
		SuggestFor: []string{"show", "status", "who", "info", "get"},
		Short:      "Show who holds a lock and who waits for it",
		Long: `Inspect shows who holds the lock NAME, with which token, since when and for how
long yet; and who waits for it, in the order in which they will be served. A
lock and a semaphore (run --limit) of the same name are different things: both
are shown if both are in use. A lock that nobody uses is free, which is no
error.
` + jsonHelp + `
With --json inspect prints an object with name, lock and semaphore (null where
it is free).`,
		Example:               "  holdfast inspect nightly-report\n  holdfast inspect nightly-report --json",
		DisableFlagsInUseLine: true,
		Args:                  oneName,
		ValidArgsFunction:     p.completeName,
	}
	f.define(c.Flags())
	c.RunE = p.then(func(args []string) error {
		return p.use(c.Flags().Changed("store"), look{
			as: "holdfast inspect", timeout: f.timeout,
			do: func(ctx context.Context, locks *holdfast.Client) error {
				lock, semaphore, err := both(ctx, locks, args[0])
				if err != nil {
					return err
				}
				return p.inspect(args[0], lock, semaphore, f.json)
			},
			nothing: func(bool) error { return p.inspect(args[0], nil, nil, f.json) },
		})
	})
	return c
}

type jsonInspect struct {
	Name      string    `json:"name"`
	Lock      *jsonLock `json:"lock"` // null: free
	Semaphore *jsonLock `json:"semaphore"`
}

// inspect prints what was seen; nil: nothing.
func (p *program) inspect(name string, lock, semaphore *holdfast.Info, asObject bool) error {
	if asObject {
		object := jsonInspect{Name: name}
		if inUse(lock) {
			object.Lock = asJSON(lock)
		}
		if inUse(semaphore) {
			object.Semaphore = asJSON(semaphore)
		}
		return say.JSON(p.out, object)
	}
	var b bytes.Buffer
	if inUse(lock) || !inUse(semaphore) {
		describe(&b, "lock", name, lock)
	}
	if inUse(semaphore) {
		describe(&b, "semaphore", name, semaphore)
	}
	_, err := p.out.Write(b.Bytes())
	return err
}

// describe prints one lock or semaphore.
func describe(out io.Writer, kind, name string, info *holdfast.Info) {
	what := fmt.Sprintf("%s %s", kind, say.Quote(name))
	switch {
	case !inUse(info):
		fmt.Fprintf(out, "%s is free\n", what)
		return
	case kind == "semaphore" && info.Limit > 0:
		taken := 0
		for _, h := range info.Holders {
			taken += h.N
		}
		fmt.Fprintf(out, "%s: %d of %d permits are taken, %d waiting\n", what, taken, info.Limit, len(info.Waiters))
	case len(info.Holders) == 0:
		fmt.Fprintf(out, "%s is not held, %d waiting\n", what, len(info.Waiters))
	default:
		fmt.Fprintf(out, "%s is held, %d waiting\n", what, len(info.Waiters))
	}
	if info.Guard > 0 {
		why := info.Why
		if why == "" {
			why = "the store has just begun to serve"
		}
		fmt.Fprintf(out, "  %s; locks granted before may still be valid: nothing is granted for another %s\n", why, say.Duration(info.Guard))
	}
	if len(info.Holders) > 0 {
		t := &table{indent: "  "}
		t.add("HOLDER", "HOW", "TOKEN", "HELD FOR", "LEFT")
		for _, h := range info.Holders {
			t.add(who(h), how(h.Mode, h.N, info.Limit), strconv.FormatUint(h.Token, 10), say.Duration(h.Held), left(h.Left))
		}
		t.print(out)
	}
	if len(info.Waiters) > 0 {
		t := &table{indent: "  "}
		t.add("WAITER", "WANTS", "FOR", "PLACE")
		for i, w := range info.Waiters {
			t.add(label(w.Label), how(w.Mode, w.N, info.Limit), say.Duration(w.Waited), strconv.Itoa(i+1))
		}
		t.print(out)
	}
}
