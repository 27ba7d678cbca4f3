package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var exclusion = topic{"exclusion", []casus{
	{"goroutines", 0, goroutinesExclude,
		"A2: two attempts are two owners: of many goroutines on several clients one at a time holds"},
	{"locks", 0, doExcludes,
		"A2: of many goroutines under Do, on several clients, one at a time runs, with a token of its own"},
	{"oneclient", 0, oneClientExcludes,
		"A2: two attempts are two owners, also on one connection, session or lease"},
	{"nowait", 0, noWaitAnswers,
		"A5: without waiting the answer is *Held, and nothing is queued"},
	{"owner", 0, onlyOwnerReleases,
		"R3: Release frees nothing but its own attempt"},
	{"release", 0, releaseFrees,
		"R: after Release the attempt neither waits nor holds: the lock is free at once, and a second Release answers ErrGone"},
}}

// inside notices when two are where only one may be.
type inside struct {
	n       atomic.Int32
	overlap atomic.Bool
	count   int64 // read and written apart, so that an overlap can lose an update
}

// visit enters, counts and leaves.
func (i *inside) visit() {
	if i.n.Add(1) != 1 {
		i.overlap.Store(true)
	}
	seen := atomic.LoadInt64(&i.count)
	yield()
	atomic.StoreInt64(&i.count, seen+1)
	i.n.Add(-1)
}

// judge ends the case if two were inside at once, or if an update was lost.
func (i *inside) judge(t *trial, visits int) {
	t.Helper()
	if i.overlap.Load() {
		t.Error("two held the exclusive lock at once")
	}
	if got := atomic.LoadInt64(&i.count); got != int64(visits) {
		t.Errorf("%d of %d updates under the lock were lost", int64(visits)-got, visits)
	}
}

func goroutinesExclude(t *trial) {
	const clients, goroutines, rounds = 3, 4, 5
	name := t.name("lock")
	var in inside
	var all sync.WaitGroup
	for range clients {
		c := t.open()
		for range goroutines {
			all.Go(func() {
				for range rounds {
					r := t.ask(name)
					if _, err := c.Acquire(t.ctx, r); err != nil {
						t.Errorf("Acquire: %v", err)
						return
					}
					in.visit()
					if err := c.Release(t.ctx, r); err != nil {
						t.Errorf("Release of a hold: %v", err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	if !t.Failed() {
		in.judge(t, clients*goroutines*rounds)
	}
}

func doExcludes(t *trial) {
	const clients, goroutines, rounds = 2, 4, 3
	name := t.name("lock")
	var in inside
	var top atomic.Uint64
	var all sync.WaitGroup
	for range clients {
		locks := t.locks()
		for range goroutines {
			all.Go(func() {
				for range rounds {
					err := locks.Do(t.ctx, name, func(ctx context.Context) error {
						if token := holdfast.Token(ctx); token < top.Swap(token) {
							return fmt.Errorf("token %d was granted after a greater one", token)
						}
						in.visit()
						return nil
					}, holdfast.TTL(t.long))
					if err != nil {
						t.Errorf("Do: %v", err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	if !t.Failed() {
		in.judge(t, clients*goroutines*rounds)
	}
}

func oneClientExcludes(t *trial) {
	name := t.name("lock")
	c := t.open()
	first, second := t.ask(name), t.ask(name)
	c.grant(first)
	w := c.queue(second)
	c.taken(t.ask(name))
	w.waits()
	c.release(first)
	w.granted()
	c.taken(t.ask(name))
	c.release(second)
}

func noWaitAnswers(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder, refused := t.ask(name), t.ask(name)
	a.grant(holder)
	held := b.taken(refused)
	for _, h := range held.Holders {
		if h.Kept || h.Mode != driver.Exclusive {
			t.Errorf("*Held names as its holder %+v; it is an exclusive hold that has not ended", h)
		}
	}
	b.gone(refused) // it was not queued
	a.release(holder)
	b.free(t.ask(name))
}

func onlyOwnerReleases(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	owner := t.ask(name)
	a.grant(owner)
	for _, c := range []*client{a, b} {
		c.gone(t.ask(name))
		c.taken(t.ask(name))
	}
	w := b.queue(t.ask(name))
	b.release(w.r) // of a waiter: the holder is not touched
	w.undone()
	b.taken(t.ask(name))
	a.release(owner)
}

func releaseFrees(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	for range 3 {
		r := t.ask(name)
		a.free(r)
		a.release(r)
		a.gone(r)
		next := t.ask(name)
		b.free(next)
		a.gone(r) // and does not touch the next holder
		b.taken(t.ask(name))
		b.release(next)
	}
	if err := a.releaseError(t.ask(name)); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Release of an attempt that never was: %v; the answer must be ErrGone", err)
	}
}

// yield lets others run.
func yield() { time.Sleep(time.Millisecond) }
