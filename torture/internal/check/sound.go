package check

import (
	"errors"
	"fmt"

	"holdfast.dev/torture/internal/history"
)

// A call is what a worker has asked for and not yet heard of: one of a kind at a time.
type call struct {
	attempt uint64
	op      history.Op
	fenced  history.Flag
}

func callOf(r history.Record) call { return call{r.Attempt, r.Op, r.Flags & history.Fenced} }

// An owner is who an attempt belongs to.
type owner struct {
	process uint32
	worker  uint16
	lock    uint16
	done    bool // it was answered
	refused bool // by another answer than Granted
}

// sound reports what a recorder that works cannot have written. History.Attempts, which comes next, finds records of attempts that
// nobody asked for.
func sound(h *history.History) error {
	if len(h.Records) == 0 {
		return history.ErrEmpty
	}
	if h.Meta.TTL <= 0 {
		return errors.New("the round's TTL is not known: without it nobody can say what is late")
	}
	owners := make(map[uint64]*owner)
	open := make(map[call]bool)
	for i, r := range h.Records {
		if err := soundRecord(owners, open, r); err != nil {
			return fmt.Errorf("record %d: %w: %+v", i, err, r)
		}
	}
	return nil
}

func soundRecord(owners map[uint64]*owner, open map[call]bool, r history.Record) error {
	worker := r.Op == history.Acquire || r.Op == history.Release || r.Op == history.Read || r.Op == history.Write ||
		r.Op == history.Hold && r.Phase != history.Renewed
	if !worker || r.Phase == history.Applied {
		return nil
	}
	o := owners[r.Attempt]
	if r.Op == history.Acquire && r.Phase == history.Asked && o == nil {
		if way := history.Way(r.Value); way < history.ByLock || way > history.ByLeader {
			return errors.New("there is no such way to ask for a lock")
		}
		owners[r.Attempt] = &owner{process: r.Process, worker: r.Worker, lock: r.Lock}
		return nil
	}
	switch {
	case o == nil:
		return errors.New("nobody asked for this attempt")
	case o.process != r.Process || o.lock != r.Lock || o.worker != r.Worker && r.Phase != history.Queued: // an observer does not know workers
		return errors.New("its attempt is of another worker or lock")
	case r.Op == history.Release && o.refused:
		return errors.New("a release of what was not granted")
	}
	if r.Phase != history.Asked && r.Phase != history.Done {
		return nil
	}
	if r.Op == history.Acquire {
		return o.answer(r)
	}
	c := callOf(r)
	if asked := r.Phase == history.Asked; asked == open[c] {
		return errors.New("a call is answered that was not made, or made while it goes on")
	}
	if r.Phase == history.Done && r.Outcome == history.None {
		return errors.New("an answer that says nothing")
	}
	if delete(open, c); r.Phase == history.Asked {
		open[c] = true
	}
	return nil
}

// answer takes an answer to an attempt.
func (o *owner) answer(r history.Record) error {
	switch {
	case r.Phase == history.Asked:
		return errors.New("the attempt was asked for twice")
	case o.done:
		return errors.New("the attempt was answered twice")
	case r.Outcome == history.None:
		return errors.New("an answer that says nothing")
	}
	o.done, o.refused = true, r.Outcome != history.Granted
	return nil
}
