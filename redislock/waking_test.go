package redislock_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/redislock"
)

// checks is how often a waiter asks by itself at the latest, though nothing was heard. With the time to claim a grant that was lost it
// is what a lost message can cost; slow is what a busy machine may add.
const (
	checks = 4 * time.Second
	slow   = 6 * time.Second
)

// aGrant is the message that somebody has the lock, and ours every message but those that a client sends to itself.
func aGrant(text string) bool { return strings.HasPrefix(text, "g ") }
func ours(text string) bool   { return !strings.Contains(text, "are you there") }

// once loses the first message of a kind.
func once(which func(string) bool) func(string) bool {
	lost := false
	return func(text string) bool {
		if lost || !which(text) {
			return false
		}
		lost = true
		return true
	}
}

// A lost message costs a few seconds at most. No TTL here is shorter than a minute: nobody is served because one has run out.
func TestLostMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		lost    func(text string) bool
		waiters int
	}{
		{"the grant of the only waiter", once(aGrant), 1},
		{"the grant of the first of three", once(aGrant), 3},
		{"the hint to the second", once(func(text string) bool { return strings.HasPrefix(text, "n ") }), 3},
		{"all of ours, for ever", ours, 2},
		{"all, for ever", func(string) bool { return true }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			messages := newGap(t, server.Addr())
			direct, deaf := dial(t, server.Addr(), "guard=0"), dial(t, messages.addr(), "guard=0")
			holder := ask("lock", "holder", time.Minute)
			token := take(t, direct, holder).Token
			var all []*waiter
			for range c.waiters {
				all = append(all, queue(t, deaf, ask("lock", "waiter", time.Minute)))
			}
			messages.lose(c.lost)
			since := direct.Clock().Now()
			release(t, direct, holder)
			for len(all) > 0 {
				var w *waiter
				w, all = anyServed(t, all)
				if took := w.granted.Sub(since); took > checks+redislock.DefaultClaim+slow {
					t.Errorf("served after %v", took)
				}
				if w.grant.Token <= token {
					t.Errorf("token %d after %d", w.grant.Token, token)
				}
				token, since = w.grant.Token, direct.Clock().Now()
				release(t, deaf, w.r)
			}
			if len(messages.losses()) == 0 {
				t.Error("no message was lost")
			}
			nothingLeft(t, server, direct, deaf)
		})
	}
}

// anyServed waits until one of them is served, and returns the others: a lost message can cost a place in the queue.
func anyServed(t testing.TB, all []*waiter) (first *waiter, others []*waiter) {
	t.Helper()
	until(t, "one of the waiters is served", func() bool {
		for i, w := range all {
			select {
			case <-w.done:
				first, others = w, slices.Delete(slices.Clone(all), i, i+1)
				return true
			default:
			}
		}
		return false
	})
	first.served()
	return first, others
}

// A subscription that is half-open, so that the server believes in it and nothing arrives, is noticed and replaced; and whoever waits is
// served, meanwhile and afterwards, within a few seconds.
func TestHalfOpenSubscription(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	messages := newGap(t, server.Addr())
	direct, deaf := dial(t, server.Addr(), "guard=0"), dial(t, messages.addr(), "guard=0")
	holder := ask("lock", "holder", time.Minute)
	take(t, direct, holder)
	first := queue(t, deaf, ask("lock", "first", time.Minute))
	second := queue(t, deaf, ask("lock", "second", time.Minute))
	if n := messages.silence(); n != 1 {
		t.Fatalf("the client has %d subscriptions", n)
	}
	since := direct.Clock().Now()
	release(t, direct, holder)
	for all := []*waiter{first, second}; len(all) > 0; {
		var w *waiter
		w, all = anyServed(t, all)
		if took := w.granted.Sub(since); took > checks+redislock.DefaultClaim+slow {
			t.Errorf("%q is served after %v", w.r.Label, took)
		}
		since = direct.Clock().Now()
		release(t, deaf, w.r)
	}
	until(t, "a new subscription", func() bool { return messages.silence() == 2 })
	nothingLeft(t, server, direct, deaf)
}

// However many wait, and for whatever, a client has one subscription and one other connection. When all have been served or have given
// up, it remembers nothing of them.
func TestOneSubscription(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	a, b := dial(t, server.Addr(), "guard=0"), dial(t, server.Addr(), "guard=0")
	var held []*driver.Request
	var all []*waiter
	for i := range 20 {
		held = append(held, ask("lock"+strconv.Itoa(i), "holder", time.Minute))
		take(t, a, held[i])
		for range 5 {
			all = append(all, queue(t, a, ask(held[i].Name, "a", time.Minute)), queue(t, b, ask(held[i].Name, "b", time.Minute)))
		}
	}
	listening(t, server, 2)
	if list := command(t, server, "CLIENT", "LIST").(string); strings.Count(list, " ssub=1 ") != 2 || strings.Count(list, "\n") != 5 {
		t.Errorf("the connections of two clients, and one of the test's:\n%s", list)
	}
	if turns, parties := b.Known(); turns != 100 || parties != 100 {
		t.Errorf("the client knows %d attempts and %d calls of the 100 that wait", turns, parties)
	}
	for _, w := range all {
		w.ends()
		<-w.done
		if w.err == nil {
			t.Fatalf("%q was served", w.r.Label)
		}
		if s := map[string]*redislock.Store{"a": a, "b": b}[w.r.Label]; s.Release(t.Context(), w.r) != nil {
			t.Fatalf("%q had no place to give up", w.r.Label)
		}
	}
	for _, r := range held {
		release(t, a, r)
	}
	nothingLeft(t, server, a, b)
}

// While a client is cut off the lock is passed on to others: nobody can tell it of a grant. As soon as it hears again it asks, and does
// not wait until it would have asked anyway.
func TestAsksAfterReconnect(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	proxy, err := netfault.New(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	direct, linked := dial(t, server.Addr(), "guard=0"), watch(t, proxy.Addr(), "0")
	holder := ask("lock", "holder", time.Minute)
	take(t, direct, holder)
	asked := time.Now()
	waiter := linked.lock("cut-off", nil)
	until(t, "it waits", func() bool { return shown(t, direct, "lock") == "holder <- cut-off" })
	proxy.Refuse()
	proxy.Cut()
	listening(t, server, 1)
	release(t, direct, holder)
	if now := shown(t, direct, "lock"); now != " <- " {
		t.Errorf("after the release: %s", now)
	}
	proxy.Accept()
	hold := waiter.granted(t)
	if took := time.Since(asked); took > checks*3/4 { // nobody asks by himself before that
		t.Errorf("served %v after it had asked", took)
	}
	if err := hold.Unlock(); err != nil {
		t.Errorf("unlocking: %v", err)
	}
}
