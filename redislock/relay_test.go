package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// furtherTokens is how many tokens a grant keeps for its relay (RELAY in engine.lua): what is granted by the server is further away.
const furtherTokens = 63

// A relayed is a lock for which waiters of one client queue, and another client, which sees what the server knows.
type relayed struct {
	testing.TB
	server      *servers.Redis
	here, there *redislock.Store
	holder      *driver.Request // has the lock, there
	waiters     []*waiter
	lost        []chan error // what each of them is told by Lost
	rider       chan error   // what one is told who shares a place
}

// newRelayed lets so many queue here behind a holder there. They come one after the other, so that each has its place in the server.
func newRelayed(t testing.TB, n int) *relayed {
	t.Helper()
	server := startRedis(t)
	return joinRelayed(t, server, dial(t, server.Addr(), "guard=0"), n)
}

// joinRelayed does it with a client that is there already.
func joinRelayed(t testing.TB, server *servers.Redis, here *redislock.Store, n int) *relayed {
	t.Helper()
	r := &relayed{TB: t, server: server, here: here, there: dial(t, server.Addr(), "guard=0"), rider: make(chan error, 1)}
	r.holder = ask("lock", "holder", time.Minute)
	take(t, r.there, r.holder)
	for i := range n {
		r.queue(fmt.Sprintf("a%d", i+1))
	}
	return r
}

// queue adds somebody here.
func (r *relayed) queue(label string) *waiter {
	r.Helper()
	request := ask("lock", label, time.Minute)
	lost := make(chan error, 1)
	request.Lost = func(err error) { lost <- err }
	w := queue(r, r.here, request)
	r.waiters, r.lost = append(r.waiters, w), append(r.lost, lost)
	return w
}

// start frees the lock, and returns the grant of the first.
func (r *relayed) start() *driver.Grant {
	r.Helper()
	release(r, r.there, r.holder)
	return r.waiters[0].served()
}

// next releases the hold of one of them, and returns the grant of the one behind it.
func (r *relayed) next(i int) *driver.Grant {
	r.Helper()
	release(r, r.here, r.waiters[i].r)
	return r.waiters[i+1].served()
}

// told waits for what one of them is told.
func (r *relayed) told(i int) error {
	r.Helper()
	select {
	case err := <-r.lost[i]:
		return err
	case <-time.After(patience):
		r.Fatalf("%q is not told", r.waiters[i].r.Label)
	}
	return nil
}

// keeps fails the test if one of them was told that it has lost the lock.
func (r *relayed) keeps(i int) {
	r.Helper()
	select {
	case err := <-r.lost[i]:
		r.Errorf("%q is told %v", r.waiters[i].r.Label, err)
	default:
	}
}

// seen waits until the other client sees this: "holders <- waiters".
func (r *relayed) seen(want string) {
	r.Helper()
	until(r, "seen from another client: "+want, func() bool { return shown(r, r.there, "lock") == want })
}

// noted waits until the client knows that the server knows who has the lock. Until then a release goes to the server, which is as good, but
// gives another token.
func (r *relayed) noted() {
	r.Helper()
	until(r, "the server was told", func() bool { _, _, passed := r.here.Left(); return passed == 0 })
}

// breaks ends a hold from the other client.
func (r *relayed) breaks(token uint64, now bool) error {
	return r.there.Break(inTime(r), &driver.BreakRequest{Name: "lock", Mode: driver.Exclusive, Token: token, Now: now, By: "operator"})
}

// over: nothing is left in the server, nor in the clients.
func (r *relayed) over() {
	r.Helper()
	allOver(r, r.server, r.here, r.there)
}

// allOver waits until the server has no key but the store's: a token of a relay may be ahead of the clock, and a tombstone stays for a TTL.
func allOver(t testing.TB, server *servers.Redis, clients ...*redislock.Store) {
	t.Helper()
	until(t, "no key is left", func() bool { return len(command(t, server, "KEYS", "*").([]any)) == 1 })
	for i, s := range clients {
		turns, parties := s.Known()
		lines, relays, passed := s.Left()
		if turns+parties+lines+relays+passed != 0 {
			t.Errorf("client %d still has %d turns, %d parties, %d lines, %d relays, %d passed on", i, turns, parties, lines, relays, passed)
		}
	}
}

