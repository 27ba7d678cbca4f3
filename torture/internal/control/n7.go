package control

import (
	"time"

	"holdfast.dev/torture/internal/worker"
)

// n7: a client of Redlock asks, and the answers come when the TTL has passed: they were on their way, or the client stood still. A majority has
// granted it the lock, and has forgotten that long ago, and granted it to others. So what counts is when it was asked for, not when it
// was answered.
//
// The lock must be free now and then, or nothing is granted just then: so there are pauses. No time-out for one node saves the broken
// one here; it would, if it were shorter than all that can happen between an answer and a look at the clock.
func n7() Control {
	return Control{
		Name: "N7", Title: "Redlock's validity without the time that passed",
		Wrong:  "What a majority has granted is held for a whole TTL from when its answers have come.",
		Right:  "The time since before the first request is subtracted from the TTL; what is left of it must be worth something.",
		Caught: []string{"windows", "linear"},
		Nodes:  3,
		TTL:    300 * time.Millisecond, Duration: 1800 * time.Millisecond,
		Mix:   worker.Mix{Use: 100, Hot: 100, Pause: 200 * time.Millisecond, Think: 10 * time.Millisecond},
		Steps: every(100*time.Millisecond, 850*time.Millisecond, 2, Step{Do: HoldAnswers, For: 600 * time.Millisecond}),
		change: func(s *store, o Options) {
			byMajority(s)
			s.fromAnswer = o.Broken
		},
	}
}
