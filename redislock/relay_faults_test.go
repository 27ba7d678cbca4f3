package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
)

// newLinked is like newRelayed, with a proxy between the client here and the server.
func newLinked(t *testing.T, n int) (*relayed, *netfault.Proxy) {
	t.Helper()
	server := startRedis(t)
	proxy, err := netfault.New(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return joinRelayed(t, server, dial(t, proxy.Addr(), "guard=0"), n), proxy
}

// served reports whether a waiter is.
func served(w *waiter) bool {
	select {
	case <-w.done:
		return w.err == nil
	default:
		return false
	}
}

// lastTwo: the second of three has the lock, and then the third.
func (r *relayed) lastTwo() {
	r.Helper()
	r.keeps(1)
	r.waiters[2].waits()
	letGo(r, r.here, r.waiters[1].r)
	r.waiters[2].served()
	letGo(r, r.here, r.waiters[2].r)
}

// The first is broken at once after it has passed the lock on, before the server could be told. The renewal that tells it arrives after the
// break, and is answered as if nothing had happened. The lock was lost all the same: nobody behind it may begin.
func TestRelayBrokenBeforeItIsTold(t *testing.T) {
	t.Parallel()
	r, proxy := newLinked(t, 3)
	first := r.start()
	proxy.HoldRequests()
	r.next(0)
	if err := proxy.AwaitHeld(inTime(t), netfault.Requests, 150); err != nil { // the renewal of the second
		t.Fatal(err)
	}
	if err := r.breaks(first.Token, true); err != nil {
		t.Fatal(err)
	}
	if err := r.told(1); !errors.Is(err, driver.ErrGone) {
		t.Fatalf("the second is told %v", err)
	}
	proxy.Resume()
	shown(t, r.here, "lock") // asks behind that renewal, and has its answer
	letGo(t, r.here, r.waiters[1].r)
	if token := r.waiters[2].served().Token; token <= first.Token+furtherTokens {
		t.Errorf("token %d after %d: what was lost was passed on", token, first.Token)
	}
	shown(t, r.here, "lock") // whoever has got something tells the server
	r.keeps(2)
	letGo(t, r.here, r.waiters[2].r)
}

// The message of a grant and that of its break arrive together: the waiter may not have looked yet when it is told that it has lost the
// lock. It must not pass it on.
func TestRelayBrokenBeforeItBegins(t *testing.T) {
	t.Parallel()
	r, proxy := newLinked(t, 0)
	release(t, r.there, r.holder)
	for range 10 { // whether the waiter looks between the two is not in our hands
		r = joinRelayed(t, r.server, r.here, 3)
		proxy.HoldReplies()
		release(t, r.there, r.holder)
		info, err := r.there.Inspect(t.Context(), "lock", driver.Exclusive)
		if err != nil || len(info.Holders) != 1 {
			t.Fatalf("%+v, %v", info, err)
		}
		if err := r.breaks(info.Holders[0].Token, true); err != nil {
			t.Fatal(err)
		}
		proxy.Resume()
		r.waiters[0].served()
		r.told(0)
		r.waiters[1].served() // by the server
		letGo(t, r.here, r.waiters[0].r)
		shown(t, r.here, "lock") // whoever has got something tells the server
		r.lastTwo()
	}
}

// Release of an attempt that has passed the lock on, once more, frees nothing: it is another's by now (R3).
func TestRelayReleasedTwice(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	r.start()
	r.next(0)
	if err := r.here.Release(t.Context(), r.waiters[0].r); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Fatal(err)
	}
	r.seen("a2 <- a3")
	if token := infoOf(r).Token; token != r.waiters[1].grant.Token {
		t.Errorf("the server has given the lock anew: token %d, the holder's is %d", token, r.waiters[1].grant.Token)
	}
	r.next(1)
	shown(t, r.here, "lock") // whoever has got something tells the server
	r.keeps(2)
	letGo(t, r.here, r.waiters[2].r)
}

// infoOf is the holder, as the server knows it.
func infoOf(r *relayed) driver.Holder {
	r.Helper()
	info, err := r.there.Inspect(r.Context(), "lock", driver.Exclusive)
	if err != nil || len(info.Holders) != 1 {
		r.Fatalf("inspecting: %+v, %v", info, err)
	}
	return info.Holders[0]
}

