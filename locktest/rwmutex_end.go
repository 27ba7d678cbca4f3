package locktest

import (
	"context"
	"errors"

	"holdfast.dev"
)

// How readers end.

func endedReaderIsNoUpgrade(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	reader := t.take(t.ctx, t.readerOf(mine, name))
	ctx := context.WithoutCancel(reader.Context(t.ctx)) // it carries the hold, and does not end with it
	t.unlock(reader)
	writer := t.takeNow(ctx, t.rwmutexOf(mine, name))
	if writer.Count() != 1 {
		t.Errorf("a writer of its own is entered %d times", writer.Count())
	}
	t.refused(t.ctx, t.readerOf(others, name))
	t.unlock(writer)
}

func cutOffReaderLoses(t *trial) {
	name := t.name("lock")
	cutOff, faults := t.linkedLocks()
	stays, others := t.locks(), t.locks()
	lost := t.take(t.ctx, t.readerOf(cutOff, name, holdfast.TTL(t.ttl)))
	good := t.takeNow(t.ctx, t.readerOf(stays, name))
	ctx := lost.Context(t.ctx)
	faults.HoldRequests()
	writer := t.pend(t.ctx, t.rwmutexOf(others, name))
	t.lostFor(lost, ctx, ranOut...)
	writer.waits() // one reader is left
	if good.Err() != nil || good.Token() != lost.Token() {
		t.Errorf("the reader beside the lost one says error %v, token %d; it is good, with token %d", good.Err(), good.Token(), lost.Token())
	}
	t.unlock(good)
	next := writer.granted()
	t.notBelieved(lost)
	faults.Resume()
	if next.Token() != 0 && next.Token() <= lost.Token() {
		t.Errorf("token %d was granted to a writer after token %d", next.Token(), lost.Token())
	}
	if err := lost.Unlock(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a reader that was lost: %v; it must be ErrLost", err)
	}
	t.refused(t.ctx, t.readerOf(others, name)) // the writer is not touched by it
	t.unlock(next)
}

func brokenGenerationIsLost(t *trial) {
	name := t.name("lock")
	mine, others, breaker := t.locks(), t.locks(), t.locks()
	ttl := holdfast.TTL(t.promptTTL())
	readers := []*holdfast.Hold{t.take(t.ctx, t.readerOf(mine, name, ttl)), t.takeNow(t.ctx, t.readerOf(others, name, ttl))}
	ctxs := []context.Context{readers[0].Context(t.ctx), readers[1].Context(t.ctx)}
	if err := breaker.Break(t.ctx, name, readers[0].Token(), holdfast.Now()); err != nil {
		t.Fatalf("Break of a reader's token: %v", err)
	}
	next := t.takeNow(t.ctx, t.rwmutexOf(breaker, name))
	if next.Token() <= readers[0].Token() {
		t.Errorf("token %d was granted after token %d was broken", next.Token(), readers[0].Token())
	}
	for i, hold := range readers {
		t.lostFor(hold, ctxs[i], holdfast.ReasonBroken)
		if err := hold.Unlock(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Unlock of a reader whose generation was broken: %v; it must be ErrLost", err)
		}
	}
	t.refused(t.ctx, t.readerOf(mine, name)) // nobody's Unlock touches the writer
	t.unlock(next)
}
