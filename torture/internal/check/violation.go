package check

import (
	"fmt"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// A Violation is one thing that a history shows and that must not be.
type Violation struct {
	Checker  string         `json:"checker"`            // windows, tokens, registers, linear, order, liveness, leaks, leaders, told
	Lock     string         `json:"lock,omitempty"`     // its name; "" if it is about no lock
	At       driver.Instant `json:"at"`                 // when it became one
	What     string         `json:"what"`               // a sentence for people, with tokens, workers and how many ms
	Attempts []uint64       `json:"attempts,omitempty"` // that it is about
	Fault    string         `json:"fault,omitempty"`    // that was active at that time, or had begun last; "" if there was none
}

// String is one line: checker, lock, what, fault.
func (v Violation) String() string {
	var b strings.Builder
	b.WriteString(v.Checker)
	if v.Lock != "" {
		fmt.Fprintf(&b, " of %q", v.Lock)
	}
	fmt.Fprintf(&b, ": %s", v.What)
	if v.Fault != "" {
		fmt.Fprintf(&b, " (fault %s)", v.Fault)
	}
	return b.String()
}

// ms is a length of time for people.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