// Waiters of two clients are served in the order in which they came, whoever passes the lock on; and tokens rise.
func TestRelayKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"hhtht", "hhhhhh", "thhth", "ththth", "tthhtthh"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			r := newRelayed(t, 0)
			var all []*waiter
			for i, where := range order {
				s := map[rune]*redislock.Store{'h': r.here, 't': r.there}[where]
				all = append(all, queue(t, s, ask("lock", fmt.Sprintf("%c%d", where, i), time.Minute)))
			}
			release(t, r.there, r.holder)
			var last uint64
			passed := 0
			for i, w := range all {
				grant := w.served()
				for _, later := range all[i+1:] {
					later.waits()
				}
				if grant.Token == last+1 {
					passed++
				}
				if grant.Token <= last || grant.Token == last+1 && order[i] != order[i-1] {
					t.Errorf("%q has token %d after %d", w.r.Label, grant.Token, last)
				}
				if i > 0 && all[i-1].granted.Sub(w.granted) > 0 {
					t.Errorf("%q is served before the one in front of it", w.r.Label)
				}
				last = grant.Token
				release(t, w.s, w.r)
			}
			if want := strings.Contains(order, "hh"); passed > 0 != want {
				t.Errorf("passed on %d times", passed)
			}
			r.over()
		})
	}
}

// Who gives up in the middle of the row is passed by, and leaves nothing behind; also the last one, and all of them.
func TestRelayWithoutThoseWhoGiveUp(t *testing.T) {
	t.Parallel()
	for _, gone := range [][]int{{1}, {1, 2}, {3}, {1, 3}, {1, 2, 3}} {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			t.Parallel()
			r := newRelayed(t, 4)
			last := r.start().Token
			for _, i := range gone {
				w := r.waiters[i]
				w.ends()
				<-w.done
				if !errors.Is(w.err, context.Canceled) {
					t.Fatalf("%q: %v, %v", w.r.Label, w.grant, w.err)
				}
				release(t, r.here, w.r)
			}
			release(t, r.here, r.waiters[0].r)
			for i := 1; i < 4; i++ {
				if slices.Contains(gone, i) {
					continue
				}
				token := r.waiters[i].served().Token
				if token <= last {
					t.Errorf("token %d after %d", token, last)
				}
				last = token
				release(t, r.here, r.waiters[i].r)
			}
			r.over()
		})
	}
}

// Who has the lock for longer is seen from another client, with the token that it has, and in front of those who still wait.
func TestRelayIsSeenFromElsewhere(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	first := r.start().Token
	second := r.next(0)
	r.seen("a2 <- a3")
	r.noted()
	info, err := r.there.Inspect(t.Context(), "lock", driver.Exclusive)
	if err != nil || info.Holders[0].Token != second.Token || second.Token != first+1 {
		t.Errorf("shown %+v, %v; its token is %d, after %d", info, err, second.Token, first)
	}
	if third := r.next(1); third.Token != first+2 { // what was told does not end the relay
		t.Errorf("token %d after %d", third.Token, second.Token)
	}
	if got := shown(t, r.here, "lock"); got != "a3 <- " { // at once: the client itself tells before it looks
		t.Errorf("seen by itself: %s", got)
	}
	if left, err := r.waiters[2].grant.Lease.Renew(t.Context(), time.Minute); err != nil || left < 59*time.Second {
		t.Errorf("renewed: %v, %v", left, err)
	}
	release(t, r.here, r.waiters[2].r)
	r.over()
}

// A hold of a relay that is broken from elsewhere is told so, and not passed on by its client: whether the lock came to it by the server or by
// the one before it.
func TestRelayBroken(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		for _, at := range []int{0, 1} {
			t.Run(fmt.Sprintf("now=%v,at=%d", now, at), func(t *testing.T) {
				t.Parallel()
				r := newRelayed(t, 3)
				grant := r.start()
				if at == 1 {
					grant = r.next(0)
				}
				r.seen(fmt.Sprintf("a%d <- %s", at+1, strings.Join([]string{"a2", "a3"}[at:], ", ")))
				r.noted()
				if err := r.breaks(grant.Token, now); err != nil {
					t.Fatal(err)
				}
				var broken *driver.Broken
				if err := r.told(at); !errors.As(err, &broken) || broken.Now != now || broken.By != "operator" {
					t.Errorf("told %v", err)
				}
				if _, err := grant.Lease.Renew(t.Context(), time.Minute); !errors.Is(err, driver.ErrBroken) {
					t.Errorf("renewing it: %v", err)
				}
				after := r.waiters[at+1]
				if now {
					after.served()
				} else {
					after.waits()
				}
				if err := r.here.Release(t.Context(), r.waiters[at].r); (err == nil) == now || now && !errors.Is(err, driver.ErrGone) {
					t.Errorf("releasing it: %v", err)
				}
				if token := after.served().Token; token <= grant.Token+furtherTokens-1 {
					t.Errorf("token %d after %d: it was passed on", token, grant.Token)
				}
				for i := at + 1; i < 3; i++ {
					r.waiters[i].served()
					release(t, r.here, r.waiters[i].r)
				}
				command(t, r.server, "DEL", "holdfast:lock:{lock}") // the tombstone of what was broken
				r.over()
			})
		}
	}
}

