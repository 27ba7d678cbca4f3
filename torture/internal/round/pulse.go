package round

import (
	"context"
	"time"

	"holdfast.dev/torture/internal/arena"
	"holdfast.dev/torture/internal/history"
)

// How often the server is asked, and how long it may take.
const (
	pulseEvery = 50 * time.Millisecond
	pulseLate  = 100 * time.Millisecond
)

// feel records when the server did not get to run, as Starved of process 0: holders cannot be told then. While a fault is going on
// nobody expects it.
func (r *run) feel(ctx context.Context) {
	server, is := r.arena.(arena.Pulse)
	for is && ctx.Err() == nil {
		asked := history.Now()
		err := server.Pulse(ctx)
		if now := history.Now(); err == nil && now.Sub(asked) > pulseLate {
			r.log.Append(history.Record{At: now, Op: history.Process, Phase: history.Starved, Value: int64(asked)})
		}
		select {
		case <-time.After(pulseEvery):
		case <-ctx.Done():
		}
	}
}
