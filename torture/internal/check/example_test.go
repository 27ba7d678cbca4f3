package check_test

import (
	"fmt"
	"log"
	"time"

	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
)

// The second is granted the lock two milliseconds before the first lets go.
func ExampleRound() {
	const ms, lock = 1_000_000, int64(history.ByLock)
	h, err := history.New(
		history.Meta{Store: "toy", Class: "none", TTL: time.Second, Fencing: "durable", Locks: []history.LockMeta{{Name: "orders"}}},
		[]history.Record{
			{At: 1 * ms, Op: history.Acquire, Phase: history.Asked, Attempt: 1, Process: 1, Value: lock},
			{At: 2 * ms, Op: history.Acquire, Phase: history.Asked, Attempt: 2, Process: 2, Value: lock},
			{At: 3 * ms, Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Attempt: 1, Process: 1, Token: 7, Value: 900 * ms},
			{At: 4 * ms, Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Attempt: 2, Process: 2, Token: 8, Value: 900 * ms},
			{At: 6 * ms, Op: history.Release, Phase: history.Asked, Attempt: 1, Process: 1},
			{At: 7 * ms, Op: history.Release, Phase: history.Asked, Attempt: 2, Process: 2},
			{At: 8 * ms, Op: history.Round, Phase: history.Drained},
		})
	if err != nil {
		log.Fatal(err)
	}
	finding, err := check.Round(h)
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range finding.Violations {
		fmt.Println(v)
	}
	// Output:
	// windows of "orders": worker 0 of process 1 (token 7) and worker 0 of process 2 (token 8) hold at the same time, for 2.0 ms
}

// The rows of two rounds become those of a run.
func ExampleAdd() {
	first := []check.Row{{Store: "redis", Fault: "cut", Class: "within", Operations: 2900, LongestHeal: 40 * time.Millisecond}}
	second := []check.Row{{Store: "redis", Fault: "cut", Class: "within", Operations: 3100, LongestHeal: 15 * time.Millisecond}}
	for _, row := range check.Add(first, second) {
		fmt.Println(row.Store, row.Fault, row.Operations, row.LongestHeal)
	}
	// Output:
	// redis cut 6000 40ms
}
