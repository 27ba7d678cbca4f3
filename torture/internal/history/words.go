package history

import (
	"fmt"
	"strings"
	"time"

	"holdfast.dev/driver"
)

var ops = []string{"", "acquire", "hold", "release", "read", "write", "inspect", "process", "fault", "round"}

var phases = []string{"", "asked", "queued", "done", "renewed", "claimed", "lost", "applied", "started", "stopped", "continued", "killed",
	"ended", "rest", "began", "healed", "draining", "drained", "left", "starved"}

var outcomes = []string{"", "ok", "granted", "held", "gave up", "guarded", "stale", "lost", "failed", "expired", "taken", "session",
	"broken", "maxhold"}

var ways = []string{"", "lock", "try", "wait", "campaign"}

func word(words []string, i int) string {
	if i >= 0 && i < len(words) {
		return words[i]
	}
	return fmt.Sprint(i)
}

func (o Op) String() string      { return word(ops, int(o)) }
func (p Phase) String() string   { return word(phases, int(p)) }
func (o Outcome) String() string { return word(outcomes, int(o)) }
func (w Way) String() string     { return word(ways, int(w)) }

// Describe is a record as a line for people: when, since the beginning of the round, who, and what.
func (h *History) Describe(r Record) string {
	at := r.At.Sub(h.Records[0].At)
	var b strings.Builder
	fmt.Fprintf(&b, "%10.3f ms  ", float64(at)/float64(time.Millisecond))
	switch r.Op {
	case Fault:
		fmt.Fprintf(&b, "FAULT %s %v", h.Meta.Faults[r.Lock].Name, r.Phase)
		return b.String()
	case Round:
		fmt.Fprintf(&b, "ROUND %v %d", r.Phase, r.Value)
		return b.String()
	case Process:
		fmt.Fprintf(&b, "PROCESS %d %v %d", r.Process, r.Phase, r.Value)
		return b.String()
	}
	fmt.Fprintf(&b, "process %d worker %d: %s %v", r.Process, r.Worker, h.Meta.Locks[r.Lock].Name, r.Op)
	if r.Flags&Fenced != 0 {
		b.WriteString(" fenced")
	}
	fmt.Fprintf(&b, " %v", r.Phase)
	if r.Outcome != None {
		fmt.Fprintf(&b, " %v", r.Outcome)
	}
	switch {
	case r.Op == Acquire && r.Phase == Asked:
		fmt.Fprintf(&b, " by %v", Way(r.Value))
	case r.Op == Read || r.Op == Write:
		fmt.Fprintf(&b, " %d", r.Value)
	case r.Value == Never:
		b.WriteString(" for ever")
	case r.Value != 0:
		fmt.Fprintf(&b, " for %.3f ms", float64(driver.Instant(r.Value).Sub(r.At))/float64(time.Millisecond))
	}
	if r.Attempt != 0 {
		fmt.Fprintf(&b, " attempt %d.%d", r.Attempt>>32, r.Attempt&(1<<32-1))
	}
	if r.Token != 0 {
		fmt.Fprintf(&b, " token %d", r.Token)
	}
	return b.String()
}