// A lease of an attempt that has passed the lock on is gone (L2).
func TestRelayRenewedAfterItsEnd(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 2)
	first := r.start()
	r.next(0)
	if left, err := first.Lease.Renew(t.Context(), time.Minute); !errors.Is(err, driver.ErrGone) {
		t.Errorf("renewed after its release: %v, %v", left, err)
	}
	letGo(t, r.here, r.waiters[1].r)
}

// Somebody who has a place is not passed by for one that came later, also while a second call for the same attempt is under way (A1).
func TestRelayPassesNobodyBy(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	again := *r.waiters[1].r
	repeated := queue(t, r.here, &again)
	r.start()
	release(t, r.here, r.waiters[0].r)
	until(t, "one of them is served", func() bool { return served(r.waiters[1]) || served(repeated) || served(r.waiters[2]) })
	if served(r.waiters[2]) {
		t.Error("who came third is served before the second")
	}
}

// An attempt whose call of Acquire has ended without an answer, and was repeated, has its place from the first call. Release gives it up,
// also when the repetition has not asked for anything yet.
func TestRelayRepetitionThatRides(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	w := r.queue("repeated")
	w.ends()
	<-w.done
	r.seen("holder <- a1, a2, a3, repeated")
	r.here.HoldBack(300 * time.Millisecond)
	r.start()
	r.next(0)
	before, _ := r.here.Known()
	rides := begin(t, r.here, ask("lock", "newcomer", time.Minute)) // it will ask, for those that come now
	until(t, "it has begun", func() bool { turns, _ := r.here.Known(); return turns == before+1 })
	waits := make(chan struct{}, 1)
	w.r.Waiting = func(driver.Progress) { waits <- struct{}{} }
	again := begin(t, r.here, w.r)
	until(t, "the repetition has begun", func() bool { turns, _ := r.here.Known(); return turns == before+2 || len(waits) > 0 })
	if err := r.here.Release(t.Context(), w.r); err != nil {
		t.Logf("released: %v", err)
	}
	<-again.done
	r.seen("a2 <- a3, newcomer")
	rides.waits()
}

// withRiders lets a relay run until two newcomers have come of which the second shares the place of the first, which is confirmed.
func (r *relayed) withRiders(first *driver.Request) (f, rider *waiter) {
	r.Helper()
	r.here.HoldBack(300 * time.Millisecond)
	r.start()
	r.next(0)
	before, _ := r.here.Known()
	waits := make(chan struct{}, 1)
	first.Waiting = func(driver.Progress) {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
	f = begin(r, r.here, first)
	until(r, "the first has begun", func() bool { turns, _ := r.here.Known(); return turns == before+1 || len(waits) > 0 })
	second := ask("lock", "rider", time.Minute)
	second.Lost = func(err error) { r.rider <- err }
	rider = begin(r, r.here, second)
	select {
	case <-waits:
	case <-time.After(patience):
		r.Fatal("the first newcomer has no place")
	}
	return f, rider
}

// An attempt that has a place already, and asks for it again, does not take others along to it: somebody may have come between (FIFO).
func TestRelayRidersOfAnOldPlace(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 2)
	old := r.queue("old")
	old.ends()
	<-old.done
	other := queue(t, r.there, ask("lock", "other", time.Minute))
	r.queue("behind") // so that newcomers know that others of their client wait
	first, rider := r.withRiders(old.r)
	release(t, r.here, r.waiters[1].r)
	first.served()
	release(t, r.here, first.r)
	until(t, "the next is served", func() bool { return served(other) || served(rider) })
	if served(rider) {
		t.Error("who came last is served before the one who had a place when it came")
	}
}

// The same of one that has passed the lock on to somebody of whom the server does not know: the lock must not become another's.
func TestRelayReleasedTwiceBesideARider(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	first, rider := r.withRiders(ask("lock", "first", time.Minute))
	other := queue(t, r.there, ask("lock", "other", time.Minute))
	r.next(1)
	release(t, r.here, r.waiters[2].r)
	first.served()
	release(t, r.here, first.r)
	rider.served()
	if err := r.here.Release(t.Context(), first.r); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Fatal(err)
	}
	if got := shown(t, r.there, "lock"); served(other) || got == "other <- " {
		t.Errorf("another has the lock beside the rider: %s", got)
	}
}

