package control

import (
	"context"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n2: the key is set by one request, and told when to end by a second. A client that dies between the two leaves a key that never ends.
// The moment is short, and in a system that runs for years it comes; here a process is killed in it. The twin is killed after the same
// answer, when its key has its TTL already.
func n2() Control {
	return Control{
		Name: "N2", Title: "SETNX, then EXPIRE",
		Wrong:  "The key is set by one request and gets its TTL by another: who dies between them holds the lock for ever.",
		Right:  "The key is set together with its TTL.",
		Caught: []string{"liveness", "leaks"},
		TTL:    300 * time.Millisecond, Duration: 900 * time.Millisecond, Patience: time.Second,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 5 * time.Millisecond},
		Steps: []Step{{At: 300 * time.Millisecond, Do: KillAcquired}},
		change: func(s *store, o Options) {
			if o.Broken {
				s.ways.take = s.takeThenExpire
			}
		},
	}
}

func (s *store) takeThenExpire(ctx context.Context, r *driver.Request) (uint64, error) {
	token, err := s.askToTake(ctx, takeScript, r, "0") // SETNX: no TTL
	if err != nil {
		return 0, err
	}
	s.reached(Acquired)
	_, err = s.wire.do(ctx, "PEXPIRE", lockPrefix+r.Name, millis(r.TTL))
	return token, err
}
