package redislock_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// A lateness is a client whose request is held back on its way, until after it was undone.
type lateness struct {
	t              *testing.T
	server         *servers.Redis
	direct, linked *redislock.Store
	proxy          *netfault.Proxy
}

func newLateness(t *testing.T, claim time.Duration) *lateness {
	t.Parallel()
	server := startRedis(t)
	proxy, err := netfault.New(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	params := "guard=0&claim=" + claim.String()
	return &lateness{t: t, server: server, direct: dial(t, server.Addr(), params), linked: dial(t, proxy.Addr(), params), proxy: proxy}
}

// calls is how many functions the server has run.
func (l *lateness) calls() int {
	l.t.Helper()
	info, err := l.server.Info(l.t.Context(), "commandstats")
	if err != nil {
		l.t.Fatal(err)
	}
	count, _, _ := strings.Cut(strings.TrimPrefix(info["cmdstat_fcall"], "calls="), ",")
	n, _ := strconv.Atoi(count)
	return n
}

// hold keeps back what is sent, until that is a call of a function: what keeps connections alive is less than 150 bytes.
func (l *lateness) hold(send func()) {
	l.t.Helper()
	l.proxy.HoldRequests()
	send()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	if err := l.proxy.AwaitHeld(ctx, netfault.Requests, 150); err != nil {
		l.t.Fatal(err)
	}
}

// undo breaks the connection on which the request waits, undoes it, lets it arrive, and returns when it has.
func (l *lateness) undo(r *driver.Request, answer error) {
	l.t.Helper()
	l.proxy.Strand()
	if err := l.release(r); !errors.Is(err, answer) {
		l.t.Errorf("undoing it: %v, want %v", err, answer)
	}
	before := l.calls()
	l.proxy.Resume()
	until(l.t, "the late request arrives", func() bool { return l.calls() > before })
}

// release repeats what has no answer, as the core does.
func (l *lateness) release(r *driver.Request) (err error) {
	until(l.t, "an answer to the release", func() bool {
		err = l.linked.Release(l.t.Context(), r)
		return err == nil || driver.Answered(err)
	})
	return err
}

// free: nobody has the lock, nobody waits for it, and the next gets it at once.
func (l *lateness) free() {
	l.t.Helper()
	if now := shown(l.t, l.direct, "lock"); now != " <- " {
		l.t.Errorf("after the late request: %s", now)
	}
	next := ask("lock", "next", time.Minute)
	take(l.t, l.direct, next)
	release(l.t, l.direct, next)
}

// The first request of an attempt arrives after its undoing.
func TestLateAcquire(t *testing.T) {
	l := newLateness(t, redislock.DefaultClaim)
	r := ask("lock", "late", time.Minute)
	l.hold(func() { begin(t, l.linked, r) })
	l.undo(r, driver.ErrGone)
	l.free()
}

// The same, of one that would have had to wait: it must not stand in the queue, and be served, either.
func TestLateWaiter(t *testing.T) {
	l := newLateness(t, redislock.DefaultClaim)
	holder := ask("lock", "holder", time.Minute)
	take(t, l.direct, holder)
	r := ask("lock", "late", time.Minute)
	l.hold(func() { begin(t, l.linked, r) })
	l.undo(r, driver.ErrGone)
	if now := shown(t, l.direct, "lock"); now != "holder <- " {
		t.Errorf("after the late request: %s", now)
	}
	release(t, l.direct, holder)
	l.free()
}

// A repetition for an attempt that holds arrives after the release.
func TestLateRepetitionOfAHolder(t *testing.T) {
	l := newLateness(t, redislock.DefaultClaim)
	r := ask("lock", "late", time.Minute)
	take(t, l.linked, r)
	l.hold(func() { begin(t, l.linked, r) })
	l.undo(r, nil)
	l.free()
}

// A repetition for an attempt that waits arrives after it has given up.
func TestLateRepetitionOfAWaiter(t *testing.T) {
	l := newLateness(t, redislock.DefaultClaim)
	holder := ask("lock", "holder", time.Minute)
	take(t, l.direct, holder)
	r := ask("lock", "late", time.Minute)
	queue(t, l.linked, r)
	again := *r
	l.hold(func() { begin(t, l.linked, &again) })
	l.undo(r, nil)
	if now := shown(t, l.direct, "lock"); now != "holder <- " {
		t.Errorf("after the late request: %s", now)
	}
	release(t, l.direct, holder)
	l.free()
}

// A grant that was pushed is claimed, and the claim arrives after the release.
func TestLateClaim(t *testing.T) {
	l := newLateness(t, 4*time.Second) // claimed before half of that is over
	holder := ask("lock", "holder", time.Minute)
	take(t, l.direct, holder)
	w := queue(t, l.linked, ask("lock", "late", time.Minute))
	l.hold(func() {
		release(t, l.direct, holder)
		w.served() // by the message: nothing gets through to the server
	})
	l.undo(w.r, nil)
	l.free()
}

// A waiter that has waited for longer than the time to claim asks once more when it is told that it has the lock. That question arrives
// after it has given up.
func TestLateClaimByAsking(t *testing.T) {
	l := newLateness(t, redislock.DefaultClaim)
	holder := ask("lock", "holder", time.Minute)
	take(t, l.direct, holder)
	w := queue(t, l.linked, ask("lock", "late", time.Minute))
	waits := w.r
	until(t, "it has waited for long", func() bool { return waited(t, l.direct, "lock") > redislock.DefaultClaim })
	l.hold(func() { release(t, l.direct, holder) })
	w.waits()
	l.undo(waits, nil)
	l.free()
}

// waited is for how long the first of the queue has waited.
func waited(t testing.TB, s driver.Inspector, name string) time.Duration {
	t.Helper()
	info, err := s.Inspect(t.Context(), name, driver.Exclusive)
	if err != nil || len(info.Waiters) == 0 {
		t.Fatalf("nobody waits: %v, %v", info, err)
	}
	return info.Waiters[0].Waited
}
