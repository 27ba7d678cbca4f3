package redislock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// A client that is killed leaves 50 waiters in the queue. Whoever releases hands the lock to the first that lives: in the same call,
// so that nobody waits until the dead have let their time to claim it pass.
func TestKilledWaitersArePassedOver(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const params = "guard=0&claim=30s"
	a, b := dial(t, server.Addr(), params), dial(t, server.Addr(), params)
	holder := ask("lock", "holder", time.Minute)
	before := take(t, a, holder)

	crowd := task{URL: "redis://" + server.Addr() + "?" + params, Name: "lock", TTL: time.Minute, Waiters: 50}.start(t)
	crowd.says("waiting")
	alive := queue(t, b, ask("lock", "alive", time.Minute))
	if want := "holder <- " + strings.Repeat("crowd, ", 50) + "alive"; shown(t, a, "lock") != want {
		t.Fatalf("before: %s", shown(t, a, "lock"))
	}
	crowd.kill()
	listening(t, server, 2)

	released := a.Clock().Now()
	release(t, a, holder)
	if now := shown(t, a, "lock"); now != "alive <- " {
		t.Errorf("after the release: %s", now)
	}
	if g := alive.served(); g.Token <= before.Token {
		t.Errorf("token %d after %d", g.Token, before.Token)
	}
	if took := alive.granted.Sub(released); took > 15*time.Second {
		t.Errorf("served %v after the release", took)
	}
	release(t, b, alive.r)
}

// listening waits until the server has that many subscribers: it learns of the end of a process a moment later than its parent.
func listening(t testing.TB, server *servers.Redis, n int) {
	t.Helper()
	until(t, "the number of subscribers", func() bool {
		return len(command(t, server, "PUBSUB", "SHARDCHANNELS").([]any)) == n
	})
}

// A holder that is killed has the lock for its TTL, and not longer: the waiter asks when it runs out, and not only every few seconds.
func TestKilledHolderKeepsItsTTL(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard=0")
	const ttl = time.Second
	holder := task{URL: "redis://" + server.Addr() + "?guard=0", Name: "lock", TTL: ttl}.start(t)
	holder.says("ready")
	asked := s.Clock().Now()
	holder.tell("lock")
	before := holder.says("granted")
	holder.kill()

	w := queue(t, s, ask("lock", "next", time.Minute))
	waits := s.Clock().Now()
	g := w.served()
	if early := w.granted.Sub(asked); early < ttl-driver.Margin(ttl) {
		t.Errorf("served %v after the killed holder asked for %v", early, ttl)
	}
	if took := w.granted.Sub(waits); took > 3*time.Second {
		t.Errorf("served after %v, though the TTL was %v", took, ttl)
	}
	if g.Token <= before.Token {
		t.Errorf("token %d after %d", g.Token, before.Token)
	}
	release(t, s, w.r)
}

// A crowd is many who want one lock, over several clients.
type crowd struct {
	clients []*redislock.Store
	size    int
	waiting atomic.Int64
	done    sync.WaitGroup

	inside  atomic.Int64 // who has the lock right now
	mu      sync.Mutex
	labels  map[uint64]string // by the token that they got
	trouble []error
}

// gather lets everybody ask. They are granted the lock one after the other, and release it at once.
func (c *crowd) gather(ctx context.Context) {
	c.labels = make(map[uint64]string)
	for i := range c.size {
		s, r := c.clients[i%len(c.clients)], ask("lock", strconv.Itoa(i), time.Minute)
		r.Waiting = func() func(driver.Progress) {
			once := sync.OnceFunc(func() { c.waiting.Add(1) })
			return func(driver.Progress) { once() }
		}()
		c.done.Go(func() { c.pass(ctx, s, r) })
	}
}

