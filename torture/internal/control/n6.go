package control

import (
	"time"

	"holdfast.dev/torture/internal/worker"
)

// n6: a node of Redlock votes twice. One holds with two votes of three, because the third node could not be reached. One of the two starts
// again, with nothing in its memory, and votes for the next, together with the third. Each of them has a majority, and both have
// the vote of the same node.
//
// Both are Holdfast's own Redlock, as a user would have it; the broken one has its guard off, which is an option of its URL. The third node is
// out of reach for longer than a TTL, so that it has nothing of earlier holds. All of the work is TryLock, again and again: who waits asks a
// little later, and then the first may have been told by its renewal.
func n6() Control {
	return Control{
		Name: "N6", Title: "a node of Redlock that forgets, with the guard off",
		Wrong:  "A node that starts again without its memory votes at once, also for a lock that it has voted for before.",
		Right:  "A node that starts again does not vote until every hold that it may have voted for has run out.",
		Caught: []string{"windows", "linear"},
		Own:    true, Nodes: 3,
		TTL: 900 * time.Millisecond, Duration: 2 * time.Second,
		Mix:   worker.Mix{Try: 100, Hot: 100, Think: 200 * time.Millisecond},
		Steps: []Step{{At: 100 * time.Millisecond, Do: ForgetVoter, For: time.Second}},
	}
}
