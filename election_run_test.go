package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// errOwn is an error of the function that leads.
var errOwn = errors.New("the work has failed")

// Rule (Run, first ending): f returns before its context has ended. Run resigns and returns what f returned, whatever that is.
func TestRunEndsWithItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks := connect(t, server)
		e := locks.Election("a")
		for _, result := range []error{nil, errOwn, context.Canceled, holdfast.ErrLost, fmt.Errorf("of another lock: %w", holdfast.ErrLost)} {
			terms := 0
			err := e.Run(t.Context(), func(ctx context.Context) error {
				terms++
				leader, err := e.Leader(t.Context())
				if err != nil || leader.Token != holdfast.Token(ctx) || leader.Token == 0 {
					t.Errorf("the leader is %+v, %v; token %d", leader, err, holdfast.Token(ctx))
				}
				return result
			})
			if err != result || terms != 1 {
				t.Errorf("f returned %v; Run returned %v after %d terms", result, err, terms)
			}
			free(t, server)
		}
	})
}

// leaderIsBroken breaks whoever leads, after d.
func leaderIsBroken(t *testing.T, e *holdfast.Election, locks *holdfast.Client, d time.Duration, opts ...holdfast.BreakOption) {
	time.AfterFunc(d, func() {
		leader, err := e.Leader(t.Context())
		if err == nil {
			err = locks.Break(t.Context(), e.Name(), leader.Token, opts...)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// Rule (Run): when leadership is lost the context of f ends, with the *LostError as its cause; f is called anew, with a greater token, also
// if it returned nil, its context's error or its cause, wrapped or not.
func TestRunCampaignsAgain(t *testing.T) {
	for what, result := range map[string]func(ctx context.Context) error{
		"nil":               func(context.Context) error { return nil },
		"the error":         func(ctx context.Context) error { return ctx.Err() },
		"the cause":         context.Cause,
		"the error wrapped": func(ctx context.Context) error { return fmt.Errorf("stopped: %w", ctx.Err()) },
		"the cause wrapped": func(ctx context.Context) error { return fmt.Errorf("stopped: %w", context.Cause(ctx)) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memlock.NewServer()
				locks := connect(t, server)
				e := locks.Election("a")
				leaderIsBroken(t, e, locks, time.Second)
				leaderIsBroken(t, e, locks, 2*time.Second, holdfast.Now())
				var tokens []uint64
				err := e.Run(t.Context(), func(ctx context.Context) error {
					if tokens = append(tokens, holdfast.Token(ctx)); len(tokens) == 3 {
						return nil
					}
					<-ctx.Done()
					expectLost(t, context.Cause(ctx), holdfast.ReasonBroken)
					return result(ctx)
				})
				if err != nil || len(tokens) != 3 || tokens[0] >= tokens[1] || tokens[1] >= tokens[2] {
					t.Errorf("%v after terms with tokens %v", err, tokens)
				}
				free(t, server)
			})
		})
	}
}

// Rule (Run): after a loss it campaigns behind those who wait already.
func TestRunCampaignsBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks := connect(t, server)
		e := locks.Election("a")
		var order []string
		other := make(chan struct{})
		go func() {
			defer close(other)
			time.Sleep(time.Second)
			hold := mustLock(t, campaigner{connect(t, server).Election("a")})
			order = append(order, "other")
			time.Sleep(time.Minute)
			mustUnlock(t, hold)
		}()
		leaderIsBroken(t, e, locks, 2*time.Second)
		err := e.Run(t.Context(), func(ctx context.Context) error {
			if order = append(order, "runner"); len(order) == 1 {
				<-ctx.Done()
			}
			return nil
		})
		<-other
		if got := fmt.Sprint(order); err != nil || got != "[runner other runner]" {
			t.Errorf("terms of %s, %v", got, err)
		}
	})
}