func (c *crowd) pass(ctx context.Context, s driver.Store, r *driver.Request) {
	grant, err := s.Acquire(ctx, r)
	if err == nil {
		others := c.inside.Add(1) - 1
		c.mu.Lock()
		if before := c.labels[grant.Token]; before != "" || others > 0 {
			c.trouble = append(c.trouble, fmt.Errorf("token %d for %q and for %q, %d others inside", grant.Token, r.Label, before, others))
		}
		c.labels[grant.Token] = r.Label
		c.mu.Unlock()
		c.inside.Add(-1)
		err = s.Release(ctx, r)
	}
	if err != nil {
		c.mu.Lock()
		c.trouble = append(c.trouble, fmt.Errorf("%q: %w", r.Label, err))
		c.mu.Unlock()
	}
}

// order is who was served, by rising tokens.
func (c *crowd) order() (labels []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var tokens []uint64
	for token := range c.labels {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	for _, token := range tokens {
		labels = append(labels, c.labels[token])
	}
	return labels
}

// 10,000 wait for one lock: each gets it once, in the order of the queue, alone, and with a token greater than the one before. Nothing
// is left in the server, nor in the clients.
func TestTenThousandWaiters(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	// A claim that nobody can miss, however busy the machine is: who misses it goes to the end of the queue.
	everybody := &crowd{size: 10_000}
	if testing.Short() {
		everybody.size = 1_000
	}
	for range 4 {
		everybody.clients = append(everybody.clients, dial(t, server.Addr(), "guard=0&claim=30s&timeout=30s"))
	}
	first := everybody.clients[0]
	holder := ask("lock", "holder", time.Minute)
	before := take(t, first, holder)
	memory := heap()
	everybody.gather(t.Context())
	until(t, "everybody waits", func() bool { return everybody.waiting.Load() == int64(everybody.size) })
	queued := waiters(t, first, "lock")
	bounded(t, server, heap()-memory, everybody.size)
	listening(t, server, len(everybody.clients))

	release(t, first, holder)
	everybody.done.Wait()
	for _, err := range everybody.trouble {
		t.Error(err)
	}
	served := everybody.order()
	if !slices.Equal(served, queued) {
		t.Errorf("%d were served, %d waited, and the first %d in the order of the queue", len(served), len(queued), common(served, queued))
	}
	for token := range everybody.labels {
		if token <= before.Token {
			t.Errorf("token %d after %d", token, before.Token)
		}
	}
	nothingLeft(t, server, everybody.clients...)
}

// waiters is who stands in the queue.
func waiters(t testing.TB, s driver.Inspector, name string) (labels []string) {
	t.Helper()
	info, err := s.Inspect(t.Context(), name, driver.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range info.Waiters {
		labels = append(labels, w.Label)
	}
	return labels
}

// common is how long the two are the same.
func common(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// heap is what the program needs, stacks included.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// bounded: a waiter needs some memory, here and in the server, and no more than that.
func bounded(t testing.TB, server *servers.Redis, grown int64, waiters int) {
	t.Helper()
	there := command(t, server, "MEMORY", "USAGE", "holdfast:lock:{lock}", "SAMPLES", "0").(int64) / int64(waiters)
	here := grown / int64(waiters)
	t.Logf("a waiter needs %d bytes in the server and %d in the client", there, here)
	if there > 1<<10 || here > 64<<10 {
		t.Errorf("a waiter needs %d bytes in the server and %d in the client", there, here)
	}
}

// nothingLeft: after the last release the server has no key but the store's, and the clients remember nothing; after Close the server has
// no subscription and no connection of theirs.
func nothingLeft(t testing.TB, server *servers.Redis, clients ...*redislock.Store) {
	t.Helper()
	if keys := command(t, server, "KEYS", "*").([]any); len(keys) != 1 || keys[0] != "holdfast:store" {
		t.Errorf("keys that are left: %v", keys)
	}
	for _, s := range clients {
		if turns, parties := s.Known(); turns != 0 || parties != 0 {
			t.Errorf("the client still knows %d attempts and %d calls", turns, parties)
		}
		s.Close()
	}
	listening(t, server, 0)
	until(t, "the end of the connections", func() bool {
		return strings.Count(command(t, server, "CLIENT", "LIST").(string), "\n") == 1 // our own
	})
}
