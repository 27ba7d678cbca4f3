package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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
	return 0, unsupported(fmt.Sprintf("holdfast: %q: a Multi has a token for each lock: fence with one of its Parts", h.Name()))
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

// extendParts extends all parts, again with more if the first ones have too little left when the last one has answered.
func (h *Hold) extendParts(ctx context.Context, d time.Duration) error {
	more := time.Duration(0)
	for {
		begun := time.Now()
		if err := h.eachPart(func(p *Hold) error { return p.Extend(ctx, d+more) }); err != nil {
			return err
		}
		if h.leftOfParts() >= d {
			return nil
		}
		more = 2*max(more, time.Since(begun)) + 10*time.Millisecond
	}
}

// partWait is how long Unlock of a Multi waits for one part before it begins with the next: in order where the stores answer, and all
// within the same bound where they do not.
const partWait = 100 * time.Millisecond

// unlockParts unlocks or undoes all parts, the last one first, whatever the others say.
func (h *Hold) unlockParts(wait time.Duration, unlock func(h *Hold, wait time.Duration) error) error {
	begun := time.Now()
	answers := make([]error, len(h.parts))
	var all sync.WaitGroup
	for i, p := range slices.Backward(h.parts) {
		done, cancel := context.WithTimeout(context.Background(), partWait)
		all.Go(func() {
			defer cancel()
			answers[i] = unlock(p, max(0, wait-time.Since(begun)))
		})
		<-done.Done()
	}
	all.Wait()
	problems := slices.DeleteFunc(slices.Clone(answers), func(err error) bool { return errors.Is(err, ErrReleased) })
	if len(problems) == 0 && len(answers) > 0 {
		return answers[0] // all of them
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
	if key == any(tokenKey{}) && slices.ContainsFunc(x.hold.parts, func(p *Hold) bool { return p.t.req.Mode != Permits }) {
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
