package locktest

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast.dev"
)

// The cases of this topic look at the whole process, so they run alone. Do not run other tests beside Run.
var leaks = topic{"leaks", []casus{
	{"goroutines", 0, noGoroutineStays,
		"C: after Close no goroutine is left of what a client did, whatever that was"},
	{"perhold", 0, noGoroutinePerHold,
		"A6: a client at rest has no goroutine for each of its holds"},
	{"state", 0, nothingStaysInStore,
		"C: when nobody holds or waits nothing is left in the store"},
}}

// bustle does everything that can leave something behind, and closes what it opened: in a subtest, so that the link is gone, too.
func bustle(t *trial, round string) {
	t.Helper()
	t.Run(round, func(inner *testing.T) {
		everything(&trial{T: inner, kit: t.kit, ctx: t.ctx, prefix: t.prefix + round})
	})
	if t.Failed() {
		t.FailNow()
	}
}

func everything(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	cutOff, faults := t.linkedLocks()
	for i := range 5 {
		hold := t.lock(mine, fmt.Sprint(name, i))
		inner := t.locking(hold.Context(t.ctx), mine, hold.Name()).granted()
		ctx, cancel := context.WithTimeout(t.ctx, glimpse/10)
		others.Mutex(hold.Name()).Lock(ctx) // gives up in the queue
		cancel()
		t.unlock(inner)
		if i > 0 {
			t.unlock(hold) // one is left to Close
		}
	}
	t.leaveParts(mine, others)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			mine.Do(t.ctx, name, func(context.Context) error { return nil }, holdfast.TTL(t.long))
		})
	}
	all.Wait()
	t.lock(cutOff, name, holdfast.TTL(t.ttl))
	faults.HoldReplies()
	ctx, cancel := context.WithTimeout(t.ctx, glimpse)
	defer cancel()
	cutOff.Mutex(name+"unanswered", holdfast.TTL(t.ttl)).Lock(ctx)
	faults.Cut()
	for _, locks := range []*holdfast.Client{cutOff, others, mine} {
		locks.Close()
	}
}

// leaveParts leaves what it can of readers, permits and Multis to Close, and gives up in the middle of one.
func (t *trial) leaveParts(mine, others *holdfast.Client) {
	t.Helper()
	names := t.names(3)
	kinds := []holdfast.Locker{t.multiOf(mine, names[2], names[0])}
	if t.missing(shared) == "" {
		kinds = append(kinds, t.readerOf(mine, t.name("readers")), t.readerOf(others, t.name("readers")))
	}
	if t.missing(permitting) == "" {
		kinds = append(kinds, t.semaphoreOf(mine, t.name("permits"), 3).Permits(2), t.semaphoreOf(others, t.name("permits"), 3).Permits(1))
	}
	for _, l := range kinds {
		t.takeNow(t.ctx, l)
	}
	holdfast.Multi(kinds[1:]...).TryLock(t.ctx)
	for _, give := range []func(context.Context){
		func(ctx context.Context) { t.multiOf(others, names...).Lock(ctx) },
		func(ctx context.Context) {
			others.Election(names[0]).Run(ctx, func(context.Context) error { return nil })
		},
	} {
		ctx, cancel := context.WithTimeout(t.ctx, glimpse/10)
		give(ctx) // up, in the queue
		cancel()
	}
}

func noGoroutineStays(t *trial) {
	bustle(t, "first") // what a process starts once, and keeps, is there from now on
	before := goroutines()
	bustle(t, "second")
	var left []string
	ended := t.comes(func() bool {
		left = left[:0]
		for id, stack := range goroutines() {
			if before[id] == "" {
				left = append(left, stack)
			}
		}
		return len(left) == 0
	})
	if !ended {
		t.Errorf("%d goroutines are left after Close, among them\n%s", len(left), left[0])
	}
}

var goroutineID = regexp.MustCompile(`^goroutine (\d+) `)

// goroutines returns the stacks of all goroutines but the caller's, by id.
func goroutines() map[string]string {
	buffer := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buffer, true)
		if n < len(buffer) {
			buffer = buffer[:n]
			break
		}
		buffer = make([]byte, 2*len(buffer))
	}
	all := make(map[string]string)
	stacks := strings.Split(string(buffer), "\n\n")
	for _, stack := range stacks[1:] { // the first is the caller's
		if id := goroutineID.FindStringSubmatch(stack); id != nil {
			all[id[1]] = stack
		}
	}
	return all
}

func noGoroutinePerHold(t *trial) {
	const few, many = 10, 210
	locks := t.locks()
	at := func(n int) int {
		for i := range n {
			if name := t.name("lock %d", i); i >= few || n == few {
				t.try(locks, name)
			}
		}
		least := 1 << 30 // over a while: renewals come and go
		for range 20 {
			least = min(least, runtime.NumGoroutine())
			yield()
		}
		return least
	}
	before := at(few)
	if after := at(many); after-before > (many-few)/4 {
		t.Errorf("%d holds and %d goroutines; with %d holds there were %d", many, after, few, before)
	}
}

func nothingStaysInStore(t *trial) {
	before := t.state()
	bustle(t, "once")
	var left []string
	gone := t.comes(func() bool {
		left = left[:0]
		for _, thing := range t.state() {
			if !slices.Contains(before, thing) {
				left = append(left, thing)
			}
		}
		return len(left) == 0
	})
	if !gone {
		t.Errorf("in the store is left: %q", left)
	}
}

// state lists what is in the store.
func (t *trial) state() (things []string) {
	t.Helper()
	if t.h.State != nil {
		all, err := t.h.State(t.ctx, t.address)
		if err != nil {
			t.Fatalf("Harness.State: %v", err)
		}
		things = all
	}
	if t.missing(inspector) == "" {
		for _, name := range t.list(t.open(), "") {
			things = append(things, "the lock "+name)
		}
	}
	return things
}
