package servers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errNotYet = errors.New("not yet")

func TestAwaitAsksUntilTheAnswerIsYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, last := time.Now(), time.Now()
		var pauses []time.Duration
		err := await(t.Context(), nil, func(context.Context) error {
			pauses = append(pauses, time.Since(last))
			if last = time.Now(); last.Sub(began) < time.Second {
				return errNotYet
			}
			return nil
		})
		if err != nil || pauses[0] != 0 || pauses[1] != shortestPause || pauses[2] != 2*shortestPause || pauses[len(pauses)-1] != longestPause {
			t.Errorf("%v, after pauses of %v", err, pauses)
		}
	})
}

// Whatever ends the waiting also ends a question that nobody answers, and what was answered before is still told.
func TestAwaitEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(cancel func(), quit chan struct{})
		want error
	}{
		{"by its context", func(cancel func(), _ chan struct{}) { cancel() }, context.Canceled},
		{"because nobody is left", func(_ func(), quit chan struct{}) { close(quit) }, errQuit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				quit := make(chan struct{})
				asked := 0
				err := await(ctx, quit, func(ctx context.Context) error {
					if asked++; asked == 1 {
						return errNotYet
					}
					c.end(cancel, quit)
					<-ctx.Done()
					return ctx.Err()
				})
				if !errors.Is(err, c.want) || !errors.Is(err, errNotYet) || errors.Is(err, errQuit) != (c.want == errQuit) {
					t.Errorf("%v after %d questions", err, asked)
				}
			})
		})
	}
}

func TestAwaitWithoutTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := await(ctx, nil, func(ctx context.Context) error { return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
