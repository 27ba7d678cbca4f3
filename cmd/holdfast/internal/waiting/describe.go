package waiting

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// describe says in one line how the wait stands. What matters most comes first, because the line may be cut off: the place, since when
// the lock is held, and by whom. How long the wait has lasted is last: whoever waits knows that best.
func (w *wait) describe(now time.Time) string {
	passed := now.Sub(w.seen) // since that was true
	var parts []string
	if w.Place > 0 {
		parts = append(parts, fmt.Sprintf("place %d", w.Place))
	}
	if left := w.Guard - passed; left > 0 {
		parts = append(parts, fmt.Sprintf("nothing is granted for another %s (guard=)", say.Duration(left)))
	}
	if len(w.Holders) > 0 {
		parts = append(parts, describeHolders(w.Holders, passed, now))
	}
	parts = append(parts, "waiting for "+say.Duration(now.Sub(w.since)))
	return say.Quote(w.key.name) + ": " + strings.Join(parts, ", ")
}

// describeGuard explains at length why nobody gets the lock; "" if the store does not say, or its guard is over.
func (w *wait) describeGuard(now time.Time) string {
	left, why := w.Guard-now.Sub(w.seen), w.Why
	switch {
	case w.Guard == 0 && why != "":
		return say.Quote(w.key.name) + ": " + why
	case left <= 0:
		return ""
	}
	if why == "" {
		why = "the store has just begun to serve"
	}
	return fmt.Sprintf("%s: %s; locks granted before may still be valid: %s left; guard= sets it (in the store's URL; the first to use a store sets it for all)",
		say.Quote(w.key.name), why, say.Duration(left))
}

// describeHolders tells about the first holder, and counts the others.
func describeHolders(holders []holdfast.Holder, passed time.Duration, now time.Time) string {
	first := holders[0]
	more := ""
	if n := len(holders) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	if first.Kept {
		return fmt.Sprintf("kept by a minimum hold for another %s", say.Duration(first.Left-passed)) + more
	}
	label := say.Name(first.Label)
	if first.Label == "" {
		label = "someone without a label"
	}
	held := first.Held + passed
	text := fmt.Sprintf("held since %s by %s", clock(now.Add(-held), held), label)
	if first.Broken {
		text += " (told to end)"
	}
	return text + more
}

// clock is a time as people read it, with its date if it was not within the last day.
func clock(t time.Time, ago time.Duration) string {
	if ago >= 24*time.Hour {
		return t.Format("Jan 2 15:04")
	}
	return t.Format("15:04:05")
}

// kindOf is an error as it is compared with the last one: ports and times in it differ though the problem is the same.
func kindOf(err error) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
}
