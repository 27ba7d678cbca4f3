package round_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/round"
	"holdfast.dev/torture/internal/worker"
)

// control is a controller: it runs a round in which a process is stopped all the time, until it is killed.
func control(dir string) int {
	kind, _ := arena.Find("file")
	mix := worker.Plan
	mix.Die = 0
	err := round.Run(context.Background(), round.Plan{Number: 1, Seed: 1, Kind: stage(kind, staged{steps: []step{{0, driver.WorkerStop}}}),
		Class: "none", TTL: time.Minute, Duration: time.Hour, Workers: 6, PerEach: 2, Locks: round.Locks(), Mix: mix,
		Command: []string{os.Args[0]}}, dir, holdfast.Open)
	fmt.Fprintln(os.Stderr, "the round is over:", err)
	return 1
}
