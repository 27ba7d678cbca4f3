package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
)

// A turn is one attempt, from asking to the release.
type turn struct {
	*worker
	base history.Record
	hold *holdfast.Hold
}

func (t *turn) record(op history.Op, phase history.Phase, outcome history.Outcome, value int64) {
	r := t.base
	r.Op, r.Phase, r.Outcome, r.Value = op, phase, outcome, value
	t.log.Append(r)
}

// recordUntil records that the hold is believed in, and until when. The time is read before what is left, so that the sum is not
// later than the end that the hold knows.
func (t *turn) recordUntil(op history.Op, phase history.Phase, outcome history.Outcome) {
	r := t.base
	r.At = history.Now()
	r.Op, r.Phase, r.Outcome, r.Value = op, phase, outcome, int64(r.At.Add(t.hold.Left()))
	t.log.Append(r)
}

// use works under the hold, and ends it. Its error means that the registers cannot be reached.
func (t *turn) use(how manner) error {
	ctx := t.hold.Context(context.Background())
	stop := context.AfterFunc(ctx, func() {
		var lost *holdfast.LostError
		if errors.As(context.Cause(ctx), &lost) {
			t.record(history.Hold, history.LossTold, reasonOf(lost), 0)
		}
	})
	err := t.modify(ctx, how)
	stop()
	t.record(history.Release, history.Asked, history.None, 0)
	switch unlocked := t.hold.Unlock(); {
	case unlocked == nil:
		t.record(history.Release, history.Done, history.OK, 0)
	case errors.Is(unlocked, holdfast.ErrLost):
		t.record(history.Release, history.Done, history.Lost, 0)
	default:
		t.record(history.Release, history.Done, history.Failed, 0)
		t.complain(unlocked)
	}
	return err
}

// complain says why a call that is recorded as Failed has.
func (t *turn) complain(err error) {
	t.failed.add(t.base.Process, t.base.Attempt, t.Locks[t.base.Lock].Name, err)
}

// modify reads both registers, and writes to each the number one greater.
func (t *turn) modify(ctx context.Context, how manner) error {
	open, err := t.access(false, false, 0)
	if err != nil {
		return err
	}
	fenced, err := t.access(false, true, 0)
	if err != nil {
		return ignoreStale(err)
	}
	switch how {
	case dying:
		t.die()
	case long:
		t.keep(ctx)
	default:
		if t.Mix.Think > 0 {
			time.Sleep(t.upTo(t.Mix.Think))
		}
	}
	if !t.claims(ctx) {
		return nil
	}
	if _, err := t.access(true, false, open+1); err != nil {
		return err
	}
	_, err = t.access(true, true, fenced+1)
	return ignoreStale(err)
}

// ignoreStale: what the fence refuses is over, and no fault of the rig's.
func ignoreStale(err error) error {
	if errors.Is(err, resource.ErrStale) {
		return nil
	}
	return err
}

// claims reports whether the holder believes that it holds, and records it if so.
func (t *turn) claims(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	t.recordUntil(history.Hold, history.Claimed, history.None)
	return true
}

// keep holds on for a TTL, in which it is renewed three times, and every third time for three: that needs the later renewals, too. It looks from
// time to time.
func (t *turn) keep(ctx context.Context) {
	length := t.TTL + t.TTL/10
	if t.random.IntN(3) == 0 {
		length = 3 * t.TTL
	}
	over := time.After(length)
	for {
		select {
		case <-over:
			return
		case <-t.draining:
			return
		case <-ctx.Done():
			return
		case <-time.After(t.TTL / 4):
			t.claims(ctx)
		}
	}
}

func (t *turn) access(write, fenced bool, value int64) (int64, error) {
	op, flags := history.Read, history.Flag(0)
	if write {
		op = history.Write
	}
	if fenced {
		flags = history.Fenced
	}
	r := t.base
	r.Op, r.Phase, r.Flags, r.Value = op, history.Asked, flags, value
	t.log.Append(r)
	got, err := t.registers.Do(resource.Request{Write: write, Fenced: fenced, Lock: r.Lock, Worker: r.Worker, Process: r.Process,
		Attempt: r.Attempt, Token: r.Token, Value: value})
	r.Phase, r.Outcome, r.Value = history.Done, history.OK, got
	switch {
	case errors.Is(err, resource.ErrStale):
		r.Outcome, r.Value = history.Stale, value
	case err != nil:
		r.Outcome, r.Value = history.Failed, value
		err = fmt.Errorf("the registers: %w", err)
	}
	t.log.Append(r)
	return got, err
}

func reasonOf(lost *holdfast.LostError) history.Outcome {
	switch lost.Reason {
	case holdfast.ReasonExpired:
		return history.Expired
	case holdfast.ReasonTaken:
		return history.Taken
	case holdfast.ReasonSession:
		return history.Session
	case holdfast.ReasonBroken:
		return history.Broken
	}
	return history.MaxHold
}
