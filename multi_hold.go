package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What a Hold of a Multi does differently: everything, with all its parts.

// Parts returns the holds of a Multi, one for each lock, in the order in which they were taken: for their names and tokens. Unlock
// the whole, not its parts. Any other hold is its own only part.
func (h *Hold) Parts() []*Hold {
	if h.parts == nil {
		return []*Hold{h}
	}
	return slices.Clone(h.parts)
}

func (h *Hold) nameOfParts() string {
	names := make([]string, len(h.parts))
	for i, p := range h.parts {
		names[i] = p.Name()
	}
	return strings.Join(names, " + ")
}

func (h *Hold) describeParts() string {
	texts := make([]string, len(h.parts))
	for i, p := range h.parts {
		texts[i] = p.String()
	}
	return strings.Join(texts, " and ")
}

func (h *Hold) fenceTokenOfParts() (uint64, error) {
	return 0, fmt.Errorf("holdfast: %q: %w: a Multi has a token for each lock; fence with one of its Parts", h.Name(), ErrUnsupported)
}

func (h *Hold) leftOfParts() time.Duration {
	left := Forever
	for _, p := range h.parts {
		left = min(left, p.Left())
	}
	return left
}

func (h *Hold) countOfParts() int {
	count := h.parts[0].Count()
	for _, p := range h.parts[1:] {
		count = min(count, p.Count())
	}
	return count
}

// errOfParts is the first loss, or else the first other error.
func (h *Hold) errOfParts() (err error) {
	for _, p := range h.parts {
		switch problem := p.Err(); {
		case errors.Is(problem, ErrLost):
			return problem
		case err == nil:
			err = problem
		}
	}
	return err
}

// eachPart does the same to all parts, and stops at the first error.
func (h *Hold) eachPart(do func(*Hold) error) error {
	for _, p := range h.parts {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// unlockParts unlocks or undoes all parts, the last one first, whatever the others say.
func (h *Hold) unlockParts(unlock func(*Hold) error) error {
	var problems []error
	released := error(nil)
	for _, p := range slices.Backward(h.parts) {
		switch err := unlock(p); {
		case errors.Is(err, ErrReleased):
			released = err
		case err != nil:
			problems = append(problems, err)
		}
	}
	if len(problems) == 0 {
		return released
	}
	return errors.Join(problems...)
}

// A multiContext descends from the contexts of all parts. It hides the token of the last one: which of them is meant only Held or
// Parts can tell.
type multiContext struct {
	context.Context
	hold *Hold
}

func (x *multiContext) Value(key any) any {
	if key == any(tokenKey{}) {
		return x.hold
	}
	return x.Context.Value(key)
}

func (h *Hold) contextOfParts(ctx context.Context) context.Context {
	for _, p := range h.parts {
		ctx = p.Context(ctx)
	}
	return &multiContext{ctx, h}
}
