package torture

import (
	"bufio"
	"fmt"
	"io"

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
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
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
