package control

import (
	"time"

	"holdfast.dev/torture/internal/worker"
)

// n6: a node of Redlock votes twice. One holds with two votes of three, because the third node could not be reached. One of the two starts
// again, with nothing in its memory, and votes for the next, together with the third. Each of them has a majority, and both have
// the vote of the same node.
//
// Both are Holdfast's own Redlock, as a user would have it; the broken one has its guard off, which is an option of its URL.
func n6() Control {
	return Control{
		Name: "N6", Title: "a node of Redlock that forgets, with the guard off",
		Wrong:  "A node that starts again without its memory votes at once, also for a lock that it has voted for before.",
		Right:  "A node that starts again does not vote until every hold that it may have voted for has run out.",
		Caught: []string{"windows", "linear"},
		Own:    true, Nodes: 3,
		TTL: 700 * time.Millisecond, Duration: 2 * time.Second,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 300 * time.Millisecond},
		Steps: []Step{{At: 100 * time.Millisecond, Do: ForgetVoter, For: 800 * time.Millisecond}},
	}
}
