package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"holdfast.dev"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/resource"
)

// A worker does one thing after the other.
type worker struct {
	*process
	number    uint16
	client    *holdfast.Client
	random    *rand.Rand
	registers *resource.Client
}

func (w *worker) run() error {
	var err error
	if w.registers, err = resource.Dial(w.Resource); err != nil {
		return fmt.Errorf("worker %d: %w", w.number, err)
	}
	defer w.registers.Close()
	for !w.isDraining() {
		if err := w.step(); err != nil {
			return fmt.Errorf("worker %d: %w", w.number, err)
		}
		if w.Mix.Pause > 0 {
			time.Sleep(w.upTo(w.Mix.Pause))
		}
	}
	return nil
}

// upTo is a part of d, by chance.
func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

func (w *worker) isDraining() bool {
	select {
	case <-w.draining:
		return true
	default:
		return false
	}
}

// A manner is what is done with a lock once it is held.
type manner int

const (
	briefly manner = iota
	long
	dying
)

// step does one thing. An error means that the rig is broken: locks that fail are recorded instead.
func (w *worker) step() error {
	m := w.Mix
	pick := w.random.IntN(m.Use + m.Try + m.Long + m.GiveUp + m.Die + m.Inspect + m.Lead)
	took := func(weight int) bool {
		pick -= weight
		return pick < 0
	}
	switch {
	case took(m.Use):
		return w.attempt(w.pickLock(m.Hot), history.ByLock, briefly)
	case took(m.Try):
		return w.attempt(w.pickLock(m.Hot), history.ByTry, briefly)
	case took(m.Long):
		return w.attempt(w.pickLock(m.Hot/rarely), history.ByLock, long)
	case took(m.GiveUp):
		return w.attempt(w.pickLock(m.Hot), history.ByWait, briefly)
	case took(m.Die):
		return w.attempt(w.pickLock(m.Hot/rarely), history.ByLock, dying)
	case took(m.Lead):
		return w.lead()
	}
	w.inspect(w.pickLock(m.Hot))
	return nil
}

// rarely is by how much rarer the hot lock is asked for by those who will keep everybody waiting for a TTL: else it is never hot.
const rarely = 5

// pickLock returns one that is not an election's: the first, so many times of a hundred, or one of the others.
func (w *worker) pickLock(hot int) uint16 {
	var warm []uint16
	for i, lock := range w.Locks {
		if i > 0 && !lock.Leader {
			warm = append(warm, uint16(i))
		}
	}
	if len(warm) == 0 || w.random.IntN(100) < hot {
		return 0
	}
	return warm[w.random.IntN(len(warm))]
}

func (w *worker) lead() error {
	for i, lock := range w.Locks {
		if lock.Leader {
			return w.attempt(uint16(i), history.ByLeader, briefly)
		}
	}
	return w.attempt(w.pickLock(w.Mix.Hot), history.ByLock, briefly)
}

func (w *worker) inspect(lock uint16) {
	r := history.Record{Op: history.Inspect, Phase: history.Asked, Process: w.Process, Worker: w.number, Lock: lock}
	w.log.Append(r)
	ctx, cancel := context.WithTimeout(context.Background(), w.TTL)
	defer cancel()
	info, err := w.client.Inspect(ctx, w.Locks[lock].Name)
	r.Phase, r.Outcome = history.Done, history.OK
	switch {
	case err != nil:
		r.Outcome = history.Failed
	case len(info.Holders) > 0:
		r.Token = info.Holders[0].Token
	}
	w.log.Append(r)
}

// attempt asks for a lock, and uses it if it is granted.
func (w *worker) attempt(lock uint16, way history.Way, how manner) error {
	number := uint64(w.Process)<<32 | w.attempts.Add(1)
	t := &turn{worker: w, base: history.Record{Attempt: number, Process: w.Process, Worker: w.number, Lock: lock}}
	t.record(history.Acquire, history.Asked, history.None, int64(way))
	hold, err := w.ask(lock, way, number)
	if err != nil {
		outcome := outcomeOf(err, way)
		t.record(history.Acquire, history.Done, outcome, 0)
		if outcome == history.Failed {
			t.complain(err)
		}
		if way == history.ByLock || way == history.ByLeader {
			time.Sleep(w.upTo(20 * time.Millisecond)) // the store is out of order: not at once again
		}
		return nil
	}
	t.hold, t.base.Token = hold, hold.Token()
	w.holds.Store(holdKey{lock, t.base.Token}, hold)
	defer w.holds.Delete(holdKey{lock, t.base.Token})
	t.recordUntil(history.Acquire, history.Done, history.Granted)
	return t.use(how)
}

func (w *worker) ask(lock uint16, way history.Way, number uint64) (*holdfast.Hold, error) {
	name, options := w.Locks[lock].Name, []holdfast.Option{holdfast.TTL(w.TTL), holdfast.Label(strconv.FormatUint(number, 10))}
	ctx := context.Background()
	switch way {
	case history.ByTry:
		return w.client.Mutex(name, options...).TryLock(ctx)
	case history.ByLeader:
		return w.client.Election(name, options...).Campaign(ctx)
	case history.ByWait:
		short, cancel := context.WithTimeout(ctx, time.Millisecond+time.Duration(w.random.Int64N(int64(w.TTL/2))))
		defer cancel()
		ctx = short
	}
	return w.client.Mutex(name, options...).Lock(ctx)
}

func outcomeOf(err error, way history.Way) history.Outcome {
	switch {
	case errors.Is(err, context.DeadlineExceeded) && way == history.ByWait:
		return history.GaveUp
	case errors.Is(err, holdfast.ErrHeld) && way == history.ByTry:
		return history.Held
	case errors.Is(err, holdfast.ErrGuarded):
		return history.Guarded
	}
	return history.Failed
}
