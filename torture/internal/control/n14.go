package control

import (
	"time"

	"holdfast.dev/torture/internal/worker"
)

// n14: a waiter asks once, and then waits to be told that the lock is free. But a holder that dies tells nobody, and a message to a
// connection that is down is lost: Redis keeps none. The lock is free, and all wait.
//
// Nobody may come by chance to ask just then, as one would who gives up and begins anew: so all work is Lock without a deadline, and
// the TTL is long enough for everybody to have asked, in vain, before it ends.
func n14() Control {
	return Control{
		Name: "N14", Title: "pub/sub as the only wake-up",
		Wrong:  "A waiter asks again only when it is told of a release: an expiry tells nobody, and messages get lost.",
		Right:  "A waiter that is told nothing asks again by itself, with pauses.",
		Caught: []string{"liveness", "leaks"},
		TTL:    700 * time.Millisecond, Duration: 1400 * time.Millisecond, Patience: time.Second,
		Mix:    worker.Mix{Use: 100, Hot: 100, Think: 5 * time.Millisecond},
		Steps:  []Step{{At: 300 * time.Millisecond, Do: KillInside}},
		change: func(s *store, o Options) { s.onlyTold = o.Broken },
	}
}
