package driver

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubbleRinger is a ringer that keeps the time of a bubble.
func bubbleRinger() *ringer { return newElapsedClock(readTime()) }

func (r *ringer) atRest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alarm == nil
}

// Random calls of At and stop against a model: every deadline rings exactly at its time (a bubble has no delays), in order, once,
// unless stop reported true.
func TestRingerAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range uint64(50) {
		synctest.Test(t, func(t *testing.T) { ringerModel(t, rand.New(rand.NewPCG(seed, round))) })
	}
}

func ringerModel(t *testing.T, random *rand.Rand) {
	type entry struct {
		at, asked Instant
		stop      func() bool
		stopped   bool
		rang      atomic.Int64 // when, plus one
	}
	r := bubbleRinger()
	var entries []*entry
	var last atomic.Int64
	for range 200 {
		switch random.IntN(3) {
		case 0, 1:
			e := &entry{asked: r.Now(), at: r.Now().Add(time.Duration(random.Int64N(int64(3*time.Second))) - time.Second/2)}
			e.stop = r.At(e.at, func() {
				now := r.Now()
				if !e.rang.CompareAndSwap(0, int64(now)+1) {
					t.Error("rang twice")
				}
				if before := last.Swap(int64(now)); before > int64(now) {
					t.Error("rang out of order")
				}
			})
			entries = append(entries, e)
		case 2:
			if len(entries) == 0 {
				continue
			}
			e := entries[random.IntN(len(entries))]
			synctest.Wait() // what is due has rung: the model knows the answer
			want := e.rang.Load() == 0 && !e.stopped
			if got := e.stop(); got != want {
				t.Errorf("stop reports %t, want %t", got, want)
			}
			e.stopped = e.stopped || want
		}
		time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
	}
	time.Sleep(3*time.Second + 3*linger)
	for _, e := range entries {
		rang := Instant(e.rang.Load() - 1)
		if e.stopped && rang >= 0 {
			t.Error("rang although stop reported true")
		}
		if want := max(e.at, e.asked); !e.stopped && rang != want {
			t.Errorf("rang at %d, want %d", rang, want)
		}
	}
	if !r.atRest() {
		t.Error("all deadlines are over, and the goroutine is not")
	}
}

// A loop of At and stop uses one goroutine throughout; it goes soon after the last deadline, whether that rang or was stopped.
func TestRingerLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		r := bubbleRinger()
		open := r.open
		r.open = func() alarm { opened++; return open() }
		for range 100 {
			stop := r.At(r.Now().Add(time.Hour), func() {})
			time.Sleep(linger / 3)
			stop()
			time.Sleep(linger / 3)
		}
		if opened != 1 {
			t.Errorf("the alarm was opened %d times, want once", opened)
		}
		time.Sleep(2*linger + 1)
		if !r.atRest() {
			t.Error("the goroutine is there long after the last deadline was stopped")
		}
		r.At(r.Now().Add(time.Second), func() {})
		time.Sleep(time.Second + linger/2)
		if r.atRest() {
			t.Error("the goroutine did not linger")
		}
		time.Sleep(linger)
		if !r.atRest() || opened != 2 {
			t.Errorf("after the last deadline rang: at rest %t, opened %d times", r.atRest(), opened)
		}
	})
}

// With deadlines far ahead nothing happens: the goroutine wakes for the recheck of a ticker only.
func TestRingerSleepsUntilTheEarliestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sets := 0
		r := bubbleRinger()
		open := r.open
		r.open = func() alarm { return countingAlarm{open(), &sets} }
		var stops []func() bool
		for i := range 1000 {
			stops = append(stops, r.At(r.Now().Add(time.Hour+time.Duration(i)), func() {}))
		}
		time.Sleep(10*time.Second + recheck/2)
		synctest.Wait()
		if sets > 12 {
			t.Errorf("the alarm was set %d times in 10 s, want about once per %v", sets, recheck)
		}
		for _, stop := range stops {
			stop()
		}
		time.Sleep(2 * linger)
		if !r.atRest() {
			t.Error("not at rest after all were stopped")
		}
	})
}

type countingAlarm struct {
	alarm
	sets *int
}

func (a countingAlarm) set(t Instant) { *a.sets++; a.alarm.set(t) }

// brokenAlarm works a few times, then reports that it does not.
type brokenAlarm struct {
	alarm
	left *int
}

func (a brokenAlarm) wait() bool {
	if *a.left--; *a.left < 0 {
		return false
	}
	return a.alarm.wait()
}

func TestRingerReplacesABrokenAlarm(t *testing.T) {
	for works := range 3 {
		synctest.Test(t, func(t *testing.T) {
			r := bubbleRinger()
			open := r.open
			r.open = func() alarm { return brokenAlarm{open(), &works} }
			rang := make(chan Instant, 3)
			for i := range 3 {
				r.At(Instant(i+1)*Instant(time.Second), func() { rang <- r.Now() })
			}
			for i := range 3 {
				if at, want := <-rang, Instant(i+1)*Instant(time.Second); at != want {
					t.Errorf("rang at %d, want %d", at, want)
				}
			}
			time.Sleep(3 * linger)
		})
	}
}

// A callback that ends its goroutine, as FailNow does, does not silence the clock.
func TestRingerSurvivesGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubbleRinger()
		rang := make(chan Instant, 1)
		r.At(1, runtime.Goexit)
		r.At(1, runtime.Goexit)
		r.At(Instant(time.Second), func() { rang <- r.Now() })
		if at := <-rang; at != Instant(time.Second) {
			t.Errorf("rang at %d, want after a second", at)
		}
		time.Sleep(3 * linger)
	})
}

// A callback can stop a deadline that is due as well but has not rung yet.
func TestRingerCallbackStopsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubbleRinger()
		stopped := make(chan bool, 1)
		stop := r.At(Instant(time.Second)+1, func() { t.Error("rang although stopped") })
		r.At(Instant(time.Second), func() {
			time.Sleep(2 * time.Nanosecond) // a slow callback: the other is due as well
			stopped <- stop()
		})
		if !<-stopped {
			t.Error("stop reports false for a deadline that had not rung")
		}
		time.Sleep(3 * linger)
	})
}
