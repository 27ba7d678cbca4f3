package memlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A diary collects what Waiting is told.
type diary struct {
	mu      sync.Mutex
	entries []driver.Progress
	times   []time.Time
}

func (d *diary) tell(p driver.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, p)
	d.times = append(d.times, time.Now())
}

// last returns how often it was told, and the last entry.
func (d *diary) last() (int, driver.Progress) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.entries) == 0 {
		return 0, driver.Progress{}
	}
	return len(d.entries), d.entries[len(d.entries)-1]
}

func TestWaitingIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var a, b diary
		first := ask("x", driver.Exclusive, label("first"), lasting(time.Minute))
		take(t, st, first)
		one := queue(t, st, ask("x", driver.Exclusive, label("one"), telling(a.tell)))
		n, p := a.last()
		equal(t, "told at once", n, 1)
		equal(t, "place", p.Place, 1)
		equal(t, "holder", p.Holders[0].Label, "first")
		queue(t, st, ask("x", driver.Exclusive))
		time.Sleep(500 * time.Millisecond)
		three := queue(t, st, ask("x", driver.Exclusive, telling(b.tell)))
		_, p = b.last()
		equal(t, "place", p.Place, 3)

		time.Sleep(9500 * time.Millisecond)
		n, p = a.last()
		equal(t, "told once a second", n, 11)
		equal(t, "held", p.Holders[0].Held, 10*time.Second)
		for i, at := range a.times {
			equal(t, "when", at.Sub(a.times[0]), time.Duration(i)*time.Second)
		}

		release(t, st, first)
		one.granted(t)
		time.Sleep(time.Second)
		told, _ := a.last()
		equal(t, "told after its grant", told, n)
		_, p = b.last()
		equal(t, "place", p.Place, 2)
		equal(t, "holder", p.Holders[0].Label, "one")
		three.waits(t)
	})
}

// Nobody is told who did not wait, and nothing ticks for those who do not want to know.
func TestNobodyIsToldInVain(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var d diary
		first := ask("x", driver.Exclusive, lasting(time.Hour), telling(d.tell))
		take(t, st, first)
		refused(t, st, ask("x", driver.Exclusive, telling(d.tell)))
		queue(t, st, ask("x", driver.Exclusive))
		before := st.Server().Alarms()
		time.Sleep(time.Hour - 1)
		n, _ := d.last()
		equal(t, "told", n, 0)
		equal(t, "alarms", st.Server().Alarms(), before)
	})
}

// The ticking ends with the last one who wants to know, and begins again with the next.
func TestTickingEnds(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive, lasting(3*time.Hour)))
		for range 2 {
			var d diary
			ctx, cancel := context.WithTimeout(background, 2500*time.Millisecond)
			curious := begin(ctx, t, st, ask("x", driver.Exclusive, telling(d.tell)))
			time.Sleep(time.Minute)
			curious.failed(t, context.DeadlineExceeded)
			cancel()
			n, _ := d.last()
			equal(t, "told", n, 3)
			before := st.Server().Alarms()
			time.Sleep(time.Hour)
			equal(t, "alarms of an hour", st.Server().Alarms(), before)
		}
	})
}

// It is told to every call of an attempt, and to one that comes back.
func TestEveryCallIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive, lasting(time.Minute)))
		r := ask("x", driver.Exclusive, lasting(time.Minute))
		waitsAway(t, st, r)
		queue(t, st, ask("x", driver.Exclusive))
		var a, b diary
		one, two := *r, *r
		one.Waiting, two.Waiting = a.tell, b.tell
		queue(t, st, &one)
		queue(t, st, &two)
		_, p := a.last()
		equal(t, "place of one that has come back", p.Place, 1)
		time.Sleep(time.Second)
		for _, d := range []*diary{&a, &b} {
			n, p := d.last()
			equal(t, "told", n, 2)
			equal(t, "place", p.Place, 1)
		}
	})
}

// Waiting may use the store: no mutex is held. Nor is one when Lost is called.
func TestCallbacksMayAsk(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		var asked atomic.Int64
		look := func() {
			asked.Add(1)
			if _, err := st.Inspect(background, "x", driver.Exclusive); err != nil {
				t.Error(err)
			}
		}
		take(t, st, ask("x", driver.Exclusive, losing(func(error) { look() })))
		next := queue(t, st, ask("x", driver.Exclusive, telling(func(driver.Progress) { look() })))
		time.Sleep(ttl)
		next.granted(t)
		if asked.Load() < 11 {
			t.Errorf("called %d times", asked.Load())
		}
	})
}

// Waiting is never called once Acquire has returned, even if it is slow to look at its news.
func TestNotToldAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		first := ask("x", driver.Exclusive, lasting(time.Minute))
		take(t, st, first)
		told := 0
		gate, open := context.WithCancel(background)
		t.Cleanup(open)
		second := queue(t, st, ask("x", driver.Exclusive, telling(func(driver.Progress) {
			told++
			<-gate.Done()
		})))
		time.Sleep(5 * time.Second) // several seconds' news, of which it sees one
		release(t, st, first)
		open()
		second.granted(t)
		if told > 1 {
			t.Errorf("told %d times, although it holds", told)
		}
	})
}
