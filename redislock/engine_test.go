package redislock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock"
)

// places shows who waits, in order: "b c d".
func places(t testing.TB, s driver.Inspector, name string, mode driver.Mode) string {
	t.Helper()
	info, err := s.Inspect(t.Context(), name, mode)
	if err != nil {
		t.Fatalf("inspecting: %v", err)
	}
	var labels []string
	for _, w := range info.Waiters {
		labels = append(labels, w.Label)
	}
	return strings.Join(labels, " ")
}

// A queue has a bound: who comes too late is refused, and may come again when somebody has left.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	s := dialVariant(t, startRedis(t).Addr(), oldName, []string{"MAX_WAITERS = 20000", "MAX_WAITERS = 3"}, redislock.Guard(0))
	holder := ask("lock", "holder", time.Minute)
	take(t, s, holder)
	var waiters []*waiter
	for i := range 3 {
		waiters = append(waiters, queue(t, s, ask("lock", fmt.Sprint(i), time.Minute)))
	}
	late := ask("lock", "late", time.Minute)
	_, err := s.Acquire(inTime(t), late)
	if !errors.Is(err, redislock.ErrQueueFull) || !driver.Answered(err) || !errors.As(err, new(*driver.Refused)) {
		t.Errorf("the fourth who waits: %v", err)
	}
	if got := places(t, s, "lock", driver.Exclusive); got != "0 1 2" {
		t.Errorf("waiting: %s", got)
	}
	waiters[1].ends()
	release(t, s, waiters[1].r)
	last := queue(t, s, late)
	release(t, s, holder)
	for _, w := range []*waiter{waiters[0], waiters[2], last} {
		w.served()
		release(t, s, w.r)
	}
}

// Of many attempts that were undone before they came the oldest are forgotten.
func TestTombstonesAreBounded(t *testing.T) {
	t.Parallel()
	s := dialVariant(t, startRedis(t).Addr(), oldName, []string{"MAX_TOMBS = 256", "MAX_TOMBS = 4"}, redislock.Guard(0))
	var undone []*driver.Request
	for i := range 7 {
		r := ask("lock", fmt.Sprint(i), time.Minute+time.Duration(i)*time.Second)
		undone = append(undone, r)
		if err := s.Release(t.Context(), r); !errors.Is(err, driver.ErrGone) {
			t.Fatalf("Release of what never came: %v", err)
		}
	}
	for i, r := range undone {
		_, err := tryOnce(t, s, r)
		if forgotten := i < 3; forgotten != (err == nil) || !forgotten && !errors.Is(err, driver.ErrGone) {
			t.Errorf("%d, of which 4 of 7 are remembered: %v", i, err)
		}
		if err == nil {
			release(t, s, r)
		}
	}
}

// A tombstone is for one attempt on one lock: neither others nor the semaphore of the same name are concerned.
func TestTombstonesAreTheirOwn(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=0")
	r := ask("lock", "undone", time.Minute)
	s.Release(t.Context(), r)
	if _, err := tryOnce(t, s, r); !errors.Is(err, driver.ErrGone) {
		t.Errorf("it came after it was undone: %v", err)
	}
	other, semaphore, elsewhere := ask("lock", "other", time.Minute), permits("lock", "permits", 1, 1, time.Minute), ask("elsewhere", "same", time.Minute)
	semaphore.Attempt, elsewhere.Attempt = r.Attempt, r.Attempt
	for _, r := range []*driver.Request{other, semaphore, elsewhere} {
		take(t, s, r)
		release(t, s, r)
	}
	if _, err := tryOnce(t, s, r); !errors.Is(err, driver.ErrGone) {
		t.Errorf("the tombstone has gone with another's hold: %v", err)
	}
}

// Those who leave the queue, wherever they stand, do not change the order of the others, nor what they are told of it.
func TestHolesInTheQueue(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=0")
	holder := ask("lock", "holder", time.Minute)
	take(t, s, holder)
	var waiters []*waiter
	for i := range 12 {
		waiters = append(waiters, queue(t, s, ask("lock", fmt.Sprint(i), time.Minute)))
	}
	for _, i := range []int{4, 0, 1, 5, 11, 10, 7} { // the middle, the head, the tail
		waiters[i].ends()
		release(t, s, waiters[i].r)
	}
	if got := places(t, s, "lock", driver.Exclusive); got != "2 3 6 8 9" {
		t.Fatalf("waiting: %s", got)
	}
	waiters = append(waiters, queue(t, s, ask("lock", "12", time.Minute)))
	previous := holder
	for _, i := range []int{2, 3, 6, 8, 9, 12} {
		release(t, s, previous)
		waiters[i].served()
		previous = waiters[i].r
	}
	release(t, s, previous)
	again := ask("lock", "again", time.Minute) // an empty queue begins anew
	take(t, s, again)
	w := queue(t, s, ask("lock", "next", time.Minute))
	release(t, s, again)
	w.served()
}