// A gentle break of one that has passed the lock on, which the server may not know yet, does nothing to those behind it.
func TestRelayBrokenGentlyTooLate(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	first := r.start()
	r.next(0)
	if err := r.breaks(first.Token, false); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Fatal(err)
	}
	r.seen("a2 <- a3")
	if left, err := r.waiters[1].grant.Lease.Renew(t.Context(), time.Minute); err != nil {
		t.Errorf("renewed: %v, %v", left, err)
	}
	r.keeps(1)
	r.next(1)
	r.keeps(2)
	release(t, r.here, r.waiters[2].r)
	r.over()
}

// After FLUSHALL nobody knows of the hold. The relay may pass it on once more; who gets it is told soon, and the others are served anew.
func TestRelayAfterFlush(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	r.start()
	command(t, r.server, "FLUSHALL")
	release(t, r.here, r.waiters[0].r)
	second := r.waiters[1].served()
	since := time.Now()
	if err := r.told(1); !errors.Is(err, driver.ErrGone) {
		t.Errorf("told %v", err)
	}
	if took := time.Since(since); took > time.Second {
		t.Errorf("told after %v", took)
	}
	if err := r.here.Release(t.Context(), r.waiters[1].r); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Error(err)
	}
	if token := r.waiters[2].served().Token; token <= second.Token {
		t.Errorf("token %d after %d", token, second.Token)
	}
	release(t, r.here, r.waiters[2].r)
	command(t, r.server, "DEL", "holdfast:lock:{lock}") // the tombstone of the second
	r.over()
}

// The library is flushed while a relay runs: nothing is lost by it.
func TestRelayAfterFunctionFlush(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 4)
	last := r.start().Token
	for i := range 3 {
		command(t, r.server, "FUNCTION", "FLUSH")
		token := r.next(i).Token
		if token <= last {
			t.Errorf("token %d after %d", token, last)
		}
		last = token
		r.keeps(i)
	}
	r.seen("a4 <- ")
	release(t, r.here, r.waiters[3].r)
	next := ask("lock", "next", time.Minute)
	if token := take(t, r.there, next).Token; token <= last {
		t.Errorf("token %d after %d", token, last)
	}
	release(t, r.there, next)
	r.over()
}

// A client that is closed lets go of what came to it by a relay, and of the places of those behind: others are served at once.
func TestRelayEndsByClose(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	here, there := dial(t, server.Addr(), "guard=0"), dial(t, server.Addr(), "guard=0")
	locks := holdfast.New(here, holdfast.TTL(time.Minute))
	holder := ask("lock", "holder", time.Minute)
	take(t, there, holder)
	holds := make(chan *holdfast.Hold, 3)
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			hold, err := locks.Mutex("lock").Lock(t.Context())
			if err == nil {
				holds <- hold
			}
		})
		until(t, "it waits", func() bool { return len(waiters(t, there, "lock")) == i+1 })
	}
	last := queue(t, there, ask("lock", "last", time.Minute))
	release(t, there, holder)
	first := <-holds
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if second := <-holds; second.Token() != first.Token()+1 {
		t.Errorf("token %d after %d", second.Token(), first.Token())
	}
	since := time.Now()
	if err := locks.Close(); err != nil {
		t.Logf("closing: %v", err)
	}
	group.Wait()
	last.served()
	if took := time.Since(since); took > slow {
		t.Errorf("served %v after the other client was closed", took)
	}
	release(t, there, last.r)
	until(t, "nothing is shown", func() bool { return shown(t, there, "lock") == " <- " })
	if lines, relays, passed := here.Left(); lines+relays+passed != 0 {
		t.Errorf("the closed client still has %d lines, %d relays, %d passed on", lines, relays, passed)
	}
}
