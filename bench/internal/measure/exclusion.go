package measure

import (
	"fmt"
	"sync/atomic"
)

// A lock is what the goroutines know of one lock under test, in the memory that they share: whether it excludes.
//
// It is checked twice. inside must be free when a holder enters. And count is added to by reading and writing, each of which is atomic,
// so that this is no data race, but not both together: if two hold at once an update gets lost, and at the end there are fewer
// than there were holds.
type lock struct {
	name   string
	inside atomic.Bool
	count  atomic.Int64
	left   atomic.Int64 // when the last holder called unlock, on the clock of the measurement; 0: there was none
}

// A Violation is an error: two held one lock at the same time.
type Violation struct {
	Contender, Scenario string
	What                string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s in %s does not exclude: %s", v.Contender, v.Scenario, v.What)
}

// enter reports what is wrong, or "".
func (l *lock) enter() string {
	if !l.inside.CompareAndSwap(false, true) {
		return "a second holder came in"
	}
	l.count.Store(l.count.Load() + 1)
	return ""
}

// leave is called before unlock.
func (l *lock) leave(now int64) string {
	l.left.Store(now)
	if !l.inside.CompareAndSwap(true, false) {
		return "a second holder went out first"
	}
	return ""
}

// settle compares the count with the number of holds that there were.
func (l *lock) settle(holds int64) string {
	if n := l.count.Load(); n != holds {
		return fmt.Sprintf("%d holds added up to %d", holds, n)
	}
	return ""
}
