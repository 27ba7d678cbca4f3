package torture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/history"
)

// Show writes the history of a round for people, a line for each record: of one lock, or of all if its name is "".
func Show(w io.Writer, dir string, number int, lock string) error {
	b, err := bundle.Open(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	h, err := b.Load(number)
	if errors.Is(err, bundle.ErrNoRound) {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	if err != nil {
		return err
	}
	if err := hasLock(h, lock); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, r := range h.Records {
		if r.Op <= history.Inspect && lock != "" && h.Meta.Locks[r.Lock].Name != lock {
			continue
		}
		fmt.Fprintln(out, h.Describe(r))
	}
	return out.Flush()
}

// hasLock refuses a name that no lock of a round has; "" is that of all.
func hasLock(h *history.History, name string) error {
	var names []string
	for _, lock := range h.Meta.Locks {
		names = append(names, lock.Name)
	}
	if name != "" && !slices.Contains(names, name) {
		return fmt.Errorf("%w: round %d has no lock %q; there are %s", ErrOption, h.Meta.Number, name, strings.Join(names, ", "))
	}
	return nil
}