// A request for many permits at the head of the queue is not overtaken; when it goes, those behind it are served at once.
func TestBigRequestAtTheHead(t *testing.T) {
	t.Parallel()
	for what, leaves := range map[string]func(t *testing.T, s driver.Store, w *waiter){
		"served": nil,
		"released": func(t *testing.T, s driver.Store, w *waiter) {
			w.ends()
			release(t, s, w.r)
		},
		"asked for without waiting": func(t *testing.T, s driver.Store, w *waiter) {
			w.ends()
			<-w.done
			if _, err := tryOnce(t, s, w.r); !errors.As(err, new(*driver.Held)) {
				t.Errorf("without waiting: %v", err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := dial(t, startRedis(t).Addr(), "guard=0")
			first, second := permits("lock", "first", 2, 4, time.Minute), permits("lock", "second", 1, 4, time.Minute)
			take(t, s, first)
			take(t, s, second)
			big := queue(t, s, permits("lock", "big", 4, 4, time.Minute))
			small := queue(t, s, permits("lock", "small", 1, 4, time.Minute))
			if _, err := tryOnce(t, s, permits("lock", "hasty", 1, 4, time.Minute)); !errors.As(err, new(*driver.Held)) {
				t.Errorf("overtakes: %v", err)
			}
			if leaves != nil {
				leaves(t, s, big)
				small.served()
				return
			}
			release(t, s, first)
			big.waits()
			small.waits()
			release(t, s, second)
			big.served()
			small.waits()
			release(t, s, big.r)
			small.served()
		})
	}
}

// A thousand readers come and go in any order; each ends by itself, and a writer waits for the last.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=0")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var readers []*driver.Request
	var token uint64
	for i := range 1000 {
		r := reader("lock", fmt.Sprint(i), time.Minute)
		grant := take(t, s, r)
		if token == 0 {
			token = grant.Token
		}
		if grant.Token != token {
			t.Fatalf("reader %d has the token %d, the others %d", i, grant.Token, token)
		}
		readers = append(readers, r)
	}
	writer := queue(t, s, ask("lock", "writer", time.Minute))
	behind := queue(t, s, reader("lock", "behind", time.Minute))
	random.Shuffle(len(readers), func(i, j int) { readers[i], readers[j] = readers[j], readers[i] })
	for i, r := range readers {
		if i%250 == 0 {
			holds(t, s, readers[i:])
		}
		writer.waits()
		release(t, s, r)
	}
	if got := writer.served(); got.Token <= token {
		t.Errorf("the writer's token %d follows %d", got.Token, token)
	}
	behind.waits()
	release(t, s, writer.r)
	behind.served()
}

// holds fails the test unless exactly these hold the lock.
func holds(t *testing.T, s driver.Inspector, want []*driver.Request) {
	t.Helper()
	info, err := s.Inspect(t.Context(), "lock", driver.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	var got, labels []string
	for _, h := range info.Holders {
		got = append(got, h.Label)
	}
	for _, r := range want {
		labels = append(labels, r.Label)
	}
	slices.Sort(got)
	slices.Sort(labels)
	if !slices.Equal(got, labels) {
		t.Fatalf("%d hold, want %d", len(got), len(labels))
	}
}

// Readers that crash end one by one, each when its own time is over; a writer that waits is served after the last, and not later.
func TestReadersRunOut(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=0")
	var last driver.Instant
	for i := range 5 {
		ttl := time.Duration(i+1) * 150 * time.Millisecond
		asked := s.Clock().Now()
		take(t, s, reader("lock", fmt.Sprint(i), ttl))
		last = asked.Add(ttl)
	}
	writer := queue(t, s, ask("lock", "writer", time.Minute))
	writer.served()
	if writer.granted.Before(last.Add(-time.Millisecond)) {
		t.Errorf("the writer is served %v before the last reader has ended", last.Sub(writer.granted))
	}
	if late := writer.granted.Sub(last); late > 2*time.Second { // who does not know when looks after 3 s at the earliest
		t.Errorf("the writer is served %v after the last reader has ended", late)
	}
}

// A library without memory gives tokens above the stored ceiling, however far ahead of the clock that is; and a name remembers its own.
func TestTokensAheadOfTheClock(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard=0")
	take(t, s, ask("first", "holder", time.Minute))
	const ahead = 9_000_000_000_000_000 // of all clocks, and a double still knows it from its neighbours
	command(t, server, "HSET", "holdfast:store", "ceiling", fmt.Sprint(ahead))
	command(t, server, "FUNCTION", "FLUSH")
	var last uint64 = ahead
	for i := range 20 {
		r := ask("lock", fmt.Sprint(i), time.Minute)
		r.Reserve = uint32(i % 3)
		grant := take(t, s, r)
		if grant.Token <= last {
			t.Fatalf("grant %d has the token %d, after %d", i, grant.Token, last)
		}
		last = grant.Token + grant.Spare
		release(t, s, r)
	}
}