// A break at once of one that has passed the lock on to somebody of whom the server does not know yet: the server frees the lock, as it was
// told to, and whoever has it is told that it has lost it.
func TestRelayBrokenAtOnceTooLate(t *testing.T) {
	t.Parallel()
	r, proxy := newLinked(t, 3)
	first, rider := r.withRiders(ask("lock", "first", time.Minute))
	other := queue(t, r.there, ask("lock", "other", time.Minute))
	r.next(1)
	release(t, r.here, r.waiters[2].r)
	token := first.served().Token
	proxy.HoldRequests()
	release(t, r.here, first.r)
	if got := rider.served().Token; got != token+1 {
		t.Fatalf("token %d after %d: it was no rider", got, token)
	}
	if err := r.breaks(token, true); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Fatal(err)
	}
	select {
	case err := <-r.rider:
		if !errors.Is(err, driver.ErrGone) {
			t.Errorf("the rider is told %v", err)
		}
	case <-time.After(patience):
		t.Error("the rider is not told")
	}
	if next := other.served().Token; next <= token+furtherTokens {
		t.Errorf("token %d after %d: no fence can tell the rider's from it", next, token)
	}
	proxy.Resume()
}

// pair starts a Redis with a client through a proxy that loses messages, and one beside it.
func pair(t *testing.T) (*relayed, *gap) {
	t.Helper()
	server := startRedis(t)
	messages := newGap(t, server.Addr())
	return joinRelayed(t, server, dial(t, messages.addr(), "guard=0"), 3), messages
}

// The message of a break is lost. The client finds out when it tells the server who has the lock.
func TestRelayDoesNotHearOfItsBreak(t *testing.T) {
	t.Parallel()
	r, messages := pair(t)
	first := r.start()
	messages.lose(func(text string) bool { return text != "" && text[0] == 'b' })
	if err := r.breaks(first.Token, true); err != nil {
		t.Fatal(err)
	}
	until(t, "the message is lost", func() bool { return len(messages.losses()) == 1 })
	second := r.waiters[1].served() // by the server, which does not wait for the first
	if second.Token <= first.Token+furtherTokens {
		t.Errorf("token %d after %d", second.Token, first.Token)
	}
	if err := r.here.Release(t.Context(), r.waiters[0].r); err != nil && !errors.Is(err, driver.ErrGone) {
		t.Error(err)
	}
	r.seen("a2 <- a3")
	r.lastTwo()
}

// Riders, who have no place in the server, give up without a trace, and those who stay are served.
func TestRelayRiders(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	r.here.HoldBack(300 * time.Millisecond)
	last := r.start().Token
	last = max(last, r.next(0).Token)
	var riders []*waiter
	for i := range 20 {
		riders = append(riders, begin(t, r.here, ask("lock", fmt.Sprint("rider", i), time.Minute)))
	}
	until(t, "all have begun", func() bool { turns, _ := r.here.Known(); return turns == 22 })
	for _, w := range riders[:10] {
		w.ends()
		<-w.done
		letGo(t, r.here, w.r)
	}
	if token := r.next(1).Token; token <= last {
		t.Errorf("token %d after %d", token, last)
	}
	last = r.waiters[2].grant.Token
	release(t, r.here, r.waiters[2].r)
	for left := riders[10:]; len(left) > 0; {
		var w *waiter
		w, left = anyServed(t, left)
		if w.grant.Token <= last {
			t.Errorf("token %d after %d", w.grant.Token, last)
		}
		for _, other := range left {
			other.waits()
		}
		last = w.grant.Token
		release(t, r.here, w.r)
	}
	command(t, r.server, "DEL", "holdfast:lock:{lock}") // tombstones of those who asked when they gave up
	r.over()
}

// Connections are killed while a relay runs: everybody is served, one after the other, under rising tokens.
func TestRelayWithoutConnections(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"normal", "pubsub"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			r := joinRelayed(t, server, dial(t, server.Addr(), "guard=0&claim=500ms"), 6)
			release(t, r.there, r.holder)
			var last uint64
			for left := slices.Clone(r.waiters); len(left) > 0; {
				var w *waiter
				w, left = anyServed(t, left)
				for _, other := range left {
					other.waits()
				}
				if w.grant.Token <= last {
					t.Errorf("token %d after %d", w.grant.Token, last)
				}
				last = w.grant.Token
				command(t, server, "CLIENT", "KILL", "TYPE", kind)
				letGo(t, r.here, w.r)
			}
			command(t, server, "DEL", "holdfast:lock:{lock}") // tombstones of requests that were cut off
			r.over()
		})
	}
}

// letGo releases as the core does: again, until there is an answer.
func letGo(t testing.TB, s driver.Store, r *driver.Request) {
	t.Helper()
	until(t, "an answer to the release", func() bool {
		err := s.Release(context.Background(), r)
		return err == nil || driver.Answered(err)
	})
}
