package redlockmodel

import (
	"os"
	"testing"
)

// The deployments. Two ticks of TTL are the fewest in which a hold can be renewed between its grant and its end.
var (
	trio    = Setup{Nodes: 3, Clients: 2, Attempts: 2, Tries: 1, TTL: 2, Guard: 2}
	quartet = Setup{Nodes: 4, Clients: 2, Attempts: 2, Tries: 1, TTL: 2, Guard: 2}
	five    = Setup{Nodes: 5, Clients: 2, Attempts: 2, Tries: 1, TTL: 2, Guard: 2}
)

func (s Setup) attempts(n int8) Setup           { s.Attempts = n; return s }
func (s Setup) crowd() Setup                    { s.Clients, s.Attempts = 3, 3; return s }
func (s Setup) retry() Setup                    { s.Tries = 2; return s }
func (s Setup) retryAll() Setup                 { s.Tries, s.Retries = 2, true; return s }
func (s Setup) renewals(n int8) Setup           { s.Renewals = n; return s }
func (s Setup) claims() Setup                   { s.Renewals, s.Claims = 1, true; return s }
func (s Setup) peers(n int) Setup               { s.Peers = n; return s }
func (s Setup) ttl(n int8) Setup                { s.TTL, s.Guard = n, n; return s }
func (s Setup) untokened() Setup                { s.Untoken = true; return s }
func (s Setup) skewed(skew ...int8) Setup       { copy(s.Skew[:], skew); return s }
func (s Setup) timed() Setup                    { s.Timed = true; return s }
func (s Setup) held(nodes int, more int8) Setup { s.Held, s.Attempts = nodes, more; return s }

// How large a model is: when it is explored.
type size int

const (
	tiny   size = iota // always
	small              // not under the race detector, which is ten times as slow
	medium             // nor with -short
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
	case s == medium && testing.Short(), s >= small && raceDetector:
		t.Logf("left out, it is too large for -short or for the race detector: %s", name)
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
	{"3 nodes: late votes, tokens and releases, no fault", trio, Faults{}, tiny},
	{"3 nodes: a node forgets, an answer is lost", trio, Faults{Losses: 1, Lost: 1}, small},
	{"3 nodes: a node forgets, a request is late", trio, Faults{Losses: 1, Late: 1}, medium},
	{"3 nodes: two nodes forget, or one twice", trio, Faults{Losses: 2}, small},
	{"3 nodes: a node comes back with older data", trio, Faults{Saves: 1, Older: 1}, small},
	{"3 nodes: three attempts, a node forgets", trio.attempts(3).ttl(1), Faults{Losses: 1}, medium},
	{"3 nodes: three clients at once", trio.crowd().ttl(1), Faults{}, medium},
	{"3 nodes: a retry", trio.retry().ttl(1), Faults{}, small},
	{"3 nodes: a retry, a request is late", trio.retry().ttl(1), Faults{Late: 1}, medium},
	{"3 nodes: a retry, a node forgets", trio.retry().ttl(1), Faults{Losses: 1}, medium},
	{"3 nodes: a retry, an answer is lost", trio.retry().ttl(1), Faults{Lost: 1}, medium},
	{"3 nodes: a renewal and repairs, a node forgets", trio.renewals(1), Faults{Losses: 1}, medium},
	{"3 nodes: a renewal and repairs, an answer is lost", trio.renewals(1), Faults{Lost: 1}, small},
	{"3 nodes: a renewal and repairs, a request is late", trio.renewals(1), Faults{Late: 1}, medium},
	{"3 nodes: a hold on two, renewed twice, and another attempt", trio.held(2, 1).renewals(2), Faults{}, small},
	{"3 nodes: a hold that has ended is claimed", trio.claims(), Faults{}, medium},
	{"3 nodes: tokens=off, a hold that has ended is claimed", trio.claims().untokened(), Faults{}, medium},
	{"3 nodes: two keys are lost between the rounds", trio, Faults{EarlyLoss: 2}, small},
	{"3 nodes: a key is lost between the rounds, a node comes back with older data", trio.ttl(1), Faults{EarlyLoss: 1, Saves: 1, Older: 1}, medium},
	{"3 nodes: clocks differ by less than the guard, a node forgets", trio.skewed(1-perTick, 1-perTick, perTick), Faults{Losses: 1}, medium},
	{"3 nodes: a clock far ahead, a node forgets", trio.skewed(far), Faults{Losses: 1}, small},
	{"3 nodes: a clock far ahead and one far behind, a node forgets", trio.skewed(-far, 0, far), Faults{Losses: 1}, medium},
	{"3 nodes: a clock far behind, a node forgets", trio.skewed(-far).ttl(1), Faults{Losses: 1}, small},
	{"4 nodes: two clocks far behind, two nodes forget, a hold on three and another attempt", quartet.held(3, 1).skewed(0, 0, -far, -far), Faults{Losses: 2}, medium},
	{"5 nodes: two clocks far behind, a node forgets, a hold on three and another attempt", five.held(3, 1).skewed(0, 0, 0, -far, -far), Faults{Losses: 1}, medium},
	{"5 nodes: the same, and clients know all clocks", five.held(3, 1).skewed(0, 0, 0, -far, -far).timed(), Faults{Losses: 1}, medium},
	{"3 nodes: tokens=off, a node forgets, an answer is lost", trio.untokened(), Faults{Losses: 1, Lost: 1}, tiny},
	{"3 nodes: ours and another program, an answer is lost, a request is late", trio.peers(1), Faults{Lost: 1, Late: 1}, small},
	{"4 nodes: a node forgets", quartet, Faults{Losses: 1}, small},
	{"5 nodes: no fault", five, Faults{}, medium},
	{"5 nodes: a node forgets, TTL of one tick", five.ttl(1), Faults{Losses: 1}, medium},

	{"3 nodes: a retry, TTL of two ticks", trio.retry(), Faults{}, big},
	{"5 nodes: a node forgets", five, Faults{Losses: 1}, big},
	{"3 nodes: a renewal and repairs, a node forgets, an answer is lost, a request is late", trio.renewals(1), Faults{Losses: 1, Lost: 1, Late: 1}, big},
	{"3 nodes: two renewals and repairs, a node forgets", trio.renewals(2), Faults{Losses: 1}, big},
	{"3 nodes: a retry, a renewal and repairs, a node forgets", trio.retry().renewals(1), Faults{Losses: 1}, big},
	{"3 nodes: a retry of each, a node forgets", trio.retryAll().ttl(1), Faults{Losses: 1}, big},
	{"3 nodes: a retry of each, a request is late", trio.retryAll().ttl(1), Faults{Late: 1}, big},
	{"3 nodes: a hold that has ended is claimed, a node forgets", trio.claims(), Faults{Losses: 1}, big},
	{"3 nodes: three clients at once, TTL of two ticks", trio.crowd(), Faults{}, big},
	{"3 nodes: a retry, an answer is lost, a request is late, a node forgets", trio.retry().ttl(1), Faults{Losses: 1, Lost: 1, Late: 1}, big},
	{"3 nodes: a renewal and repairs, a node comes back with older data", trio.renewals(1), Faults{Saves: 1, Older: 1}, big},
	{"3 nodes: three clients, a node forgets", trio.crowd(), Faults{Losses: 1}, big},
	{"5 nodes: a renewal and repairs", five.renewals(1), Faults{}, big},
}
