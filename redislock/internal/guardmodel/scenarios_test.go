package guardmodel

import (
	"os"
	"testing"
)

// The deployments. Two ticks of TTL are the fewest in which a hold can be renewed between its grant and its end.
var (
	single  = Setup{Nodes: 1, TTL: 2}
	pair    = Setup{Nodes: 2, TTL: 2}
	trio    = Setup{Nodes: 3, Proofs: true, TTL: 2, Lag: 1}
	quartet = Setup{Nodes: 4, Proofs: true, TTL: 1, Lag: 1}
)

func (s Setup) proofs() Setup            { s.Proofs, s.Lag = true, 1; return s }
func (s Setup) waiters() Setup           { s.Claim = 1; return s }
func (s Setup) overlapping(n int8) Setup { s.Overlap = n; return s }
func (s Setup) slack(n int8) Setup       { s.Slack = n; return s }
func (s Setup) ttl(n int8) Setup         { s.TTL = n; return s }
func (s Setup) fresh() Setup             { s.Fresh = true; return s }
func (s Setup) lateNeed() Setup          { s.LateNeed = true; return s }

// How large a model is: when it is explored.
type size int

const (
	small  size = iota // always
	medium             // not with -short, nor under the race detector
	big                // with HOLDFAST_MODEL=big
)

// limit is far above the states of every model that is explored: who meets it is not complete, and fails.
const limit = 200_000_000

// skips reports whether a scenario is too large for this run, and says so. It is no skipped test: where everything is required, those
// that need minutes are not.
func skips(t *testing.T, s size, name string) bool {
	t.Helper()
	switch {
	case s == big && os.Getenv("HOLDFAST_MODEL") != "big":
		t.Logf("left out, it takes minutes and gigabytes; HOLDFAST_MODEL=big has it: %s", name)
	case s == medium && (testing.Short() || raceDetector):
		t.Logf("left out, it is too large for -short and for the race detector: %s", name)
	default:
		return false
	}
	return true
}

// A safe scenario is a deployment that must stand its faults.
type safe struct {
	name   string
	setup  Setup
	faults Faults
	size   size
}

var safes = []safe{
	{"one server: restarts, old data, FUNCTION FLUSH, late answers", single.waiters(),
		Faults{Crashes: 2, Restarts: 2, Snapshots: 1, Flushes: 2, Lost: 1}, small},
	{"two nodes, no min-replicas, old primary dead: restarts, old data", pair,
		Faults{Crashes: 2, Promotions: 2, Restarts: 2, Repoints: 2, Snapshots: 1}, medium},
	{"the same with waiters, late answers and a replica's clock behind", pair.waiters(),
		Faults{Crashes: 1, Promotions: 1, Restarts: 1, Lost: 1, Skew: 1}, small},
	{"the same with FUNCTION FLUSH and a manual FAILOVER", pair,
		Faults{Crashes: 1, Promotions: 2, Restarts: 1, Repoints: 1, Flushes: 1, Failovers: 1}, small},
	{"the same with a backlog that is freed", pair,
		Faults{Crashes: 2, Promotions: 2, Restarts: 2, Repoints: 1, Backlogs: 2}, small},
	{"two nodes, no min-replicas, old primary alive for less than the fence", pair.overlapping(1),
		Faults{Crashes: 2, Promotions: 2, Restarts: 2, Repoints: 2}, medium},
	{"two nodes with min-replicas: split", pair.proofs(),
		Faults{Crashes: 1, Promotions: 2, Restarts: 1, Repoints: 2}, small},
	{"three nodes: split", trio, Faults{Promotions: 1, Repoints: 2}, medium},
	{"three nodes: split, with waiters", trio.waiters(), Faults{Promotions: 1, Repoints: 1}, medium},
	{"three nodes: split, two failovers", trio, Faults{Promotions: 2, Repoints: 1}, medium},
	{"three nodes: split, a primary that stands still", trio, Faults{Promotions: 1, Repoints: 1, Pauses: 1}, medium},
	{"three nodes: split, FUNCTION FLUSH", trio, Faults{Promotions: 1, Repoints: 1, Flushes: 1}, medium},
	{"three nodes: split, a manual FAILOVER", trio, Faults{Promotions: 1, Repoints: 1, Failovers: 1}, medium},
	{"three nodes: split, a restart", trio.ttl(1), Faults{Promotions: 1, Repoints: 2, Crashes: 1, Restarts: 1}, medium},
	{"three nodes: split, a clock set forward where nothing is held", trio.slack(1),
		Faults{Promotions: 1, Repoints: 1, EmptySteps: 1}, medium},
	{"three nodes: split, a clock set back by what the fence has to spare", trio.slack(1),
		Faults{Promotions: 1, Repoints: 1, BackSteps: 1}, medium},
	{"three nodes: split, a replica's clock behind, late answers", trio.ttl(1), Faults{Promotions: 1, Repoints: 1, Skew: 1, Lost: 1}, medium},
	{"four nodes: split", quartet, Faults{Promotions: 1, Repoints: 1}, medium},

	{"three nodes: split, two failovers, two moves", trio, Faults{Promotions: 2, Repoints: 2}, big},
	{"three nodes: split, two failovers, three moves", trio, Faults{Promotions: 2, Repoints: 3}, big},
	{"three nodes: split, a move, a restart with old data", trio.ttl(1),
		Faults{Promotions: 1, Repoints: 1, Crashes: 1, Restarts: 1, Snapshots: 1}, big},
	{"three nodes: split, a restart, TTL of two ticks", trio, Faults{Promotions: 1, Repoints: 1, Crashes: 1, Restarts: 1}, big},
	{"three nodes: split, two failovers and a restart", trio, Faults{Promotions: 2, Repoints: 1, Crashes: 1, Restarts: 1}, big},
	{"three nodes: split, two failovers, two moves and a restart", trio, Faults{Promotions: 2, Repoints: 2, Crashes: 1, Restarts: 1}, big},
	{"three nodes: split, two failovers, two moves, a pause, FUNCTION FLUSH", trio,
		Faults{Promotions: 2, Repoints: 2, Pauses: 1, Flushes: 1}, big},
	{"three nodes: split with waiters, late answers, two moves", trio.waiters(), Faults{Promotions: 1, Repoints: 2, Lost: 1}, big},
	{"three nodes: split, proofs that last for two ticks", Setup{Nodes: 3, Proofs: true, TTL: 3, Lag: 2}, Faults{Promotions: 1, Repoints: 2}, big},
	{"four nodes: split, two moves, TTL of two ticks", quartet.ttl(2), Faults{Promotions: 1, Repoints: 2}, big},
}
