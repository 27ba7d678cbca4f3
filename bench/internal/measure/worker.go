package measure

import (
	"context"
	"time"

	"holdfast.dev/bench/internal/contender"
)

// A turn is one hold, in nanoseconds of the measurement's clock.
type turn struct {
	got   int64 // when Lock returned
	wait  int64 // since it was called
	gap   int64 // since the holder before called unlock; −1: there was none
	left  int64 // when unlock was called
	freed int64 // when it returned
}

// A worker is one goroutine of a scenario. What it sees stays in its own memory until it has ended.
type worker struct {
	client contender.Client
	lock   *lock
	work   time.Duration
	since  time.Time // the zero of the clock

	turns    []turn
	asking   int64 // since when it has waited for what it did not get any more; −1: it did not wait
	failures []failure
	problem  string // how the lock did not exclude
}

// A failure is an error that the library left to its caller.
type failure struct {
	at  int64
	err error
}

func (w *worker) now() int64 { return int64(time.Since(w.since)) }

// run takes turns until ctx ends, or the lock fails to exclude.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil && w.problem == "" {
		w.asking = w.now()
		unlock := w.acquire(ctx)
		got := w.now()
		if ctx.Err() != nil {
			// Also a hold that came just now is none: there are libraries whose holds end with ctx, the one before this one's too.
			if unlock != nil {
				unlock()
			}
			return
		}
		t := turn{got: got, wait: got - w.asking, gap: -1}
		w.asking = -1
		w.problem = w.hold(&t)
		err := unlock()
		t.freed = w.now()
		w.turns = append(w.turns, t)
		if err != nil {
			w.failures = append(w.failures, failure{t.freed, err})
		}
	}
}

// acquire asks until it holds, or ctx has ended. A library that gives up is asked again at once: that is for its own pauses to prevent.
func (w *worker) acquire(ctx context.Context) (unlock func() error) {
	for {
		unlock, err := w.client.Lock(ctx, w.lock.name)
		if err == nil || ctx.Err() != nil {
			return unlock
		}
		w.failures = append(w.failures, failure{w.now(), err})
	}
}

// hold is what is done while the lock is held. It ends just before unlock.
func (w *worker) hold(t *turn) (problem string) {
	if problem := w.lock.enter(); problem != "" {
		return problem
	}
	if left := w.lock.left.Load(); left != 0 {
		t.gap = t.got - left
	}
	if w.work > 0 {
		time.Sleep(w.work)
	}
	t.left = w.now()
	return w.lock.leave(t.left)
}
