package control

import (
	"time"

	"holdfast.dev/torture/internal/worker"
)

// n5: the fault that no lock on one primary survives by itself. The primary grants a lock, and is gone before a replica has heard of it;
// the replica takes its place, finds the lock free, and grants it to the next. So a new primary must grant nothing until all that its
// predecessor can have granted has run out: that is the guard.
//
// Both are Holdfast's own Redis lock, on three servers, as a user would have it; the broken one has its guard off, which is an
// option of its URL. The primary is cut off for longer than a TTL: a release that is lost would otherwise keep the next one out for as
// long. All of the work is TryLock: who waits in a queue learns of a new primary a second later, when the hold that it must meet is over.
func n5() Control {
	return Control{
		Name: "N5", Title: "a failover with the guard off",
		Wrong:    "A replica that takes the primary's place grants at once, also what the primary had granted when nobody followed it any more.",
		Right:    "A new primary grants nothing until every hold of the old one has run out.",
		Caught:   []string{"windows", "linear"},
		Own:      true,
		Replicas: true,
		TTL:      500 * time.Millisecond, Duration: 2 * time.Second,
		Mix:   worker.Mix{Try: 100, Hot: 100, Think: 300 * time.Millisecond},
		Steps: []Step{{At: 300 * time.Millisecond, Do: FailoverCut, For: 600 * time.Millisecond}},
	}
}