// Rule (Run): it waits for f before it campaigns again, however long f ignores the end of its context.
func TestRunWaitsForItsFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		e := locks.Election("a")
		leaderIsBroken(t, e, locks, time.Second, holdfast.Now())
		var running atomic.Int32
		terms, begun := 0, time.Now()
		err := e.Run(t.Context(), func(context.Context) error {
			if running.Add(1) != 1 {
				t.Error("f runs twice at a time")
			}
			defer running.Add(-1)
			if terms++; terms == 1 {
				time.Sleep(time.Minute) // deaf
				if info, err := locks.Inspect(t.Context(), "a"); err != nil || len(info.Holders)+len(info.Waiters) != 0 {
					t.Errorf("it campaigns while f still runs: %+v, %v", info, err)
				}
			}
			return nil
		})
		took(t, "Run", begun, time.Minute)
		if err != nil || terms != 2 {
			t.Errorf("%v after %d terms", err, terms)
		}
	})
}

// Rule (Run, second ending): f returns an error of its own after leadership was lost: Run returns that, joined with ErrLost.
func TestRunEndsWithItsErrorAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		e := locks.Election("a")
		leaderIsBroken(t, e, locks, time.Second)
		terms := 0
		err := e.Run(t.Context(), func(ctx context.Context) error {
			terms++
			<-ctx.Done()
			return errOwn
		})
		expect(t, err, errOwn)
		expectLost(t, err, holdfast.ReasonBroken)
		if terms != 1 {
			t.Errorf("%d terms", terms)
		}
	})
}

// Rule (Run): a loss that only Unlock finds, after f has returned by itself, is told, and no reason to begin anew.
func TestRunTellsALossThatUnlockFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.release = func(context.Context, *driver.Request, int) error { return driver.ErrGone }
		for _, result := range []error{nil, errOwn} {
			terms := 0
			err := s.open(t).Election("a").Run(t.Context(), func(context.Context) error { terms++; return result })
			expectLost(t, err, holdfast.ReasonTaken)
			if terms != 1 || result != nil && !errors.Is(err, result) {
				t.Errorf("%v after %d terms", err, terms)
			}
		}
	})
}

// Rule (Run, third ending): ctx ends. The context of f ends with it; Run waits for f, which still leads meanwhile, however long it
// takes; then it resigns, and returns what f returned.
func TestRunEndsWithItsContext(t *testing.T) {
	for what, result := range map[string]func(ctx context.Context) error{
		"nil":                func(context.Context) error { return nil },
		"its context's":      func(ctx context.Context) error { return ctx.Err() },
		"an error":           func(context.Context) error { return errOwn },
		"somebody's ErrLost": func(context.Context) error { return holdfast.ErrLost },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memlock.NewServer()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				var busy atomic.Bool
				next := make(chan struct{})
				go func() {
					defer close(next)
					time.Sleep(500 * time.Millisecond)
					hold := mustLock(t, campaigner{connect(t, server).Election("a")})
					if busy.Load() {
						t.Error("somebody else leads while f still runs")
					}
					mustUnlock(t, hold)
				}()
				begun, terms := time.Now(), 0
				var want error
				err := connect(t, server).Election("a").Run(ctx, func(ctx context.Context) error {
					terms++
					busy.Store(true)
					defer busy.Store(false)
					<-ctx.Done()
					took(t, "the context of f", begun, time.Second)
					time.Sleep(5 * time.Minute) // it finishes its work
					want = result(ctx)
					return want
				})
				if err != want || terms != 1 {
					t.Errorf("f returned %v; Run returned %v after %d terms", want, err, terms)
				}
				took(t, "Run", begun, 5*time.Minute+time.Second)
				<-next
				free(t, server)
			})
		})
	}
}

// Rule (Run, third ending): a loss while f winds up is told, and is no reason to campaign again: ctx has ended.
func TestRunLosesWhatItIsAboutToResign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		e := locks.Election("a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		leaderIsBroken(t, e, locks, 2*time.Second)
		terms := 0
		err := e.Run(ctx, func(ctx context.Context) error {
			terms++
			<-ctx.Done()
			time.Sleep(2 * time.Second)
			return nil
		})
		expectLost(t, err, holdfast.ReasonBroken)
		if terms != 1 || errors.Is(err, context.Canceled) {
			t.Errorf("%v after %d terms", err, terms)
		}
	})
}

