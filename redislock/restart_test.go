package redislock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// A trouble is something that happens to a server while a lock is held and waited for.
type trouble struct {
	name    string
	options []servers.RedisOption
	guard   string
	happens func(t *testing.T, server *servers.Redis)
	lost    bool // the hold is gone: its holder is told
	doubled bool // the next may be granted the lock before the holder is told
	queue   bool // the queue is gone: who waits comes back in any order
}

func does(args ...string) func(*testing.T, *servers.Redis) {
	return func(t *testing.T, server *servers.Redis) { command(t, server, args...) }
}

func restarts(t *testing.T, server *servers.Redis) {
	server.Kill()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// persistent is a server that has on disk what it has answered: with everysec it may lose two seconds.
var persistent = []servers.RedisOption{servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always")}

var troubles = []trouble{
	{name: "FUNCTION FLUSH", guard: "0", happens: does("FUNCTION", "FLUSH")},
	{name: "FUNCTION FLUSH, guarded", guard: "3s", happens: does("FUNCTION", "FLUSH")},
	{name: "SCRIPT FLUSH", guard: "0", happens: does("SCRIPT", "FLUSH")},
	{name: "CLIENT KILL TYPE normal", guard: "0", happens: does("CLIENT", "KILL", "TYPE", "normal")},
	{name: "CLIENT KILL TYPE pubsub", guard: "0", happens: does("CLIENT", "KILL", "TYPE", "pubsub")},
	{name: "restart with AOF", options: persistent, guard: "0", happens: restarts},
	{name: "restart with AOF, guarded", options: persistent, guard: "3s", happens: restarts},
	{name: "restart", guard: "0", happens: restarts, lost: true, doubled: true, queue: true},
	{name: "restart, guarded", guard: "3s", happens: restarts, lost: true, queue: true},
	{name: "FLUSHALL", guard: "0", happens: does("FLUSHALL"), lost: true, doubled: true, queue: true},
	{name: "FLUSHALL and FUNCTION FLUSH", guard: "0", lost: true, doubled: true, queue: true, happens: func(t *testing.T, server *servers.Redis) {
		command(t, server, "FLUSHALL")
		command(t, server, "FUNCTION", "FLUSH")
	}},
}

// lockTTL is long enough for a restart on a busy machine, and short enough to see renewals.
const lockTTL = 3 * time.Second

// Whatever happens to the server, nobody gets an error to handle but a holder whose hold is gone, within one renewal interval; and
// whoever waits goes on by himself, and is served.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range troubles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t, c.options...)
			a, b := watch(t, server.Addr(), c.guard), watch(t, server.Addr(), c.guard)
			hold := a.lock("first", nil).granted(t) // on a server that was started just now, when its guard is over
			second := a.lock("second", hold)
			until(t, "the second waits", func() bool { return shown(t, a.store, "lock") == "first <- second" })
			third := b.lock("third", hold)
			until(t, "the third waits", func() bool { return shown(t, a.store, "lock") == "first <- second, third" })

			c.happens(t, server)
			if c.lost {
				toldOfLoss(t, hold)
			} else {
				a.renewed(t, 2)
				until(t, "both wait", func() bool { return shown(t, a.store, "lock") == "first <- second, third" })
				if err := hold.Unlock(); err != nil {
					t.Errorf("unlocking: %v", err)
				}
			}
			c.served(t, hold.Token(), second, third)
		})
	}
}

// toldOfLoss waits until the holder is told that its hold is gone.
func toldOfLoss(t *testing.T, hold *holdfast.Hold) {
	t.Helper()
	since := time.Now()
	ctx := hold.Context(t.Context())
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatal("the holder is not told that its hold is gone")
	}
	var lost *holdfast.LostError
	if !errors.As(context.Cause(ctx), &lost) || lost.Reason != holdfast.ReasonTaken {
		t.Errorf("the holder was not told by the store, but knows by itself: %v", context.Cause(ctx))
	}
	if took := time.Since(since); took > lockTTL/3+slow {
		t.Errorf("told after %v", took)
	}
}

// served waits until both are served, in their order if the queue is still there.
func (c *trouble) served(t *testing.T, token uint64, second, third *locking) {
	t.Helper()
	if c.queue {
		select {
		case <-second.done:
		case <-third.done:
			second, third = third, second
		case <-time.After(patience):
		}
	}
	for _, l := range []*locking{second, third} {
		hold := l.granted(t)
		if hold.Token() <= token {
			t.Errorf("token %d after %d", hold.Token(), token)
		}
		if l.beside && !c.doubled {
			t.Errorf("%q was granted the lock beside the first", l.label)
		}
		token = hold.Token()
		if err := hold.Unlock(); err != nil {
			t.Errorf("unlocking: %v", err)
		}
	}
}

// A watched is a client of the core whose renewals are counted.
type watched struct {
	t        testing.TB
	store    *redislock.Store
	locks    *holdfast.Client
	renewals atomic.Int64
}

func watch(t testing.TB, address, guard string) *watched {
	t.Helper()
	w := &watched{t: t, store: dial(t, address, "guard="+guard)}
	w.locks = holdfast.New(w.store, holdfast.TTL(lockTTL), holdfast.WithObserver(w))
	t.Cleanup(func() { w.locks.Close() })
	return w
}

// Observe is for holdfast.WithObserver.
func (w *watched) Observe(_ context.Context, e holdfast.Event) {
	if e.Kind == holdfast.EventRenewed {
		w.renewals.Add(1)
	}
}

// renewed waits for n more renewals.
func (w *watched) renewed(t testing.TB, n int64) {
	t.Helper()
	n += w.renewals.Load()
	until(t, "renewals", func() bool { return w.renewals.Load() >= n })
}

// A locking is a call of Lock.
type locking struct {
	label  string
	done   chan struct{}
	hold   *holdfast.Hold // from here on: once done
	err    error
	beside bool // the one before still believed in its hold
}

// lock calls Lock. Of the hold before it, if there was one, it looks whether that has ended.
func (w *watched) lock(label string, before *holdfast.Hold) *locking {
	l := &locking{label: label, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(func() { cancel(); <-l.done })
	go func() {
		defer close(l.done)
		l.hold, l.err = w.locks.Mutex("lock", holdfast.Label(label)).Lock(ctx)
		l.beside = before != nil && before.Err() == nil
	}()
	return l
}

func (l *locking) granted(t testing.TB) *holdfast.Hold {
	t.Helper()
	select {
	case <-l.done:
	case <-time.After(patience):
		t.Fatalf("%q is not served", l.label)
	}
	if l.err != nil {
		t.Fatalf("%q is not served: %v", l.label, l.err)
	}
	return l.hold
}

// A server says how long it has been up in seconds, and counts their beginnings: one that has just started at the end of a second says 1. The
// guard is not over then.
func TestGuardAtTheEndOfASecond(t *testing.T) {
	t.Parallel()
	const guard = 900 * time.Millisecond
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard="+guard.String())
	for range 3 {
		server.Kill()
		for ; time.Now().Nanosecond() < int(850*time.Millisecond); time.Sleep(time.Millisecond) {
		}
		before := time.Now()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := ask("lock", "holder", 500*time.Millisecond)
		insist(t, s, r)
		if after := time.Since(before); after < guard {
			t.Errorf("granted %v after the start, the guard is %v", after, guard)
		}
		release(t, s, r)
	}
}
