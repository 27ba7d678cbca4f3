package locktest

import (
	"context"
	"errors"
	"sync"

	"holdfast.dev"
)

var reentry = topic{"reentry", []casus{
	{"nests", 0, reentryNests,
		"O3: Lock with the context of a live hold counts up; the store's hold ends with the last Unlock; the token is constant"},
	{"siblings", 0, siblingsExclude,
		"O3: two goroutines that re-enter with one context exclude each other"},
	{"context", 0, strangersDoNotReenter,
		"O3: without the hold's context nobody re-enters, whatever goroutine or client it is"},
	{"ended", 0, endedDoesNotReenter,
		"O3: an ended hold's context never re-enters"},
	{"held", 0, heldFindsHold,
		"O3: Held finds the hold of a context, and nothing else"},
}}

func reentryNests(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	outer := t.lock(mine, name)
	middle := t.locking(outer.Context(t.ctx), mine, name).granted()
	inner := t.locking(middle.Context(t.ctx), mine, name).granted()
	for _, hold := range []*holdfast.Hold{outer, middle, inner} {
		if hold.Count() != 3 || hold.Token() != outer.Token() {
			t.Errorf("count %d, token %d; entered three times with token %d", hold.Count(), hold.Token(), outer.Token())
		}
	}
	t.unlock(inner)
	t.heldByOther(others, name)
	t.unlock(outer) // in whatever order
	t.heldByOther(others, name)
	if middle.Err() != nil || middle.Count() != 1 {
		t.Errorf("a hold that is still entered says count %d, error %v", middle.Count(), middle.Err())
	}
	t.unlock(middle)
	t.try(others, name)
}

func siblingsExclude(t *trial) {
	const siblings, rounds = 4, 5
	name := t.name("lock")
	locks := t.locks()
	outer := t.lock(locks, name)
	ctx := outer.Context(t.ctx)
	var in inside
	var all sync.WaitGroup
	for range siblings {
		all.Go(func() {
			for range rounds {
				hold, err := locks.Mutex(name).Lock(ctx)
				if err != nil {
					t.Errorf("Lock with the context of a live hold: %v", err)
					return
				}
				in.visit()
				if err := hold.Unlock(); err != nil {
					t.Errorf("Unlock: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	if !t.Failed() {
		in.judge(t, siblings*rounds)
	}
	t.unlock(outer)
}

func strangersDoNotReenter(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	outer := t.lock(mine, name)
	ctx := outer.Context(t.ctx)
	t.heldByOther(mine, name) // the same goroutine and client, without the context
	if _, err := others.Mutex(name).TryLock(ctx); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryLock on another client with the context of a hold: %v; it must be ErrHeld", err)
	}
	other, err := mine.Mutex(t.name("other"), holdfast.TTL(t.long)).TryLock(ctx)
	if err != nil {
		t.Fatalf("TryLock of another name with the context of a hold: %v", err)
	}
	if other.Count() != 1 {
		t.Errorf("a lock of another name is entered %d times", other.Count())
	}
	t.unlock(other)
	t.unlock(outer)
}

func endedDoesNotReenter(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	outer := t.lock(mine, name)
	ctx := context.WithoutCancel(outer.Context(t.ctx)) // it carries the hold, and does not end with it
	t.unlock(outer)
	theirs := t.try(others, name)
	if _, err := mine.Mutex(name).TryLock(ctx); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("TryLock with the context of a hold that has ended, while another holds: %v; it must be ErrHeld", err)
	}
	t.unlock(theirs)
	again, err := mine.Mutex(name, holdfast.TTL(t.long)).TryLock(ctx)
	if err != nil {
		t.Fatalf("TryLock of a lock that is free: %v", err)
	}
	if again.Count() != 1 {
		t.Errorf("a hold of its own is entered %d times", again.Count())
	}
	t.unlock(again)
}

func heldFindsHold(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	if _, ok := mine.Held(t.ctx, name); ok {
		t.Error("Held finds a hold in a context without one")
	}
	outer := t.lock(mine, name)
	ctx := outer.Context(t.ctx)
	if found, ok := mine.Held(ctx, name); !ok || found.Token() != outer.Token() {
		t.Errorf("Held finds %v, %v; the context carries the hold with token %d", found, ok, outer.Token())
	}
	if _, ok := others.Held(ctx, name); ok {
		t.Error("Held of another client finds the hold")
	}
	if _, ok := mine.Held(ctx, t.name("other")); ok {
		t.Error("Held finds the hold by another name")
	}
	if got := holdfast.Token(ctx); got != outer.Token() {
		t.Errorf("Token of the context is %d; it is %d", got, outer.Token())
	}
	t.unlock(outer)
	if _, ok := mine.Held(context.WithoutCancel(ctx), name); ok {
		t.Error("Held finds a hold that has ended")
	}
}