// Rule (Run, third ending): if it did not lead when ctx ended the error tells who does, and is ctx.Err() too; f is not called.
func TestRunEndsWithItsContextWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		mustLock(t, campaigner{connect(t, server).Election("a", holdfast.Label("blue"))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		err := connect(t, server).Election("a").Run(ctx, func(context.Context) error { t.Error("it leads"); return nil })
		took(t, "Run", begun, time.Minute)
		expect(t, err, holdfast.ErrHeld, "blue")
		expect(t, err, context.DeadlineExceeded)
	})
}

// Rule (Run, fourth ending): the store refuses for good, in the first term or a later one.
func TestRunEndsWithARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
			if ask%2 == 0 {
				return nil, &driver.Refused{Err: errFull}
			}
			time.AfterFunc(time.Second, func() { r.Lost(driver.ErrSession) })
			return s.grant(r, s.clock.Now()), nil
		}
		e, terms := s.open(t).Election("a"), 0
		err := e.Run(t.Context(), func(ctx context.Context) error {
			terms++
			<-ctx.Done()
			expectLost(t, context.Cause(ctx), holdfast.ReasonSession)
			return nil
		})
		expect(t, err, errFull)
		if terms != 1 || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("%v after %d terms", err, terms)
		}
	})
}

// Rule (Run, fourth ending): the client is closed, while it waits or while it leads: then f may finish first.
func TestRunEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks := connect(t, server)
		time.AfterFunc(time.Second, func() {
			if err := locks.Close(); err != nil {
				t.Error(err)
			}
		})
		waiting := make(chan error, 1)
		go func() {
			time.Sleep(time.Millisecond)
			waiting <- locks.Election("a").Run(t.Context(), func(context.Context) error { t.Error("two lead"); return nil })
		}()
		begun, terms := time.Now(), 0
		err := locks.Election("a").Run(t.Context(), func(ctx context.Context) error {
			terms++
			<-ctx.Done()
			expect(t, context.Cause(ctx), holdfast.ErrClosed)
			time.Sleep(time.Second)
			return context.Cause(ctx)
		})
		took(t, "Run", begun, 2*time.Second)
		expect(t, err, holdfast.ErrClosed)
		expect(t, <-waiting, holdfast.ErrClosed)
		if terms != 1 {
			t.Errorf("%d terms", terms)
		}
		free(t, server)
		expect(t, locks.Election("a").Run(t.Context(), func(context.Context) error { return nil }), holdfast.ErrClosed)
	})
}

// Rule (Run): a term that is lost before f was called is no term: f is called in the next one.
func TestRunLosesATermBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		operator, broken := connect(t, server), false
		locks := connect(t, server, holdfast.WithObserver(holdfast.ObserverFunc(func(ctx context.Context, e holdfast.Event) {
			if e.Kind == holdfast.EventAcquired && !broken {
				broken = true
				operator.Break(ctx, "a", e.Token, holdfast.Now())
			}
		})))
		var tokens []uint64
		err := locks.Election("a").Run(t.Context(), func(ctx context.Context) error {
			tokens = append(tokens, holdfast.Token(ctx))
			return ctx.Err()
		})
		if err != nil || !broken || len(tokens) != 1 || tokens[0] != 2 {
			t.Errorf("%v; terms with tokens %v", err, tokens)
		}
	})
}

// Rule (Run): a panic of f passes through, and the lock is free afterwards; without a function, or a context, nothing is done.
func TestRunPanicsAndBadArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		e := connect(t, server).Election("a")
		func() {
			defer func() {
				if p := recover(); p != "help" {
					t.Errorf("recovered %v", p)
				}
			}()
			e.Run(t.Context(), func(context.Context) error { panic("help") })
		}()
		free(t, server)
		expect(t, e.Run(t.Context(), nil), holdfast.ErrArgument, "function is nil")
		expect(t, e.Run(noContext, func(context.Context) error { return nil }), holdfast.ErrArgument, "context is nil")
	})
}

// Rule (Run): terms that end as they begin do not become a busy loop.
func TestRunPausesBetweenShortTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		terms := 0
		err := locks.Election("a", holdfast.MaxHold(time.Millisecond)).Run(ctx, func(ctx context.Context) error {
			terms++
			<-ctx.Done()
			return ctx.Err()
		})
		expect(t, err, context.DeadlineExceeded)
		if terms < 10 || terms > 200 {
			t.Errorf("%d terms of a millisecond in a minute", terms)
		}
	})
}
