package driver

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestInstantNeverOverflows(t *testing.T) {
	const early, late = Instant(math.MinInt64), Never - 1
	for _, c := range []struct {
		i    Instant
		d    time.Duration
		want Instant
	}{
		{5, 3, 8},
		{5, -8, -3},
		{5, 0, 5},
		{Never, -time.Hour, Never},
		{Never, 0, Never},
		{late, 1, Never},
		{late, 2, Never},
		{late, math.MaxInt64, Never},
		{0, math.MaxInt64, Never},
		{-1, math.MaxInt64, late},
		{early, -1, early},
		{early + 5, -6, early},
		{early + 5, math.MinInt64, early},
		{0, math.MinInt64, early},
	} {
		if got := c.i.Add(c.d); got != c.want {
			t.Errorf("Instant(%d).Add(%d) = %d, want %d", c.i, c.d, got, c.want)
		}
	}
	for _, c := range []struct {
		i, j Instant
		want time.Duration
	}{
		{8, 5, 3},
		{5, 8, -3},
		{Never, 5, Forever},
		{Never, -5, Forever},
		{Never, Never, 0},
		{late, -5, Forever},
		{-5, late, math.MinInt64},
		{early, 1, math.MinInt64},
	} {
		if got := c.i.Sub(c.j); got != c.want {
			t.Errorf("Instant(%d).Sub(%d) = %d, want %d", c.i, c.j, got, c.want)
		}
	}
	if !Instant(1).Before(2) || Instant(2).Before(2) || !late.Before(Never) {
		t.Error("Before is not the order of the numbers")
	}
}

func TestMargin(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		0:                      2 * time.Millisecond,
		100 * time.Millisecond: 2 * time.Millisecond,
		200 * time.Millisecond: 2 * time.Millisecond,
		201 * time.Millisecond: 2010 * time.Microsecond,
		10 * time.Second:       100 * time.Millisecond,
		24 * time.Hour:         864 * time.Second,
	} {
		if got := Margin(ttl); got != want {
			t.Errorf("Margin(%v) = %v, want %v", ttl, got, want)
		}
	}
}

func TestLocalKeepsTheTimeOfItsBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := Local()
		if now := clock.Now(); now != 0 {
			t.Errorf("a new clock shows %d, want 0", now)
		}
		time.Sleep(time.Minute)
		if now := clock.Now(); now != Instant(time.Minute) {
			t.Errorf("a minute later it shows %d", now)
		}
		var rang Instant
		clock.At(clock.Now().Add(time.Hour), func() { rang = clock.Now() })
		stop := clock.At(clock.Now().Add(time.Second), func() { t.Error("a stopped deadline rang") })
		if !stop() || stop() {
			t.Error("stop must report true when it stopped f, and false from then on")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if want := Instant(time.Hour + time.Minute); rang != want {
			t.Errorf("rang at %d, want %d", rang, want)
		}
		if other := Local(); other.Now() != 0 {
			t.Error("Local returned a clock that had begun before")
		}
	})
}

// A timer at the end of time would let a bubble that waits for nothing jump there.
func TestLocalNeverSetsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Local().At(Never, func() { t.Error("rang at Never") })
		time.Sleep(Forever)
		synctest.Wait()
	})
}

// eachClock runs a test of the contract of Clock on everything that is one, in real time.
func eachClock(t *testing.T, test func(t *testing.T, clock Clock)) {
	t.Run("local", func(t *testing.T) { test(t, Local()) })
	t.Run("boot", func(t *testing.T) { test(t, Boot()) })
	t.Run("elapsed", func(t *testing.T) { test(t, newElapsedClock(readTime())) })
}

// generous is how long tests wait for what must happen. Only a mistake takes so long.
const generous = 30 * time.Second

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(generous):
		t.Fatalf("waited %v for %s", generous, what)
		panic("not reached")
	}
}

func TestClockRingsOnceAndNotBeforeItsTime(t *testing.T) {
	eachClock(t, func(t *testing.T, clock Clock) {
		const n = 200
		type ring struct{ at, now Instant }
		rings := make(chan ring, 2*n)
		begin := clock.Now()
		for i := range n { // in an order that goes back and forth
			at := begin.Add(time.Duration(i*7919%n) * time.Millisecond / 2)
			clock.At(at, func() { rings <- ring{at, clock.Now()} })
		}
		seen := make(map[Instant]int)
		for range n {
			r := receive(t, rings, "a deadline")
			if r.now < r.at {
				t.Errorf("rang %v too early", r.at.Sub(r.now))
			}
			seen[r.at]++
		}
		if len(seen) != n {
			t.Errorf("%d of %d deadlines rang", len(seen), n)
		}
	})
}

func TestClockRingsThePastAtOnce(t *testing.T) {
	eachClock(t, func(t *testing.T, clock Clock) {
		for _, at := range []Instant{clock.Now(), clock.Now().Add(-time.Hour), 0, -1, math.MinInt64} {
			rang := make(chan bool, 1)
			stop := clock.At(at, func() { rang <- true })
			receive(t, rang, "a deadline in the past")
			if stop() {
				t.Errorf("stop reports true after the deadline %d rang", at)
			}
		}
	})
}

func TestClockNever(t *testing.T) {
	eachClock(t, func(t *testing.T, clock Clock) {
		stop := clock.At(Never, func() { t.Error("rang at Never") })
		if !stop() {
			t.Error("stop did not report that it kept f from being called")
		}
		if stop() {
			t.Error("the second stop reports true")
		}
	})
}

func TestClockCallbackMayUseTheClock(t *testing.T) {
	eachClock(t, func(t *testing.T, clock Clock) {
		done := make(chan bool, 1)
		left := 20
		var again func()
		again = func() {
			stop := clock.At(clock.Now().Add(time.Hour), func() { t.Error("a stopped deadline rang") })
			if !stop() {
				t.Error("stop inside a callback failed")
			}
			if left--; left > 0 {
				clock.At(clock.Now().Add(time.Duration(left%3)*time.Millisecond), again)
				return
			}
			done <- true
		}
		clock.At(clock.Now(), again)
		receive(t, done, "callbacks that call At")
	})
}

// Every deadline either rings once or was stopped, and stop says which, whoever else uses the clock.
func TestClockConcurrentUse(t *testing.T) {
	eachClock(t, func(t *testing.T, clock Clock) {
		const workers, each = 8, 250
		var rang, stopped atomic.Int64
		var pending sync.WaitGroup
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := range each {
					pending.Add(1)
					stop := clock.At(clock.Now().Add(time.Duration(i*(w+3)%5)*100*time.Microsecond), func() {
						rang.Add(1)
						pending.Done()
					})
					if i%2 == 0 && stop() {
						stopped.Add(1)
						pending.Done()
					}
				}
			})
		}
		group.Wait()
		all := make(chan bool)
		go func() { pending.Wait(); close(all) }()
		receive(t, all, "all deadlines")
		if got := rang.Load() + stopped.Load(); got != workers*each {
			t.Errorf("%d rang and %d were stopped of %d", rang.Load(), stopped.Load(), workers*each)
		}
	})
}
