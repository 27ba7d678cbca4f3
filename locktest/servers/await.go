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
// answer, and ctx.Err() or errQuit. A question under way ends with them, too.
func await(ctx context.Context, quit <-chan struct{}, ask func(context.Context) error) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-quit:
			cancel()
		case <-asking.Done():
		}
	}()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var last error
	ended := func(why error) error {
		if last == nil {
			return why
		}
		return fmt.Errorf("%w; at last: %w", why, last)
	}
	for length := shortestPause; ; length = min(2*length, longestPause) {
		select {
		case <-ctx.Done():
			return ended(ctx.Err())
		case <-quit:
			return ended(errQuit)
		case <-pause.C:
		}
		err := ask(asking)
		if err == nil {
			return nil
		}
		if last == nil || asking.Err() == nil { // what was cut short says less than what was not
			last = err
		}
		pause.Reset(length)
	}
}

// errQuit means that there is nobody left to ask.
var errQuit = errors.New("it has ended")
