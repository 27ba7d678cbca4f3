// Package recovery measures how long locks cannot be had when a Redis primary goes away, and how long holds cannot be renewed, beside the
// length of the guard.
//
// A deployment is started, and its first guard waited for. One client takes a lock, which all replicas hear of. Then the primary is taken
// away, and the clock starts just before. As soon as it is gone three things are done at once, and the time of each is noted:
//
//	primary   what brings the deployment a primary again: a restart, a promotion; or the Sentinels, which are only watched
//	acquire   another client asks for a lock that nobody has, and waits until it is granted
//	renewal   the holder asks the store about its hold (Check), again and again, until that is answered, or the hold is lost
//
// Both clients were there before, with the settings that every client has. The old primary is gone when they ask, so every answer is the
// new one's. That the holder asks all the time shows when an answer can be had at the earliest; by itself a client renews every third of
// the TTL, so a hold that is to go on must be valid for that much longer.
//
// What is measured is mostly waiting: some of these can run beside each other.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/bench/internal/deployment"

	_ "holdfast.dev/redislock" // redis:// and redis+sentinel://
)

// An Outcome is one measurement. Times count from just before the primary was taken away.
type Outcome struct {
	Case   Case
	Timing Timing
	Guard  time.Duration

	Primary  time.Duration // there is a primary again that takes writes
	Acquired time.Duration // the lock that nobody had was granted
	Renewed  time.Duration // the hold was confirmed, or lost
	Lost     string        // why it was lost; "": it goes on
}

// patience is how long all of it may take, beside the guards.
const patience = 2 * time.Minute

// Measure takes the primary away once.
func Measure(ctx context.Context, c Case, t Timing) (*Outcome, error) {
	o := &Outcome{Case: c, Timing: t, Guard: t.guard(c)}
	ctx, cancel := context.WithTimeout(ctx, patience+2*o.Guard)
	defer cancel()
	if err := o.measure(ctx); err != nil {
		return nil, fmt.Errorf("%s with the timing %s: %w", c.Name, t.Name, err)
	}
	return o, nil
}

func (o *Outcome) measure(ctx context.Context) (err error) {
	d, err := deployment.Start(ctx, o.Case.settings(o.Timing))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	url := d.URL(fmt.Sprintf("guard=%v&ttl=%v", o.Guard, o.Timing.TTL))
	newcomer, err := ready(ctx, url)
	if err != nil {
		return err
	}
	defer newcomer.Close()
	holder, err := ready(ctx, url)
	if err != nil {
		return err
	}
	defer holder.Close()
	hold, err := known(ctx, d, holder)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := o.Case.down(d, ctx); err != nil {
		return err
	}
	return together(ctx,
		func(ctx context.Context) error {
			defer note(&o.Primary, began)
			return o.Case.up(d, ctx)
		},
		func(ctx context.Context) error {
			defer note(&o.Acquired, began)
			_, err := newcomer.Mutex("free").Lock(ctx)
			return err
		},
		func(ctx context.Context) (err error) {
			defer note(&o.Renewed, began)
			o.Lost, err = confirmed(ctx, hold)
			return err
		})
}

// ready opens a client, and returns when it has held a lock: the guard of a new server is over then.
func ready(ctx context.Context, url string) (*holdfast.Client, error) {
	client, err := holdfast.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	hold, err := client.Mutex("ready").Lock(ctx)
	if err == nil {
		err = hold.Unlock()
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// known takes a lock of which all nodes have heard. A short one can end before that, on a busy machine: then it takes another.
func known(ctx context.Context, d *deployment.Deployment, holder *holdfast.Client) (*holdfast.Hold, error) {
	for {
		hold, err := holder.Mutex("held").Lock(ctx)
		if err == nil {
			err = d.Replicated(ctx)
		}
		if err != nil || hold.Err() == nil {
			return hold, err
		}
	}
}

func note(what *time.Duration, since time.Time) { *what = time.Since(since) }

// confirmed asks about the hold until the store has answered. lost is why it is none, or "".
func confirmed(ctx context.Context, hold *holdfast.Hold) (lost string, err error) {
	for {
		err := check(ctx, hold)
		var loss *holdfast.LostError
		switch {
		case err == nil:
			return "", nil
		case errors.As(err, &loss):
			return string(loss.Reason), nil
		case ctx.Err() != nil:
			return "", fmt.Errorf("asking about the hold: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// check asks once: a question to a server that is gone must not take all of the time.
func check(ctx context.Context, hold *holdfast.Hold) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return hold.Check(ctx)
}

// together does things beside each other, and returns when all are done. When one fails the context of the others ends.
func together(ctx context.Context, things ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, len(things))
	var all sync.WaitGroup
	for i, do := range things {
		all.Go(func() {
			if errs[i] = do(ctx); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
