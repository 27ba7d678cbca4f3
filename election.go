package holdfast

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"holdfast.dev/driver"
)

// An Election lets one of several candidates lead at a time: it is the Mutex of its name, seen from the other side. A candidate's
// Label is how others see it.
type Election struct {
	mutex Mutex
}

// Election returns the election of that name. It never fails: a bad name or option is reported by its methods.
func (c *Client) Election(name string, opts ...Option) *Election {
	return &Election{Mutex{c.target(name, Exclusive, opts)}}
}

// Name returns the name of the election.
func (e *Election) Name() string { return e.mutex.Name() }

// Campaign waits until it leads: candidates are served first come first served where the store can. ctx bounds only the wait.
// Unlock of the hold resigns. Only the hold tells whether its holder still leads, and only its token protects what leaders write.
func (e *Election) Campaign(ctx context.Context) (*Hold, error) { return e.mutex.Lock(ctx) }

// Run campaigns, and runs f while it leads, until one of these:
//
//   - f returns before its context has ended: its work is done, or has failed. Run resigns and returns what f returned.
//   - f returns an error of its own after leadership was lost: Run returns that, joined with ErrLost.
//   - ctx ends. The context of f ends with it; Run waits for f to finish, resigns, and returns what f returned. If it did not lead, the
//     error tells who does, and is ctx.Err() too.
//   - the store refuses for good, or the client is closed.
//
// When leadership is lost the context of f ends, with the *LostError as its cause. Run waits for f to return, and campaigns again,
// behind those who wait already; f is then called anew, with the context and the token of the new term.
func (e *Election) Run(ctx context.Context, f func(ctx context.Context) error) error {
	if f == nil {
		return argumentError("Run: the function is nil")
	}
	if err := e.mutex.target.precheck(ctx); err != nil {
		return err
	}
	pause := e.mutex.target.c.backoff()
	for {
		done, begun := false, time.Now() // f returned by itself, and not because its term was over
		err := Do(ctx, &e.mutex, func(ctx context.Context) error {
			err := f(ctx)
			done = ctx.Err() == nil || err != nil && !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) && !errors.Is(err, ErrLost)
			return err
		})
		if done || !errors.Is(err, ErrLost) || ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > time.Second {
			pause.Reset()
		} else {
			driver.Sleep(ctx, pause.Next()) // a store that loses every hold at once is not asked in a busy loop
		}
	}
}

// Leader shows who leads. It may have changed by the time that you read it: never decide by it who may write. ErrNotHeld: nobody leads.
func (e *Election) Leader(ctx context.Context) (Holder, error) {
	if err := e.mutex.target.precheck(ctx); err != nil {
		return Holder{}, err
	}
	info, err := e.mutex.target.c.Inspect(ctx, e.Name())
	if err != nil {
		return Holder{}, err
	}
	for _, h := range info.Holders {
		if !h.Kept && h.Mode != Shared {
			return h, nil
		}
	}
	return Holder{}, fmt.Errorf("holdfast: election %q: %w: nobody leads now", e.Name(), ErrNotHeld)
}

// How often Observe looks.
const (
	observeEvery = 500 * time.Millisecond
	observeAfter = 5 * time.Second // at most, while the store gives no answer
)

// Observe shows who leads, now and whenever that changes, until ctx ends or the loop is left: about twice a second it asks the store.
// ErrNotHeld: nobody leads. Another error says that the store could not be asked: it is shown once, and Observe goes on asking,
// unless it can never be answered (ErrUnsupported, ErrName, ErrClosed). Terms that begin and end between two looks are not seen,
// but tokens tell that there were some.
//
//	for leader, err := range election.Observe(ctx) {
//		switch {
//		case errors.Is(err, holdfast.ErrNotHeld):
//			log.Print("nobody leads")
//		case err != nil:
//			log.Print("not known who leads: ", err)
//		default:
//			log.Print(leader.Label, " leads, with token ", leader.Token)
//		}
//	}
func (e *Election) Observe(ctx context.Context) iter.Seq2[Holder, error] {
	return func(yield func(Holder, error) bool) {
		if ctx == nil {
			yield(Holder{}, argumentError("the context is nil"))
			return
		}
		troubled := driver.Backoff{Min: observeEvery, Max: observeAfter}
		var last sight
		for ctx.Err() == nil {
			leader, err := e.Leader(ctx)
			if ctx.Err() != nil {
				return
			}
			now := sight{seen: true, token: leader.Token, label: leader.Label, none: errors.Is(err, ErrNotHeld), trouble: err != nil}
			if now != last && !yield(leader, err) {
				return
			}
			last = now
			pause := observeEvery
			switch {
			case err == nil, now.none:
				troubled.Reset()
			case hopeless(err), errors.Is(err, ErrArgument), errors.Is(err, ErrName), errors.Is(err, ErrTTL):
				return
			default:
				pause = troubled.Next()
			}
			driver.Sleep(ctx, pause)
		}
	}
}

// A sight is what Observe saw: only a change is worth telling.
type sight struct {
	seen    bool
	token   uint64
	label   string
	none    bool
	trouble bool
}
