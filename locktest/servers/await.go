package servers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	shortestPause = time.Millisecond
	longestPause  = 50 * time.Millisecond
)

// await asks again and again, with growing pauses, until the answer is nil, ctx ends or quit is closed. Its error then carries the last
// answer, and ctx.Err() or errQuit.
func await(ctx context.Context, quit <-chan struct{}, ask func(context.Context) error) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	last := errors.New("nothing was asked")
	for length := shortestPause; ; length = min(2*length, longestPause) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %w", ctx.Err(), last)
		case <-quit:
			return fmt.Errorf("%w; at last: %w", errQuit, last)
		case <-pause.C:
		}
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil { // else that is all that it says
			last = err
		}
		pause.Reset(length)
	}
}

// errQuit means that there is nobody left to ask.
var errQuit = errors.New("it has ended")
