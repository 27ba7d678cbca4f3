package control

import (
	"time"

	"holdfast.dev/torture/internal/worker"
)

// n8: half of the servers are taken for a majority. Two halves have no server in common: when the network splits between them, each
// grants the lock to somebody else. More than a half is the least of which there cannot be two.
func n8() Control {
	return Control{
		Name: "N8", Title: "half of the nodes as a quorum",
		Wrong:  "Whoever has the votes of half of the servers holds the lock.",
		Right:  "Whoever has the votes of more than half of the servers holds it.",
		Caught: []string{"windows", "linear"},
		Nodes:  4,
		TTL:    300 * time.Millisecond, Duration: 1200 * time.Millisecond,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 20 * time.Millisecond},
		Steps: []Step{{At: 300 * time.Millisecond, Do: SplitVoters, For: 400 * time.Millisecond}},
		change: func(s *store, o Options) {
			m := byMajority(s)
			if o.Broken {
				m.quorum = len(m.wires) / 2
			}
		},
	}
}
